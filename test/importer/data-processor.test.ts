/**
 * The data processor: from a source to a disk that is safely on its target, or to nothing. Answers for the steps of the
 * phase machine, and for what they share.
 */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { describe, it } from "node:test";
import zlib from "node:zlib";
import { FormatError } from "../../formats/errors.ts";
import { DataProcessor } from "../../importer/data-processor.ts";
import type { Report } from "../../importer/data-processor.ts";
import { Interrupted, SourceError, TargetError, UsageError } from "../../importer/errors.ts";
import { must } from "../../importer/run.ts";
import type { RunOptions } from "../../importer/run.ts";
import { openFile } from "../../importer/sources/file.ts";
import type { Source } from "../../importer/sources/source.ts";
import { openTarget } from "../../importer/targets/open-target.ts";
import type { Target } from "../../importer/targets/target.ts";
import { ovaEntries } from "../support/build-ova.ts";
import { dataFirst } from "../support/build-qcow2.ts";
import { buildTar } from "../support/build-tar.ts";
import { sampleBytes, samples } from "../support/images.ts";
import { withFolder } from "../support/loop-device.ts";
import { readDisk } from "../support/parse.ts";
import { qcow2 } from "../../formats/qcow2/qcow2.ts";
import { recordingTarget } from "../support/recording-target.ts";
import { failingStream, streamOf } from "../support/streams.ts";
import { plainRun } from "../support/run-options.ts";

const MIB = 1024 * 1024;
const image = sampleBytes("qcow2/zlib.qcow2");
const disk = Buffer.from(readDisk(qcow2, image));

interface Setting {
  readonly options?: Partial<RunOptions>;
  /** Of the source; by default a file of `bytes`. */
  readonly source?: (file: string) => Source;
  readonly target?: (name: string) => Target;
  readonly signal?: AbortSignal;
}

interface Ended {
  readonly report: Report;
  readonly disk: Buffer;
}

/** Runs in a folder of its own, and asserts that a failure leaves nothing there. */
async function pour(bytes: Uint8Array, setting: Setting = {}): Promise<Ended> {
  return await withFolder(async (folder) => {
    const [file, name] = [path.join(folder, "image"), path.join(folder, "disk.raw")];
    fs.writeFileSync(file, bytes);
    const source = (setting.source ?? openFile)(file);
    const target = (setting.target ?? openTarget)(name);
    const signal = setting.signal ?? new AbortController().signal;
    const processor = new DataProcessor(source, target, { ...plainRun, ...setting.options }, signal);
    try {
      const report = await processor.run();
      return { report, disk: fs.existsSync(name) ? fs.readFileSync(name) : Buffer.alloc(0) };
    } catch (error) {
      assert.deepEqual(fs.readdirSync(folder), ["image"], "nothing is left");
      throw error;
    }
  });
}

/** A source that passes once. */
function passing(bytes: Uint8Array, onClose: () => void = () => undefined): Source {
  const stream = streamOf(bytes, (i) => 1 + ((i * 7919) % 100_000));
  return {
    name: "a stream",
    path: undefined,
    size: bytes.length,
    file: undefined,
    stream: () => stream,
    close: onClose,
  };
}

function pathOf({ phases }: Report): string {
  return phases.map(({ phase, outcome }) => `${phase}${outcome === undefined ? "" : ` ${outcome}`}`).join(", ");
}

