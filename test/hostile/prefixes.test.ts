/**
 * Images that end too early, at every byte of the small ones and around every structure of the large ones: one coded error,
 * or, where nothing but padding was lost, the same disk. Both ways, through the real engine.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { KIB } from "../../formats/bytes.ts";
import type { DiskFormat, Need } from "../../formats/disk-format.ts";
import { diskFormats } from "../../formats/registry.ts";
import { sampleBytes, samples } from "../support/images.ts";
import { allExtents, parse, scanDisk } from "../support/parse.ts";
import { pour } from "../support/pour.ts";
import type { PourOptions, Way } from "../support/pour.ts";
import { memoryFolder, withTemporaryFolder } from "../support/temporary-folder.ts";
import { watchdog } from "../support/watchdog.ts";

/** Of a smaller sample every prefix is tried with FULL=1, else every STRIDEth, and the first and last DENSE ones. */
const SMALL = 20 * KIB;
const STRIDE = 151;
const DENSE = 24;
/** Of a larger one about so many lengths, evenly taken from those around its structures. */
const MOST_BOUNDARIES = process.env["FULL"] === "1" ? 2000 : 24;

/** Samples of several parts, each whole by itself: what is cut between two of them cannot be known from its bytes. */
const CONCATENATED: readonly string[] = [
  "gzip/members-and-padding.raw.gz",
  "xz/streams-and-padding.raw.xz",
  "zstd/skippable-frames.raw.zst",
];

const SECONDS_PER_PREFIX = 30;

describe("every prefix of an image", () => {
  for (const sample of samples()) {
    it(sample.name, async () => {
      const bytes = sampleBytes(sample.name);
      const dog = watchdog(SECONDS_PER_PREFIX);
      try {
        await withTemporaryFolder(async (folder) => {
          for (const way of ["file", "stream"] as const) {
            const whole = await pour(bytes, way, { folder });
            for (const length of lengthsOf(sample.name, bytes)) {
              dog.feed(`${sample.name} cut to ${length}, as a ${way}`);
              const prefix = bytes.subarray(0, length);
              const mayBeShorter = CONCATENATED.includes(sample.name);
              await tryPrefix(prefix, { disk: whole.disk, mayBeShorter }, way, { folder });
            }
          }
        }, memoryFolder());
      } finally {
        await dog.close();
      }
    });
  }
});

async function tryPrefix(
  prefix: Uint8Array,
  expected: { readonly disk: Buffer | undefined; readonly mayBeShorter: boolean },
  way: Way,
  options: PourOptions,
): Promise<void> {
  const name = `${prefix.length} bytes as a ${way}`;
  const { code, error, report } = await pour(prefix, way, { ...options, keep: false });
  assert.notEqual(code, "INTERNAL", `${name}: ${error instanceof Error ? error.stack : String(error)}`);
  if (report === undefined || expected.disk === undefined) return;
  // A raw disk that is cut is a smaller raw disk; so is a fixed VHD without its footer, and a file too short to be anything.
  if (report.format === "raw" && report.wrappers.length === 0) return;
  const again = await pour(prefix, way, options);
  const disk = expected.mayBeShorter ? expected.disk.subarray(0, again.disk?.length) : expected.disk;
  assert.ok(again.disk?.equals(disk) === true, `${name}: another disk, and no error`);
}

/** Ascending lengths below the whole. */
function lengthsOf(name: string, bytes: Uint8Array): number[] {
  const all = (step: number): number[] => Array.from({ length: Math.ceil(bytes.length / step) }, (_, i) => i * step);
  if (bytes.length < SMALL) {
    if (process.env["FULL"] === "1") return all(1);
    return all(1).filter((length) => length % STRIDE === 0 || length < DENSE || length >= bytes.length - DENSE);
  }
  const edges = boundaries(name, bytes);
  const lengths = new Set<number>();
  for (const edge of edges) for (const near of [edge - 1, edge, edge + 1]) lengths.add(near);
  for (const length of all(Math.ceil(bytes.length / 6))) lengths.add(length);
  return thinned([...lengths].filter((length) => length >= 0 && length < bytes.length).sort((a, b) => a - b));
}

function thinned(lengths: readonly number[]): number[] {
  const step = Math.max(1, Math.ceil(lengths.length / MOST_BOUNDARIES));
  return lengths.filter((_, i) => i % step === 0 || i < 6 || i >= lengths.length - 6);
}

/** Where the structures and the data of a disk image begin and end. */
function boundaries(name: string, bytes: Uint8Array): number[] {
  const format: DiskFormat | undefined = diskFormats.find((candidate) => name.startsWith(`${candidate.name}/`));
  if (format === undefined || format.name === "raw") return [512, 1024, 1536];
  try {
    const needs: Need[] = [];
    const image = parse(bytes, format.open(bytes.length), needs);
    needs.push(...scanDisk(format, bytes).needs);
    const stored = allExtents(image, bytes).flatMap((extent) => {
      return extent.kind === "data" && extent.stored.encoding !== "inline" ? [extent.stored] : [];
    });
    return [...needs, ...stored].flatMap(({ offset, length }) => [offset, offset + length]);
  } catch {
    return [0, 64, 512, 4096]; // an image that is refused
  }
}
