/**
 * qcow2 images that programs of this kind are reported to have failed on, through the whole program. The ids are those of
 * the list of reported cases.
 */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { describe, it } from "node:test";
import { GIB, KIB, MIB, TIB } from "../../formats/bytes.ts";
import { qcow2 } from "../../formats/qcow2/qcow2.ts";
import { baseDisk, randomBytes } from "../support/base-disk.ts";
import { buildQcow2, changedImage, extension, featureNames, guestImage, qemuImg } from "../support/build-qcow2.ts";
import { convertFile, convertImage } from "../support/convert-image.ts";
import { assertRefusal, expectDisk, expectRefusal, passingOnce } from "../support/expect-conversion.ts";
import { withLoopDevice } from "../support/loop-device.ts";
import { allExtents, openImage } from "../support/parse.ts";
import { bytesReadBy } from "../support/process-work.ts";
import { imageOf, rawOf } from "../support/qemu-images.ts";
import { runDecant } from "../support/run-decant.ts";
import { withTemporaryFolder } from "../support/temporary-folder.ts";
import { requireLoopDevices, requireTools } from "../support/tools.ts";

const skip = requireTools("qemu-img", "qemu-io");
const base = baseDisk();

const FEATURE_NAMES = 0x6803f857;

/** Each cluster of 64 KiB: 40,000 bytes that do not compress, then zeros. */
function straddlingDisk(clusters: number): Buffer {
  const disk = Buffer.alloc(clusters * 64 * KIB);
  const next = randomBytes(11);
  for (let start = 0; start < disk.length; start += 64 * KIB) {
    for (let i = 0; i < 40_000; i++) disk[start + i] = next();
  }
  return disk;
}

/** `image` with one byte of it replaced. */
function withByte(image: Uint8Array, at: number, value: number): Buffer {
  const changed = Buffer.from(image);
  changed[at] = value;
  return changed;
}

