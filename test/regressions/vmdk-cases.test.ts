/**
 * VMDKs and OVAs that programs of this kind are reported to have failed on, through the whole program. The ids are those of
 * the list of reported cases.
 */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { describe, it } from "node:test";
import { GIB, KIB, MIB } from "../../formats/bytes.ts";
import { baseDisk } from "../support/base-disk.ts";
import { buildOva } from "../support/build-ova.ts";
import { base256, paxEntry, tarHeader, buildTar } from "../support/build-tar.ts";
import { buildDescriptor, buildStreamOptimized } from "../support/build-vmdk.ts";
import { convertFile, convertImage } from "../support/convert-image.ts";
import { assertDisk, assertRefusal, expectDisk, expectRefusal, passingOnce } from "../support/expect-conversion.ts";
import { imageOf, inTemporaryFolder } from "../support/qemu-images.ts";
import { runDecant } from "../support/run-decant.ts";
import { memoryFolder, withTemporaryFolder } from "../support/temporary-folder.ts";
import { requireTools } from "../support/tools.ts";

const skip = requireTools("qemu-img");
const base = baseDisk();

/** The files that `qemu-img convert` makes of `base`, by name. */
function filesOf(subformat: string): ReadonlyMap<string, Buffer> {
  return inTemporaryFolder((folder) => {
    fs.writeFileSync(path.join(folder, "base.raw"), base);
    const args = ["convert", "-f", "raw", "-O", "vmdk", "-o", `subformat=${subformat}`, "base.raw", "disk.vmdk"];
    execFileSync("qemu-img", args, { cwd: folder });
    const names = fs.readdirSync(folder).filter((name) => name !== "base.raw");
    return new Map(names.map((name) => [name, fs.readFileSync(path.join(folder, name))]));
  });
}

describe("reported cases: VMDK", { skip }, () => {
  it("V02: streamOptimized, version 3", async () => {
    const image = imageOf(base, "vmdk", ["-o", "subformat=streamOptimized"]);
    assert.equal(image.readUInt32LE(4), 3, "version");
    assert.equal(image.readUInt32LE(8), 0x30003, "flags");
    await expectDisk(image, base);
    const run = await runDecant(["convert", "--digest", "-", "null:"], { input: image });
    assert.equal(run.status, 2, "a digest of what passes and is thrown away is wrong usage");
  });

  it("V04: a descriptor of a flat disk is refused, and its extents are listed", async () => {
    const files = filesOf("monolithicFlat");
    assert.deepEqual([...files.keys()].sort(), ["disk-flat.vmdk", "disk.vmdk"]);
    await expectRefusal(files.get("disk.vmdk") ?? Buffer.alloc(0), "FORMAT_UNSUPPORTED", [
      /descriptor/,
      /monolithicFlat/,
      /disk-flat\.vmdk/,
    ]);
  });

  it("V05: the descriptor of a split disk is refused, and so is one of its extents alone", async () => {
    const files = filesOf("twoGbMaxExtentSparse");
    const descriptor = files.get("disk.vmdk") ?? Buffer.alloc(0);
    await expectRefusal(descriptor, "FORMAT_UNSUPPORTED", [/twoGbMaxExtentSparse/, /disk-s001\.vmdk/]);
    await expectRefusal(files.get("disk-s001.vmdk") ?? Buffer.alloc(0), "FORMAT_UNSUPPORTED", [/split disk/]);
  });

  it("V05: extents beside their descriptor change nothing", async () => {
    await withTemporaryFolder(async (folder) => {
      for (const [name, bytes] of filesOf("twoGbMaxExtentSparse")) fs.writeFileSync(path.join(folder, name), bytes);
      assertRefusal(await convertFile(path.join(folder, "disk.vmdk"), folder), "FORMAT_UNSUPPORTED", [/disk-s001/]);
    });
  });

  for (const [type, extent] of [
    ["monolithicFlat", 'RW 16 FLAT "/etc/hostname" 0'],
    ["vmfs", 'RW 16 VMFS "../../etc/hostname"'],
    ["fullDevice", 'RW 16 FLAT "/dev/sda" 0'],
    ["twoGbMaxExtentSparse", 'RW 16 SPARSE "/etc/hostname"'],
    ["monolithicSparse", 'RW 16 SPARSE "/etc/hostname"'],
  ] as const) {
    it(`V07: a descriptor of type ${type} that names a host file is refused: ${extent}`, async () => {
      const descriptor = Buffer.from(buildDescriptor(16, type, [extent]));
      const name = /"(.*)"/.exec(extent)?.[1] ?? "";
      await expectRefusal(descriptor, "FORMAT_UNSUPPORTED", [new RegExp(name.replaceAll(".", "\\."))]);
    });
  }

  it("V07: a sparse VMDK whose own descriptor names a host file reads no other file", async () => {
    const image = imageOf(base, "vmdk", ["-o", "subformat=monolithicSparse"]);
    const at = image.indexOf('SPARSE "image"');
    assert.ok(at > 0);
    const text = image.toString("latin1", 512, 20 * 512).replace(/\0[^]*$/, "");
    const changed = Buffer.from(image);
    changed.fill(0, 512, 20 * 512);
    changed.write(text.replace(/RW (\d+) SPARSE "image"/, 'RW $1 FLAT "/etc/hostname" 0'), 512, "latin1");
    await expectRefusal(changed, "FORMAT_UNSUPPORTED", [/\/etc\/hostname|FLAT/]);
  });

  it("V12: seSparse is refused by name", async () => {
    const image = Buffer.alloc(64 * KIB);
    image.writeBigUInt64LE(0xcafebaben, 0);
    await expectRefusal(image, "FORMAT_UNSUPPORTED", [/seSparse/, /vmkfstools/]);
  });
});

