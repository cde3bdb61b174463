import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { describe, it } from "node:test";
import zlib from "node:zlib";
import { startsAsDisk } from "../../../formats/archives/starts-as-disk.ts";
import { buildOvf, manifestOf } from "../../support/build-ova.ts";
import { buildTar } from "../../support/build-tar.ts";
import { requireTools } from "../../support/tools.ts";

function withMagic(magic: string, at: number): Uint8Array {
  const bytes = Buffer.alloc(65_536);
  bytes.write(magic, at, "latin1");
  return bytes;
}

describe("startsAsDisk", () => {
  it("knows raw disks by what lies on them", () => {
    const magics: [string, number][] = [
      ["\x55\xaa", 510],
      ["EFI PART", 512],
      ["EFI PART", 4096],
      ["CD001", 32_769],
      ["\x53\xef", 0x438],
      ["XFSB", 0],
    ];
    for (const [magic, at] of magics) {
      assert.equal(startsAsDisk(withMagic(magic, at)), true, magic);
      assert.equal(startsAsDisk(withMagic(magic, at + 1)), false, magic);
    }
  });

  it("knows wrappers", () => {
    assert.equal(startsAsDisk(zlib.gzipSync("disk")), true);
    assert.equal(startsAsDisk(zlib.zstdCompressSync("disk")), true);
    assert.equal(startsAsDisk(buildTar([{ name: "disk" }])), true);
  });

  it("knows the disk formats", { skip: requireTools("qemu-img") }, () => {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), "decant-disk-"));
    try {
      for (const format of ["qcow2", "vmdk", "vdi", "vhdx", "vpc"]) {
        const file = path.join(folder, `disk.${format}`);
        execFileSync("qemu-img", ["create", "-q", "-f", format, file, "1M"]);
        assert.equal(startsAsDisk(fs.readFileSync(file).subarray(0, 65_536)), true, format);
      }
    } finally {
      fs.rmSync(folder, { recursive: true, force: true });
    }
  });

  it("does not know texts, nothing, zeros, or the small files of an OVA", () => {
    const entry = { name: "vm.ovf", content: Buffer.from("a") };
    const texts = [
      "",
      "a",
      "Read me.\n".repeat(9000),
      buildOvf({ disks: [] }),
      manifestOf([entry], "sha256"),
      "#!/bin/sh\n",
      "{}\n",
    ];
    for (const text of texts) assert.equal(startsAsDisk(Buffer.from(text)), false, text.slice(0, 20));
    assert.equal(startsAsDisk(new Uint8Array(65_536)), false);
  });
});
