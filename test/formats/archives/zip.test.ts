import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { describe, it } from "node:test";
import { detectArchive } from "../../../formats/archives/registry.ts";
import { zip } from "../../../formats/archives/zip.ts";
import { FormatError } from "../../../formats/errors.ts";
import { requireTools } from "../../support/tools.ts";

/** An empty zip archive: nothing but the end record. */
const empty = Buffer.alloc(22);
empty.write("PK\x05\x06", "latin1");

describe("zip", () => {
  it("is recognised as 7-Zip writes it, and refused with a remedy", { skip: requireTools("7zz") }, () => {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), "decant-zip-"));
    try {
      fs.writeFileSync(path.join(folder, "disk.img"), "disk");
      execFileSync("7zz", ["a", "-tzip", "a.zip", "disk.img"], { cwd: folder });
      const head = fs.readFileSync(path.join(folder, "a.zip"));
      assert.equal(detectArchive(head), zip);
      assert.equal(detectArchive(Buffer.concat([Buffer.from("PK\x07\x08", "latin1"), head])), zip);
      for (let length = 0; length < 30; length++) assert.equal(zip.probe(head.subarray(0, length)), false);
    } finally {
      fs.rmSync(folder, { recursive: true, force: true });
    }
    assert.throws(
      () => zip.members().next(),
      (error) =>
        error instanceof FormatError && error.code === "FORMAT_UNSUPPORTED" && error.remedy === "Unzip it first.",
    );
  });

  it("is recognised when empty", () => assert.equal(detectArchive(empty), zip));

  it("is not what only has its first four bytes", () => {
    for (const magic of ["PK\x03\x04", "PK\x05\x06", "PK\x07\x08"]) {
      for (const fill of [0, 0x90, 0xff]) {
        const disk = Buffer.alloc(65_536, fill);
        disk.write(magic, "latin1");
        disk.set([0x55, 0xaa], 510);
        assert.equal(zip.probe(disk), magic === "PK\x05\x06" && fill === 0, `${magic} ${fill}`);
      }
    }
  });
});
