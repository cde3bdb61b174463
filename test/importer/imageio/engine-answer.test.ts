import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { faultOf, hasDisk, parseTransfer } from "../../../importer/imageio/engine-answer.ts";

const URLS =
  "<proxy_url>https://proxy/images/t</proxy_url><transfer_url>https://host/images/t?a=1&amp;b=2</transfer_url>";

function transfer(inside: string, id = "d4a1-b2"): Uint8Array {
  return Buffer.from(`<?xml version="1.0"?>\n<image_transfer href="/x" id="${id}">${inside}</image_transfer>`);
}

describe("answers of an oVirt engine", () => {
  it("tell how a transfer stands, and where the host is before where the proxy is", () => {
    const url = "https://host/images/t?a=1&b=2";
    assert.deepEqual(parseTransfer(transfer(`<phase>transferring</phase>${URLS}`)), {
      id: "d4a1-b2",
      phase: "transferring",
      url,
    });
    const proxied = transfer("<phase>\n resuming </phase><proxy_url>https://proxy/t</proxy_url>");
    assert.deepEqual(parseTransfer(proxied), { id: "d4a1-b2", phase: "resuming", url: "https://proxy/t" });
    assert.equal(parseTransfer(transfer("<phase>initializing</phase>"))?.url, undefined);
  });

  it("are undefined where a field is missing or odd", () => {
    for (const odd of [
      transfer(""),
      transfer("<phase/>"),
      transfer("<phase><deep>transferring</deep></phase>"),
      transfer("<phase>rm -rf</phase>"),
      transfer("<phase>transferring</phase>", "../../vms"),
      transfer("<phase>transferring</phase>", ""),
      Buffer.from("<image_transfer/>"),
      Buffer.from("<error/>"),
      Buffer.from('{"phase":"transferring"}'),
      Buffer.from('<!DOCTYPE x [<!ENTITY e "e">]><image_transfer id="a"><phase>&e;</phase></image_transfer>'),
      Buffer.from(""),
      Buffer.from([0, 255, 60]),
    ]) {
      assert.equal(parseTransfer(odd), undefined, odd.toString());
    }
  });

  it("say whether there is a disk", () => {
    assert.equal(hasDisk(Buffer.from('<disk href="/x" id="1"><total_size>9</total_size></disk>')), true);
    for (const other of ["<error/>", "<disks><disk id='1'/></disks>", "<html>", ""]) {
      assert.equal(hasDisk(Buffer.from(other)), false, other);
    }
  });

  it("give the engine's reason", () => {
    const fault = "<fault><detail>[Disk is locked &lt;1&gt;]</detail><reason>Operation Failed</reason></fault>";
    assert.equal(faultOf(Buffer.from(fault)), "Operation Failed: [Disk is locked <1>]");
    assert.equal(faultOf(Buffer.from("<fault><reason>Failed</reason></fault>")), "Failed");
    assert.equal(faultOf(Buffer.from("Bad Gateway")), "");
  });
});