describe("reported cases: qcow2", { skip }, () => {
  it("Q01: zstd clusters", async () => {
    const image = imageOf(base, "qcow2", ["-c", "-o", "compression_type=zstd"]);
    assert.equal(image[79], 8, "the incompatible bit for the compression type");
    assert.equal(image[104], 1, "zstd");
    for (const decoders of ["auto", "portable"]) {
      await expectDisk(image, base, { env: { DECANT_DECODERS: decoders } });
    }
  });

  it("Q02: zlib clusters", async () => {
    const image = imageOf(base, "qcow2", ["-c"]);
    for (const decoders of ["auto", "portable"]) {
      await expectDisk(image, base, { env: { DECANT_DECODERS: decoders } });
    }
  });

  it("Q02: a compressed cluster that does not decode is an error, and no disk is left", async () => {
    const image = imageOf(base, "qcow2", ["-c"]);
    const [encoded] = allExtents(openImage(qcow2, image), image).filter(
      (extent) => extent.kind === "data" && extent.stored.encoding === "deflate",
    );
    assert.ok(encoded?.kind === "data" && encoded.stored.encoding === "deflate");
    image.fill(0xff, encoded.stored.offset, encoded.stored.offset + 200);
    await expectRefusal(image, "FORMAT_CORRUPT", [/compressed data of the disk at 0x[0-9a-f]+ does not decode/]);
  });

  it("Q03: compressed clusters that straddle host clusters", async () => {
    const disk = straddlingDisk(64);
    const image = imageOf(disk, "qcow2", ["-c"]);
    const straddling = allExtents(openImage(qcow2, image), image).filter(({ kind, ...extent }) => {
      if (kind !== "data" || !("stored" in extent) || extent.stored.encoding !== "deflate") return false;
      const { offset, length } = extent.stored;
      return Math.floor(offset / (64 * KIB)) !== Math.floor((offset + length - 1) / (64 * KIB));
    });
    assert.ok(straddling.length >= 30, `${straddling.length} clusters straddle`);
    await expectDisk(image, disk);
  });

  for (const clusterSize of ["512", "1k", "2k", "4k", "8k", "16k", "32k", "128k", "256k", "512k", "1M", "2M"]) {
    it(`Q04: compressed clusters of ${clusterSize}`, async () => {
      const disk = straddlingDisk(clusterSize === "512" ? 4 : 64);
      await expectDisk(imageOf(disk, "qcow2", ["-c", "-o", `cluster_size=${clusterSize}`]), disk);
    });
  }

  it("Q06, Q08: an empty image whose file is no multiple of 512 becomes a disk of its virtual size", async () => {
    const image = changedImage(new Uint8Array(0), (file) => qemuImg("create", "-q", "-f", "qcow2", file, "1G"));
    assert.notEqual(image.length % 512, 0);
    for (const args of [[], passingOnce(image)]) {
      const converted = await convertImage(image, { args });
      assert.equal(converted.status, 0, converted.message);
      assert.equal(converted.size, GIB);
      assert.equal(converted.allocated, 0);
    }
  });

  it("Q09: subclusters of extended L2 entries", async () => {
    const image = guestImage("8M", "extended_l2=on,cluster_size=128k", [
      "write -P 0x41 0 4k",
      "write -P 0x42 20k 4k",
      "write -z 64k 4k",
      "write -P 0x43 1M 8k",
    ]);
    const disk = rawOf(image, "qcow2");
    assert.equal(disk[20 * KIB], 0x42);
    assert.equal(disk[24 * KIB], 0);
    await expectDisk(image, disk);
  });

  it("Q10: an unknown incompatible bit is refused by its number, or by its name if the image has it", async () => {
    const image = withByte(imageOf(base, "qcow2"), 79, 0x20);
    await expectRefusal(image, "FORMAT_UNSUPPORTED", [/incompatible/, /bit 5/]);
    const named = buildQcow2({
      incompatible: 0x20n,
      extensions: extension(FEATURE_NAMES, featureNames([0, 5, "quantum clusters"])),
    });
    await expectRefusal(named, "FORMAT_UNSUPPORTED", [/"quantum clusters" \(bit 5\)/]);
  });

  it("Q11: an image that was not closed is read, with a warning; --strict refuses it", async () => {
    const image = changedImage(new Uint8Array(0), (file) => {
      qemuImg("create", "-q", "-f", "qcow2", "-o", "lazy_refcounts=on", file, "8M");
      const commands = ["write -P 0x41 1M 64k", "flush", "abort"].flatMap((command) => ["-c", command]);
      spawnSync("qemu-io", ["-f", "qcow2", ...commands, file], { stdio: "ignore" });
    });
    assert.equal(image[79], 1, "the dirty bit");
    const disk = Buffer.alloc(8 * MIB);
    disk.fill(0x41, MIB, MIB + 64 * KIB);
    const { file } = await expectDisk(image, disk);
    assert.deepEqual(
      file.result?.warnings.map((warning) => warning.code),
      ["QCOW2_DIRTY"],
    );
    await expectRefusal(image, "FORMAT_INVALID", [/not closed properly/], { args: ["--strict"] });
  });

  it("Q12: an image that is marked corrupt is read, with a warning that a person sees", async () => {
    const image = withByte(imageOf(base, "qcow2"), 79, 0x02);
    const { file } = await expectDisk(image, base);
    assert.deepEqual(
      file.result?.warnings.map((warning) => warning.code),
      ["QCOW2_CORRUPT"],
    );
    await withTemporaryFolder(async (folder) => {
      fs.writeFileSync(path.join(folder, "image"), image);
      const run = await runDecant(["convert", path.join(folder, "image"), "null:"]);
      assert.equal(run.status, 0);
      assert.match(run.stderr, /warning: the image is marked corrupt/);
    });
  });

  it("Q14: an external data file is refused and not copied", async () => {
    await withTemporaryFolder(async (folder) => {
      const secret = path.join(folder, "secret.txt");
      const image = path.join(folder, "evil.qcow2");
      qemuImg("create", "-q", "-f", "qcow2", "-o", `data_file=${secret},data_file_raw=on`, image, "4096");
      fs.writeFileSync(secret, "a secret of this machine".padEnd(4096, "!"));
      await expectRefusal(fs.readFileSync(image), "FORMAT_UNSUPPORTED", [/external data file/, /bit 2/]);
      const run = await runDecant(["convert", image, path.join(folder, "disk.raw")]);
      assert.equal(run.status, 3);
      assert.match(run.stderr, /external data file/);
      assert.equal(fs.existsSync(path.join(folder, "disk.raw")), false);
    });
  });

  it("Q15: a backing file is refused by its name and not read", async () => {
    await withTemporaryFolder(async (folder) => {
      const secret = path.join(folder, "host-secret");
      fs.writeFileSync(secret, Buffer.alloc(MIB, "secret"));
      const image = path.join(folder, "overlay.qcow2");
      qemuImg("create", "-q", "-f", "qcow2", "-b", secret, "-F", "raw", image, "1M");
      await expectRefusal(fs.readFileSync(image), "FORMAT_UNSUPPORTED", [/backing file/, /host-secret/]);
      assertRefusal(await convertFile(image, folder), "FORMAT_UNSUPPORTED", [/backing file/], "in its folder");
    });
  });

  it("Q16: an overlay with interleaved clusters is refused, though its base is beside it", async () => {
    await withTemporaryFolder(async (folder) => {
      const lower = path.join(folder, "base.qcow2");
      const upper = path.join(folder, "overlay.qcow2");
      fs.writeFileSync(lower, imageOf(base, "qcow2"));
      qemuImg("create", "-q", "-f", "qcow2", "-b", "base.qcow2", "-F", "qcow2", upper);
      const writes = Array.from({ length: 16 }, (_, i) => ["-c", `write -P ${i + 1} ${i * 128}k 64k`]).flat();
      spawnSync("qemu-io", ["-f", "qcow2", ...writes, upper], { stdio: "ignore", cwd: folder });
      await expectRefusal(fs.readFileSync(upper), "FORMAT_UNSUPPORTED", [
        /backing file "base.qcow2"/,
        /qemu-img convert/,
      ]);
    });
  });

  it("Q17: an encrypted image is refused by name, and the key is mentioned", async () => {
    const image = changedImage(new Uint8Array(0), (file) => {
      const encrypt = "encrypt.format=luks,encrypt.key-secret=s,encrypt.iter-time=10";
      qemuImg("create", "-q", "--object", "secret,id=s,data=abc", "-f", "qcow2", "-o", encrypt, file, "1M");
    });
    assert.equal(image.readUInt32BE(32), 2);
    await expectRefusal(image, "FORMAT_UNSUPPORTED", [/encrypted \(LUKS\)/, /key/]);
  });

  it("Q19: impossible sizes in the header are refused at once, and no memory is taken for them", async () => {
    const image = imageOf(base, "qcow2");
    const fields: readonly (readonly [string, number])[] = [
      ["cluster_bits", 20],
      ["l1_size", 36],
      ["refcount_table_clusters", 56],
    ];
    for (const [field, at] of fields) {
      for (const value of [99, 0x7fff_ffff, 0xffff_ffff]) {
        if (value === 99 && field !== "cluster_bits") continue;
        const damaged = Buffer.from(image);
        damaged.writeUInt32BE(value, at);
        const started = performance.now();
        const before = process.memoryUsage();
        await expectRefusal(damaged, "FORMAT_OUT_OF_BOUNDS", [new RegExp(field), new RegExp(String(value))]);
        const after = process.memoryUsage();
        assert.ok(after.arrayBuffers - before.arrayBuffers < 64 * MIB, `${field}: ${after.arrayBuffers}`);
        assert.ok(performance.now() - started < 2000, `${field} took long`);
      }
    }
  });

  it("Q21: version 2", async () => {
    const image = imageOf(base, "qcow2", ["-o", "compat=0.10"]);
    assert.equal(image.readUInt32BE(4), 2);
    await expectDisk(image, base);
  });

  it("Q24: preallocated metadata stays sparse, unless space is asked for", async () => {
    const image = changedImage(new Uint8Array(0), (file) => {
      qemuImg("create", "-q", "-f", "qcow2", "-o", "preallocation=metadata", file, "64M");
    });
    for (const args of [[], passingOnce(image)]) {
      const converted = await convertImage(image, { args });
      assert.equal(converted.status, 0, converted.message);
      assert.equal(converted.size, 64 * MIB);
      assert.ok((converted.allocated ?? Infinity) <= 4096, `${converted.allocated} bytes are allocated`);
    }
    for (const mode of ["falloc", "full"]) {
      const converted = await convertImage(image, { args: ["--preallocate", mode] });
      assert.equal(converted.status, 0, converted.message);
      assert.ok((converted.allocated ?? 0) >= 64 * MIB, `${mode}: ${converted.allocated} bytes are allocated`);
    }
  });
});

