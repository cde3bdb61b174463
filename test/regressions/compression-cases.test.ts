/**
 * Compressed images and archives that programs of this kind are reported to have failed on, through the whole program. The
 * ids are those of the list of reported cases; C19 needs container layers and is answered for where they are.
 */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { describe, it } from "node:test";
import zlib from "node:zlib";
import { MIB } from "../../formats/bytes.ts";
import { baseDisk } from "../support/base-disk.ts";
import { buildTar } from "../support/build-tar.ts";
import { rawZstdFrame, skippableFrame } from "../support/build-zstd.ts";
import { compressWith } from "../support/compress.ts";
import { expectDisk, expectRefusal } from "../support/expect-conversion.ts";
import { dictionaryByte, withDictionary } from "../support/patch-xz.ts";
import { imageOf, inTemporaryFolder } from "../support/qemu-images.ts";
import { runDecant } from "../support/run-decant.ts";
import { withTemporaryFolder } from "../support/temporary-folder.ts";
import { requireTools } from "../support/tools.ts";

const skip = requireTools("qemu-img", "xz", "zstd", "pzstd", "gzip", "tar");
const base = baseDisk();
const half = base.length / 2;

for (const decoders of ["auto", "portable"]) {
  const env = { DECANT_DECODERS: decoders };

  describe(`reported cases: compression, decoders ${decoders}`, { skip }, () => {
    it("C01: a qcow2 in one xz block needs no scratch space", async () => {
      const image = compressWith("xz", "-T1")(imageOf(base, "qcow2"));
      const { file, stream } = await expectDisk(image, base, { env });
      for (const { result } of [file, stream]) {
        assert.deepEqual(result?.wrappers, ["xz"]);
        assert.equal(result.format, "qcow2");
        assert.equal(result.spilled, false);
        assert.equal(result.bytesRead, image.length);
      }
    });

    it("C02: xz streams back to back, with padding between", async () => {
      const xz = compressWith("xz");
      const streams = [xz(base.subarray(0, half)), Buffer.alloc(8), xz(base.subarray(half))];
      await expectDisk(Buffer.concat(streams), base, { env });
      await expectDisk(Buffer.concat([...streams, Buffer.alloc(4)]), base, { env });
    });

    it("C03: an xz dictionary of 512 MiB is compared with the limit before it is taken", async () => {
      const image = withDictionary(compressWith("xz", "-6")(base), dictionaryByte(29));
      const before = process.memoryUsage();
      await expectRefusal(image, "FORMAT_OUT_OF_BOUNDS", [/needs 53\d{7} bytes/, /536870912|\d+ are allowed/], { env });
      assert.ok(process.memoryUsage().rss - before.rss < 100 * MIB);
    });

    it("C06: a zstd frame whose first block has 100 bytes", async () => {
      const disk = base.subarray(0, MIB);
      await expectDisk(rawZstdFrame(disk, { firstBlock: 100 }), disk, { env });
      // The same trap for xz: many small blocks at the start.
      await expectDisk(
        compressWith("xz", "--block-size=100", "-0")(disk.subarray(0, 64 * 1024)),
        disk.subarray(0, 64 * 1024),
        {
          env,
        },
      );
    });

    it("C07: zstd frames with a skippable one between", async () => {
      const zstd = compressWith("zstd", "-q");
      const frames = [zstd(base.subarray(0, half)), skippableFrame(Buffer.from("skipskip")), zstd(base.subarray(half))];
      await expectDisk(Buffer.concat(frames), base, { env });
    });

    it("C08: a skippable frame first, and what pzstd writes", async () => {
      const disk = base.subarray(0, MIB);
      const frames = [skippableFrame(Buffer.from("skipskip")), rawZstdFrame(disk, { firstBlock: 100 })];
      const { file } = await expectDisk(Buffer.concat(frames), disk, { env });
      assert.deepEqual(file.result?.wrappers, ["zstd"]);
      await expectDisk(compressWith("pzstd", "-q", "-p", "4")(base), base, { env });
    });

    it("C10: zstd, gzip and xz that are cut short are errors", async () => {
      for (const tool of [["zstd", "-q"], ["gzip"], ["xz"]]) {
        const image = compressWith(...tool)(base);
        for (const missing of [1, 50, 4000]) {
          await expectRefusal(image.subarray(0, image.length - missing), "FORMAT_CORRUPT", [/ends|end of/], { env });
        }
      }
    });

    it("C13: a gzip of 4 bytes becomes one sector", async () => {
      const disk = Buffer.alloc(512);
      disk.write("tiny");
      await expectDisk(compressWith("gzip")(Buffer.from("tiny")), disk, { env });
      await expectDisk(Buffer.from("tiny"), disk, { env });
    });

    it("C14: disk.raw.tar.gz is unwrapped to its end", async () => {
      const { file } = await expectDisk(tarGz(["disk.raw"]), base, { name: "disk.raw.tar.gz", env });
      assert.deepEqual(file.result?.wrappers, ["gzip", "tar"]);
    });

    it("C14: with several disks it is refused with a list, and one can be named", async () => {
      const image = tarGz(["one.qcow2", "two.qcow2"]);
      await expectRefusal(image, "FORMAT_UNSUPPORTED", [/one\.qcow2/, /two\.qcow2/, /--member/], { env });
      await expectDisk(image, base, { args: ["--member", "two.qcow2"], env });
    });
  });
}

describe("reported cases: content, not names", { skip }, () => {
  it("C17: a qcow2 named .img, a gzip named .raw, a raw disk named .gz", async () => {
    const { file } = await expectDisk(imageOf(base, "qcow2"), base, { name: "disk.img" });
    assert.equal(file.result?.format, "qcow2");
    const zipped = await expectDisk(compressWith("gzip")(base), base, { name: "disk.raw" });
    assert.deepEqual(zipped.file.result?.wrappers, ["gzip"]);
    for (const name of ["disk.gz", "disk.xz", "disk.zst", "disk.tar", "disk.ova", "disk.qcow2", "disk.vmdk"]) {
      const plain = await expectDisk(base, base, { name });
      assert.equal(plain.file.result?.format, "raw");
      assert.deepEqual(plain.file.result?.wrappers, []);
    }
  });

  it("C13, C14, C17: the same through a pipe", async () => {
    await withTemporaryFolder(async (folder) => {
      const target = path.join(folder, "disk.raw");
      for (const [input, length] of [
        [compressWith("gzip")(Buffer.from("tiny")), 512],
        [tarGz(["disk.raw"]), base.length],
        [buildTar([{ name: "a/disk.raw", content: zlib.gzipSync(base) }]), base.length],
      ] as const) {
        const run = await runDecant(["convert", "--force", "-", target], { input });
        assert.equal(run.status, 0, run.stderr);
        assert.equal(fs.statSync(target).size, length);
      }
      assert.ok(fs.readFileSync(target).equals(base));
    });
  });
});

/** Files of the base disk, in the format that their names say, as GNU tar and gzip pack them. */
function tarGz(names: readonly string[]): Buffer {
  return inTemporaryFolder((folder) => {
    for (const name of names) {
      fs.writeFileSync(path.join(folder, name), name.endsWith(".qcow2") ? imageOf(base, "qcow2") : base);
    }
    return execFileSync("tar", ["-czf", "-", ...names], { cwd: folder, maxBuffer: 64 * MIB });
  });
}
