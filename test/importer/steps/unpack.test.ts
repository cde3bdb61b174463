/**
 * An archive through the phases: unpacked, compared with its checksum, and what is told when it cannot be.
 */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { describe, it } from "node:test";
import { parseChecksum } from "../../../importer/checksum.ts";
import { DataProcessor } from "../../../importer/data-processor.ts";
import type { Report } from "../../../importer/data-processor.ts";
import { failureText } from "../../../importer/failure-text.ts";
import type { RunOptions } from "../../../importer/run.ts";
import { openFile } from "../../../importer/sources/file.ts";
import { openNullTarget } from "../../../importer/targets/null.ts";
import { buildTar } from "../../support/build-tar.ts";
import { compressWith } from "../../support/compress.ts";
import { sampleBytes } from "../../support/images.ts";
import { withFolder, withTmpfs } from "../../support/loop-device.ts";
import { requireRoot, requireTools } from "../../support/tools.ts";
import { plainRun } from "../../support/run-options.ts";

const MIB = 1024 * 1024;
const content = Buffer.from("the content\n");
const archive = buildTar([
  { name: "folder/", type: "5" },
  { name: "folder/file", content },
  { name: "zeros", content: Buffer.alloc(MIB) },
]);

interface Ended {
  readonly report: Report | undefined;
  /** As the termination message has it. */
  readonly failure: string | undefined;
}

async function run(bytes: Uint8Array, folder: string, options: Partial<RunOptions> = {}): Promise<Ended> {
  return await withFolder(async (place) => {
    const file = path.join(place, "source");
    fs.writeFileSync(file, bytes);
    const processor = new DataProcessor(
      openFile(file),
      openNullTarget(),
      {
        ...plainRun,
        unpackInto: folder,
        ...options,
      },
      new AbortController().signal,
    );
    try {
      return { report: await processor.run(), failure: undefined };
    } catch (error) {
      const { phase } = processor.progress;
      const site = { stage: phase, source: "http", contentType: "archive", endpoint: "http://example.org/x" } as const;
      return { report: undefined, failure: failureText(error, site) };
    }
  });
}

function checksumOf(bytes: Uint8Array): RunOptions["checksum"] {
  return parseChecksum(`sha256:${createHash("sha256").update(bytes).digest("hex")}`);
}

const WRONG = parseChecksum(`md5:${"0".repeat(32)}`);

describe("an archive in the phases", { skip: requireTools("gzip", "xz", "zstd", "tar") }, () => {
  const wrappers: Readonly<Record<string, (plain: Uint8Array) => Uint8Array>> = {
    plain: (plain) => plain,
    gzip: compressWith("gzip"),
    xz: compressWith("xz"),
    zstd: compressWith("zstd"),
    "xz in gzip": (plain) => compressWith("gzip")(compressWith("xz")(plain)),
  };
  for (const [wrapper, wrap] of Object.entries(wrappers)) {
    it(`is unpacked: ${wrapper}`, async () => {
      await withFolder(async (folder) => {
        const bytes = wrap(archive);
        const { report, failure } = await run(bytes, folder, { checksum: checksumOf(bytes) });
        assert.equal(failure, undefined);
        assert.deepEqual(
          report?.phases.map(({ phase, outcome }) => [phase, outcome]),
          [
            ["Info", "archive"],
            ["Transfer", "unpacked"],
            ["Complete", undefined],
          ],
        );
        assert.deepEqual(
          [report.format, report.virtualSize, report.bytesRead, report.bytesWritten, report.bytesZeroed],
          ["tar", content.length + MIB, bytes.length, content.length, MIB],
        );
        assert.equal(fs.readFileSync(path.join(folder, "folder", "file"), "utf8"), String(content));
        assert.deepEqual(fs.readdirSync(folder).sort(), ["folder", "zeros"]);
      });
    });
  }

  it("is read to its end before its checksum is compared: padding of records, and more behind it", async () => {
    await withFolder(async (folder) => {
      fs.writeFileSync(path.join(folder, "f"), content);
      const padded = execFileSync("tar", ["-b", "2048", "-C", folder, "-c", "f"], { maxBuffer: 16 * MIB });
      assert.ok(padded.length >= MIB);
      for (const bytes of [
        padded,
        Buffer.concat([padded, Buffer.alloc(300_000, "more")]),
        compressWith("gzip")(padded),
      ]) {
        assert.equal((await run(bytes, folder, { checksum: checksumOf(bytes) })).failure, undefined);
      }
    });
  });

  it("leaves an empty folder after a wrong checksum, whoever put there what was in it", async () => {
    await withFolder(async (folder) => {
      fs.mkdirSync(path.join(folder, "there", "before"), { recursive: true });
      const { failure } = await run(archive, folder, { checksum: WRONG });
      const actual = createHash("md5").update(archive).digest("hex");
      assert.equal(
        failure,
        "Unable to process data: Unable to transfer source data to target directory: checksum validation failed: " +
          `checksum mismatch: expected md5:${"0".repeat(32)}, calculated md5:${actual}`,
      );
      assert.deepEqual(fs.readdirSync(folder), []);
    });
  });

  it("is told in the contract's words where it is none", async () => {
    const untar =
      /^Unable to process data: Unable to transfer source data to target directory: unable to untar files from endpoint: /;
    await withFolder(async (folder) => {
      const broken = Buffer.from(archive);
      broken.fill(0x41, 1536, 1600);
      for (const bytes of [sampleBytes("qcow2/zlib.qcow2"), Buffer.from("PK\x03\x04".padEnd(2000)), broken]) {
        assert.match((await run(bytes, folder)).failure ?? "", untar);
      }
      const { failure } = await run(buildTar([{ name: "../victim", content }]), folder);
      assert.match(failure ?? "", untar);
      assert.match(failure ?? "", /"\.\.\/victim" contains "\.\."/);
      assert.match((await run(archive, path.join(folder, "missing"))).failure ?? "", /cannot open the folder/);
    });
  });

  it("keeps the words that a claim that is too small is known by", { skip: requireRoot() }, async () => {
    await withTmpfs(2 * MIB, async (folder) => {
      const large = buildTar([{ name: "large", content: Buffer.alloc(8 * MIB, 1) }]);
      const { failure } = await run(large, folder);
      assert.match(failure ?? "", /unable to untar files from endpoint: .*no space left on device/);
    });
  });
});