describe("DataProcessor", () => {
  it("converts an image with random access", async () => {
    for (const threads of [1, 2]) {
      const ended = await pour(image, { options: { threads } });
      assert.ok(ended.disk.equals(disk));
      assert.equal(pathOf(ended.report), "Info random-access, Convert converted, Resize resized, Complete");
      const { wrappers, format, virtualSize, bytesWritten, bytesZeroed, spilledBytes, warnings } = ended.report;
      assert.deepEqual([wrappers, format, virtualSize, spilledBytes, warnings], [[], "qcow2", disk.length, 0, []]);
      assert.equal(bytesWritten + bytesZeroed, disk.length);
      assert.ok(bytesWritten > 0 && bytesWritten < disk.length);
    }
  });

  it("transfers a stream, wrapped or not", async () => {
    for (const [bytes, wrappers] of [
      [image, []],
      [zlib.gzipSync(image), ["gzip"]],
    ] as const) {
      const ended = await pour(new Uint8Array(0), { source: () => passing(bytes), options: { threads: 2 } });
      assert.ok(ended.disk.equals(disk));
      assert.equal(pathOf(ended.report), "Info stream, Transfer on-target, Resize resized, Complete");
      assert.deepEqual([ended.report.wrappers, ended.report.bytesRead], [wrappers, bytes.length]);
    }
  });

  it("reads a wrapped file as a stream", async () => {
    const ended = await pour(zlib.zstdCompressSync(image));
    assert.ok(ended.disk.equals(disk));
    assert.equal(pathOf(ended.report), "Info stream, Transfer on-target, Resize resized, Complete");
  });

  it("converts from a spill file what a stream could not place", async () => {
    const clusters = 500;
    const bytes = dataFirst(clusters);
    const options = { spillFolder: "/tmp" };
    const ended = await pour(new Uint8Array(0), { source: () => passing(bytes), options });
    assert.equal(pathOf(ended.report), "Info stream, Transfer spilled, Convert converted, Resize resized, Complete");
    assert.ok(ended.report.spilledBytes > 0);
    assert.ok(ended.disk.equals(bytes.subarray(65_536, (1 + clusters) * 65_536)));
    await assert.rejects(pour(new Uint8Array(0), { source: () => passing(bytes) }), (error) => {
      return (
        error instanceof FormatError && error.code === "FORMAT_UNSUPPORTED" && /--scratch/.test(error.remedy ?? "")
      );
    });
  });

  it("grows the disk to the size that was asked for, and asks with the image's own", async () => {
    const size = disk.length + 3 * MIB + 512;
    for (const setting of [{}, { source: () => passing(image) }]) {
      const ended = await pour(image, { ...setting, options: { finalSize: () => size } });
      assert.equal(ended.disk.length, size);
      assert.ok(ended.disk.subarray(0, disk.length).equals(disk));
      assert.ok(ended.disk.subarray(disk.length).equals(Buffer.alloc(size - disk.length)));
      const refuse = (virtualSize: number): never => {
        throw new UsageError(`${virtualSize} bytes are too many`);
      };
      await assert.rejects(pour(image, { ...setting, options: { finalSize: refuse } }), (error) => {
        return error instanceof UsageError && error.message.includes(`${disk.length} bytes`);
      });
    }
  });

  it("makes zeros of what the image does not mention, on a target that does not start zeroed", async () => {
    for (const setting of [{}, { source: () => passing(image) }]) {
      const target = recordingTarget({ size: disk.length + MIB });
      const writes = { ...target, startsZeroed: false, writer: undefined };
      await pour(image, { ...setting, target: () => writes, options: { finalSize: () => disk.length + MIB } });
      // Threads write elsewhere (here: nowhere); what is not written is zeroed, to the last byte.
      const zeroed = target.calls.filter(([name]) => name === "zero");
      assert.ok(zeroed.some(([, offset, length]) => offset + length === disk.length + MIB));
      assert.ok(target.disk.subarray(disk.length).equals(Buffer.alloc(MIB)));
    }
  });

  it("compares the source's bytes with a checksum before the disk gets its name", async () => {
    const hex = createHash("sha256").update(image).digest("hex");
    const ended = await pour(image, { options: { checksum: { algorithm: "sha256", hex } } });
    assert.ok(ended.disk.equals(disk));
    assert.match(pathOf(ended.report), /^Info stream, Transfer/);
    const wrong = { algorithm: "sha256", hex: hex.replace(/^./, (digit) => (digit === "0" ? "1" : "0")) } as const;
    await assert.rejects(pour(image, { options: { checksum: wrong } }), (error) => {
      return error instanceof SourceError && error.code === "SOURCE_CHECKSUM";
    });
  });

  it("says what the disk's digest is, grown or not, from the target or, for null:, from the source", async () => {
    const size = disk.length + MIB;
    const digest = createHash("sha256").update(disk).digest("hex");
    const grown = createHash("sha256").update(disk).update(Buffer.alloc(MIB)).digest("hex");
    assert.equal((await pour(image, { options: { digest: true } })).report.digest, digest);
    assert.equal((await pour(image, { options: { digest: true, finalSize: () => size } })).report.digest, grown);
    const none = (): Target => openTarget("null:");
    assert.equal((await pour(image, { options: { digest: true }, target: none })).report.digest, digest);
    assert.equal(
      (await pour(image, { options: { digest: true, finalSize: () => size }, target: none })).report.digest,
      grown,
    );
  });

  it("verifies what is on the target, and says where it differs", async () => {
    assert.ok((await pour(image, { options: { verify: true } })).disk.equals(disk));
    for (const at of [0, 70_001, disk.length - 1]) {
      const lying = (name: string): Target => {
        const target = openTarget(name);
        const lies: Partial<Target> = {
          nextData: (offset) => offset,
          readAt(into, offset) {
            const count = target.readAt(into, offset);
            if (offset <= at && at < offset + count) into[at - offset] = (into[at - offset] ?? 0) ^ 1;
            return count;
          },
        };
        return new Proxy(target, {
          get: (of, key) => {
            if (Object.hasOwn(lies, key)) return lies[key as keyof Target];
            const value: unknown = Reflect.get(of, key, of);
            return typeof value === "function" ? value.bind(of) : value;
          },
        });
      };
      await assert.rejects(pour(image, { options: { verify: true }, target: lying }), (error) => {
        return error instanceof TargetError && error.code === "TARGET_IO" && error.context["offset"] === at;
      });
    }
  });

  it("reports a warning, and makes an error of it where that was asked for", async () => {
    const dirty = sampleBytes("qcow2/dirty.qcow2");
    const { report } = await pour(dirty);
    assert.deepEqual(
      report.warnings.map(({ code }) => code),
      ["QCOW2_DIRTY"],
    );
    await assert.rejects(pour(dirty, { options: { strict: true } }), (error) => {
      return error instanceof FormatError && /QCOW2_DIRTY/.test(error.message);
    });
  });

  it("makes an error of what an archive warns of, too", async () => {
    // The descriptor says another length than the disk has.
    const vmdk = sampleBytes("vmdk/stream-optimized.vmdk");
    const disks = [{ name: "disk.vmdk", content: vmdk }];
    const ova = buildTar(
      ovaEntries({ disks }).map((entry) => {
        return entry.name === "disk.vmdk" ? { ...entry, content: Buffer.concat([vmdk, Buffer.alloc(512)]) } : entry;
      }),
    );
    // In a stream it is known at the archive's end only.
    for (const archive of [ova, zlib.gzipSync(ova)]) {
      const { report } = await pour(archive);
      assert.deepEqual(
        report.warnings.map(({ code }) => code),
        ["OVA_SIZE_DIFFERS"],
      );
      await assert.rejects(pour(archive, { options: { strict: true } }), (error) => {
        return error instanceof FormatError && /OVA_SIZE_DIFFERS/.test(error.message);
      });
    }
  });

  it("leaves nothing of what it refuses, before or after the first write", async () => {
    for (const { name, refused } of samples().filter((sample) => sample.refused !== undefined)) {
      await assert.rejects(pour(sampleBytes(name)), (error) => error instanceof FormatError && error.code === refused);
    }
    for (const threads of [1, 2]) {
      const cut = image.subarray(0, image.length - 5000);
      await assert.rejects(pour(cut, { options: { threads } }), FormatError);
      await assert.rejects(pour(cut, { source: () => passing(cut), options: { threads } }), FormatError);
    }
    await assert.rejects(pour(zlib.gzipSync(image).subarray(0, -4)), FormatError);
  });

  it("passes on what a stream failed with, and closes the source once it is over", async () => {
    const failure = new SourceError("SOURCE_UNAVAILABLE", "the cable was cut");
    let closes = 0;
    const source = (): Source => ({
      ...passing(image, () => (closes += 1)),
      stream: () => failingStream(image, 90_000, failure),
    });
    await assert.rejects(pour(image, { source }), failure);
    assert.ok(closes > 0);
  });

  it("stops when it is told to, wherever it is", async () => {
    const stopped = new AbortController();
    stopped.abort();
    await assert.rejects(pour(image, { signal: stopped.signal }), Interrupted);
    const stop = new AbortController();
    const waits = (): Source => {
      const inner = streamOf(image.subarray(0, 100_000));
      let end: (() => void) | undefined;
      return {
        ...passing(image, () => end?.()),
        stream: () => ({
          async read(into) {
            const count = await inner.read(into);
            if (count > 0) return count;
            setTimeout(() => stop.abort(), 20);
            await new Promise<void>((resolve) => (end = resolve)); // no byte comes any more
            return 0;
          },
          close: () => undefined,
        }),
      };
    };
    const started = Date.now();
    await assert.rejects(pour(image, { source: waits, signal: stop.signal, options: { threads: 2 } }), Interrupted);
    assert.ok(Date.now() - started < 10_000);
  });

  it("tells how far it is", async () => {
    await withFolder(async (folder) => {
      const file = path.join(folder, "image");
      fs.writeFileSync(file, image);
      const target = openTarget(path.join(folder, "disk.raw"));
      const processor = new DataProcessor(openFile(file), target, plainRun, new AbortController().signal);
      assert.deepEqual(processor.progress, { phase: "Info", done: 0, total: image.length });
      await processor.run();
      const { phase, done, total } = processor.progress;
      assert.deepEqual([phase, done], ["Complete", total]);
      assert.ok(
        total !== undefined && total > 0 && total < disk.length,
        `${total} of ${disk.length}: holes do not count`,
      );
    });
  });
});

describe("must", () => {
  it("gives what is there, and takes what is not for a bug", () => {
    assert.equal(must(0, "it"), 0);
    assert.throws(() => must(undefined, "the pool"), /the pool is not there yet/);
  });
});