describe("reported cases: OVA", { skip }, () => {
  for (const kind of ["pax", "base-256"] as const) {
    it(`V10: a member of 9 GiB, its size in ${kind}, its tables and data behind 8 GiB`, async () => {
      await withTemporaryFolder(async (folder) => {
        const source = path.join(folder, "disk.tar");
        const content = writeFarTar(source, kind);
        const converted = await convertFile(source, folder);
        assert.deepEqual(converted.result?.wrappers, ["tar"], converted.message);
        const disk = Buffer.alloc(MIB);
        disk.set(content, 128 * KIB);
        assertDisk(converted, disk);
      }, memoryFolder());
    });
  }

  it("V11: success means that the source was read to its end, and an image that is all hole is valid", async () => {
    const empty = buildOva({
      disks: [{ name: "disk.vmdk", content: buildStreamOptimized(Buffer.alloc(4 * MIB)), capacity: 4 * MIB }],
      manifest: "sha256",
    });
    const { stream } = await expectDisk(empty, Buffer.alloc(4 * MIB));
    assert.equal(stream.result?.bytesRead, empty.length);
    const full = buildOva({
      disks: [{ name: "disk.vmdk", content: buildStreamOptimized(base), capacity: base.length }],
      manifest: "sha256",
    });
    const both = await expectDisk(full, base);
    assert.equal(both.stream.result?.bytesRead, full.length);
    assert.ok((both.file.result?.bytesRead ?? 0) > 0.9 * full.length, "the disk's digest needs all of it");
  });

  it("V11: an OVA that is cut anywhere, or whose manifest differs, leaves no disk", async () => {
    const ova = buildOva({
      disks: [{ name: "disk.vmdk", content: buildStreamOptimized(base), capacity: base.length }],
      manifest: "sha256",
    });
    for (const length of [600, 3000, 8000, Math.floor(ova.length / 2), ova.length - 3000]) {
      const cut = ova.subarray(0, length);
      for (const args of [[], passingOnce(cut)]) {
        const converted = await convertImage(cut, { args });
        assert.equal(converted.status, 3, `${length}: ${converted.message}`);
        assert.equal(converted.size, undefined, "a disk was left");
      }
    }
    const changed = Buffer.from(ova);
    const at = changed.lastIndexOf("lorem ipsum") === -1 ? changed.length - 100 * KIB : 0;
    changed[at] = (changed[at] ?? 0) ^ 1;
    await expectRefusal(changed, "FORMAT_CORRUPT", []);
  });
});

/**
 * A tar file, sparse itself, with one member of 9 GiB: a qcow2 of 1 MiB whose L1 table, L2 table and only cluster lie behind
 * 8 GiB. Returns the cluster's content; it is the third of the disk.
 */
function writeFarTar(file: string, kind: "pax" | "base-256"): Buffer {
  const size = 9 * GIB;
  const far = 8 * GIB + 64 * MIB;
  const header = Buffer.alloc(112);
  header.write("QFI\xfb", 0, "latin1");
  header.writeUInt32BE(3, 4);
  header.writeUInt32BE(16, 20);
  header.writeBigUInt64BE(BigInt(MIB), 24);
  header.writeUInt32BE(1, 36);
  header.writeBigUInt64BE(BigInt(far), 40);
  header.writeUInt32BE(4, 96);
  header.writeUInt32BE(112, 100);
  const table = (entry: bigint, at: number): Buffer => {
    const bytes = Buffer.alloc(64 * KIB);
    bytes.writeBigUInt64BE(entry, at);
    return bytes;
  };
  const content = Buffer.alloc(64 * KIB, "far away ");
  const copied = 1n << 63n;
  const name = "disk.qcow2";
  const head =
    kind === "pax"
      ? Buffer.concat([buildTar([paxEntry([["size", String(size)]])], false), tarHeader({ name, size: 0 })])
      : tarHeader({ name, magic: "gnu", patch: (block) => block.set(base256(size, 12), 124) });
  const fd = fs.openSync(file, "w");
  fs.writeSync(fd, head, 0, head.length, 0);
  fs.writeSync(fd, header, 0, header.length, head.length);
  [table(copied | BigInt(far + 64 * KIB), 0), table(copied | BigInt(far + 128 * KIB), 16), content].forEach(
    (bytes, i) => {
      fs.writeSync(fd, bytes, 0, bytes.length, head.length + far + i * 64 * KIB);
    },
  );
  fs.ftruncateSync(fd, head.length + size + 1024);
  fs.closeSync(fd);
  return content;
}
