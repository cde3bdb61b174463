/**
 * VHD, VHDX and VDI images that programs of this kind are reported to have failed on, through the whole program. The ids are
 * those of the list of reported cases.
 */
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { describe, it } from "node:test";
import { MIB } from "../../formats/bytes.ts";
import { baseDisk } from "../support/base-disk.ts";
import { buildVhdx, guidBytes, slowCrc32c } from "../support/build-vhdx.ts";
import { convertFile } from "../support/convert-image.ts";
import { assertDisk, expectDisk, expectRefusal, passingOnce } from "../support/expect-conversion.ts";
import { imageOf, rawOf } from "../support/qemu-images.ts";
import { runDecant } from "../support/run-decant.ts";
import { withTemporaryFolder } from "../support/temporary-folder.ts";
import { requireTools } from "../support/tools.ts";

const skip = requireTools("qemu-img");
const base = baseDisk();

describe("reported cases: VHD", { skip }, () => {
  it("H01: a fixed VHD is known by its footer, at the end of a file and of a stream", async () => {
    const image = imageOf(base, "vpc", ["-o", "subformat=fixed,force_size=on"]);
    assert.equal(image.length, base.length + 512);
    const { file } = await expectDisk(image, base);
    assert.equal(file.result?.format, "vpc");
    await withTemporaryFolder(async (folder) => {
      const target = path.join(folder, "disk.raw");
      const run = await runDecant(["convert", "-", target], { input: image });
      assert.equal(run.status, 0, run.stderr);
      assert.ok(fs.readFileSync(target).equals(base));
    });
  });

  it("H03: the size is what the footer says, whole MiB or not", async () => {
    const image = imageOf(base, "vpc");
    const disk = Buffer.concat([base, Buffer.alloc(8_390_656 - base.length)]);
    const { file } = await expectDisk(image, disk);
    assert.equal(file.result?.virtualSize, 8_390_656);
    const fixed = imageOf(base, "vpc", ["-o", "subformat=fixed"]);
    assert.equal(fixed.length, disk.length + 512);
    await expectDisk(fixed, disk);
  });

  it("H06: a raw disk that is named .vhd is raw", async () => {
    const { file, stream } = await expectDisk(base, base, { name: "disk.vhd" });
    assert.equal(file.result?.format, "raw");
    assert.equal(stream.result?.format, "raw");
  });
});

describe("reported cases: VHDX", { skip }, () => {
  it("H07: a block table that exists in the log only is replayed in memory", async () => {
    const image = withTableInLog(imageOf(base, "vhdx"));
    await withTemporaryFolder(async (folder) => {
      const source = path.join(folder, "dirty.vhdx");
      fs.writeFileSync(source, image);
      const refused = spawnSync("qemu-img", ["convert", "-O", "raw", source, path.join(folder, "qemu.raw")]);
      assert.notEqual(refused.status, 0, "qemu-img cannot read it without writing to it");
      const before = digestOf(source);
      assertDisk(await convertFile(source, folder), base);
      assert.equal(digestOf(source), before, "the source is untouched");
      fs.copyFileSync(source, path.join(folder, "copy.vhdx"));
      execFileSync("qemu-img", ["check", "-q", "-r", "all", path.join(folder, "copy.vhdx")], { stdio: "ignore" });
      assert.ok(
        rawOf(fs.readFileSync(path.join(folder, "copy.vhdx")), "vhdx").equals(base),
        "qemu-img's replay agrees",
      );
    });
    await expectDisk(image, base);
  });

  it("H08: logical sectors of 4096 bytes", async () => {
    const disk = baseDisk(6 * MIB);
    const image = buildVhdx({ disk, logicalSectorSize: 4096 });
    await expectDisk(image, disk);
    await expectDisk(buildVhdx({ disk, logicalSectorSize: 4096, reversed: true, blockSize: 2 * MIB }), disk);
  });

  it("H10: a differencing VHDX is refused by name", async () => {
    const image = buildVhdx({ disk: baseDisk(2 * MIB), hasParent: true });
    await expectRefusal(image, "FORMAT_UNSUPPORTED", [/differencing/, /parent/]);
  });

  it("H11: reading writes nothing to the source, whatever the command", async () => {
    await withTemporaryFolder(async (folder) => {
      for (const [name, image] of [
        ["clean.vhdx", imageOf(base, "vhdx")],
        ["dirty.vhdx", withTableInLog(imageOf(base, "vhdx"))],
      ] as const) {
        const source = path.join(folder, name);
        fs.writeFileSync(source, image);
        const before = [digestOf(source), fs.statSync(source).mtimeMs];
        assertDisk(await convertFile(source, folder, { args: ["--force", "--verify"] }), base);
        await convertFile(source, folder, { args: ["--force", ...passingOnce(image)] });
        for (const args of [
          ["inspect", source],
          ["map", source],
          ["compare", source, source],
        ]) {
          const run = await runDecant(args);
          assert.equal(run.status, 0, run.stderr);
        }
        assert.deepEqual([digestOf(source), fs.statSync(source).mtimeMs], before);
      }
    });
  });
});