describe("reported cases: a disk that is larger than its device", { skip: skip || requireLoopDevices() }, () => {
  it("Q20: 16 TiB into 1 GiB is refused after the first kilobytes", async () => {
    const image = changedImage(new Uint8Array(0), (file) => qemuImg("create", "-q", "-f", "qcow2", file, "16T"));
    await withTemporaryFolder(async (folder) => {
      const source = path.join(folder, "image.qcow2");
      fs.writeFileSync(source, image);
      // What a server would still have to send: trailing bytes are allowed.
      fs.truncateSync(source, GIB);
      await withLoopDevice({ size: GIB, fill: "zeros" }, async (device, backing) => {
        const before = fs.statSync(backing).blocks;
        const file = await bytesReadBy(() => convertFile(source, folder, { target: device }));
        assertRefusal(file.result, "TARGET_TOO_SMALL", [new RegExp(String(16 * TIB)), new RegExp(String(GIB))]);
        assert.ok(file.bytes < 256 * KIB, `the file: ${file.bytes} bytes were read`);
        const args = ["--checksum", `md5:${"0".repeat(32)}`];
        const stream = await bytesReadBy(() => convertFile(source, folder, { target: device, args }));
        assertRefusal(stream.result, "TARGET_TOO_SMALL", [new RegExp(String(16 * TIB))], "stream");
        assert.ok(stream.bytes < 2 * MIB, `the stream: ${stream.bytes} bytes were read`);
        assert.equal(fs.statSync(backing).blocks, before, "the device was not written");
      });
    });
  });
});