describe("reported cases: VDI", { skip }, () => {
  for (const options of [[], ["-o", "static=on"]]) {
    it(`H12: VDI ${options.join(" ")}`, async () => {
      const image = imageOf(base, "vdi", options);
      assert.equal(image.readUInt32LE(64), 0xbeda107f);
      const { file } = await expectDisk(image, base);
      assert.equal(file.result?.format, "vdi");
    });
  }
});

function digestOf(file: string): string {
  return createHash("sha256").update(fs.readFileSync(file)).digest("hex");
}

/**
 * A VHDX that qemu-img wrote, made what a crash leaves behind: the first page of its block table is in the log, and zeros in
 * its place.
 */
function withTableInLog(image: Buffer): Buffer {
  const file = Buffer.from(image);
  const table = blockTableOffset(file);
  const [headerAt = 0] = [0x10000, 0x20000].sort((a, b) =>
    Number(file.readBigUInt64LE(b + 8) - file.readBigUInt64LE(a + 8)),
  );
  const guid = Buffer.from(Array.from({ length: 16 }, (_, i) => i + 1));
  guid.copy(file, headerAt + 48);
  file.writeUInt32LE(0, headerAt + 4);
  file.writeUInt32LE(slowCrc32c(file.subarray(headerAt, headerAt + 4096)), headerAt + 4);
  const logAt = Number(file.readBigUInt64LE(headerAt + 72));

  const page = Buffer.from(file.subarray(table, table + 4096));
  file.fill(0, table, table + 4096);
  const entry = Buffer.alloc(8192);
  entry.write("loge", 0, "latin1");
  entry.writeUInt32LE(8192, 8); // length
  entry.writeBigUInt64LE(1n, 16); // sequence number
  entry.writeUInt32LE(1, 24); // descriptors
  guid.copy(entry, 32);
  entry.writeBigUInt64LE(BigInt(file.length), 48);
  entry.writeBigUInt64LE(BigInt(file.length), 56);
  entry.write("desc", 64, "latin1");
  page.copy(entry, 68, 4092, 4096);
  page.copy(entry, 72, 0, 8);
  entry.writeBigUInt64LE(BigInt(table), 80);
  entry.writeBigUInt64LE(1n, 88);
  entry.write("data", 4096, "latin1");
  page.copy(entry, 4104, 8, 4092);
  entry.writeUInt32LE(1, 8188);
  entry.writeUInt32LE(slowCrc32c(entry), 4);
  entry.copy(file, logAt);
  return file;
}

function blockTableOffset(file: Buffer): number {
  const bat = guidBytes("2DC27766-F623-4200-9D64-115E9BFD4A08");
  for (let at = 0x30010; at < 0x40000; at += 32) {
    if (file.subarray(at, at + 16).equals(bat)) return Number(file.readBigUInt64LE(at + 16));
  }
  throw new Error("the image has no block table");
}
