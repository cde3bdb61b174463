/**
 * The sample images as the parsers read them: content, extent map, refusal.
 *
 * What is right comes from qemu-img (the manifest's hashes, and `qemu-img map` as golden files), so this needs no qemu-img;
 * `npm run golden` asks it again.
 */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { describe, it } from "node:test";
import { HEAD_LENGTH, TAIL_LENGTH } from "../formats/disk-format.ts";
import type { DiskFormat, Extent } from "../formats/disk-format.ts";
import { raw } from "../formats/raw.ts";
import { detectFormat, diskFormats } from "../formats/registry.ts";
import { golden } from "./support/golden.ts";
import { sampleBytes, samples } from "./support/images.ts";
import type { Sample } from "./support/images.ts";
import { allExtents, openImage, readDisk, scanDisk } from "./support/parse.ts";

/** As `qemu-img map --output=json` writes it, without the depth and what newer versions add. */
interface MapEntry {
  readonly start: number;
  readonly length: number;
  readonly present: boolean;
  readonly zero: boolean;
  readonly data: boolean;
  readonly offset?: number;
}

describe("sample images, read by the parsers", () => {
  const disks = samples().filter((sample) => sample.wrappers.length === 0);
  for (const sample of disks.filter((disk) => disk.refused !== undefined)) {
    it(`refuses ${sample.name}: ${sample.features.join(", ")}`, () => {
      const file = sampleBytes(sample.name);
      assert.throws(() => openImage(formatOf(sample), file), { code: sample.refused });
    });
  }

  for (const sample of disks.filter((disk) => disk.refused === undefined)) {
    it(`reads ${sample.name}, at random and in one pass`, () => {
      const file = sampleBytes(sample.name);
      const format = formatOf(sample);
      const detected = detectFormat(file.subarray(0, HEAD_LENGTH), file.subarray(-TAIL_LENGTH));
      assert.equal(detected.name, sample.format);
      assert.equal(sha256(readDisk(format, file)), sample.contentSha256);
      // A fixed VHD is known by its end only: in a stream it is raw until the footer goes by.
      const streamed = sample.features.includes("fixed") && sample.format === "vpc" ? raw : format;
      assert.equal(sha256(scanDisk(streamed, file, undefined).disk), sample.contentSha256);
    });

    it(`maps ${sample.name} as qemu-img does`, () => {
      const text = golden(`maps/${sample.name}.json`, () => askQemu(sample));
      const expected = JSON.parse(text) as readonly MapEntry[];
      const file = sampleBytes(sample.name);
      const extents = allExtents(openImage(formatOf(sample), file), file).map(mapEntry);
      // qemu-img cuts a map where the offset jumps, and so do parsers, but not always in the same places.
      const borders = [...new Set([...expected, ...extents].map((entry) => entry.start))].sort((a, b) => a - b);
      for (const border of borders) {
        const [ours, theirs] = [at(extents, border), at(expected, border)];
        const { offset: _ours, ...kind } = ours;
        const { offset: _theirs, ...expectedKind } = theirs;
        assert.deepEqual(kind, expectedKind, `at ${border}`);
        if (ours.offset !== undefined && theirs.offset !== undefined) assert.equal(ours.offset, theirs.offset);
      }
    });
  }
});

function formatOf(sample: Sample): DiskFormat {
  const format = diskFormats.find((candidate) => candidate.name === sample.format);
  assert.ok(format !== undefined, `formats/registry.ts lists no ${sample.format}`);
  return format;
}

function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

function askQemu(sample: Sample): string {
  const folder = mkdtempSync(path.join(os.tmpdir(), "decant-map-"));
  try {
    const image = path.join(folder, "image");
    writeFileSync(image, sampleBytes(sample.name));
    const json = execFileSync("qemu-img", ["map", "-f", sample.format, "--output=json", image], { encoding: "utf8" });
    const entries = (JSON.parse(json) as MapEntry[]).map(({ start, length, present, zero, data, offset }) =>
      JSON.stringify({ start, length, present, zero, data, offset }),
    );
    return `[\n${entries.map((entry) => `  ${entry}`).join(",\n")}\n]\n`;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function mapEntry(extent: Extent): MapEntry {
  const { kind, offset: start, length } = extent;
  const entry = { start, length, present: kind !== "hole", zero: kind !== "data", data: kind === "data" };
  const offset = kind === "data" ? plainOffset(extent) : extent.hostOffset;
  return offset === undefined ? entry : { ...entry, offset };
}

function plainOffset(extent: Extent & { readonly kind: "data" }): number | undefined {
  return extent.stored.encoding === "plain" ? extent.stored.offset : undefined;
}

/** The part of a map that starts at `border`. */
function at(entries: readonly MapEntry[], border: number): Omit<MapEntry, "length"> {
  const entry = entries.find(({ start, length }) => start <= border && border < start + length);
  assert.ok(entry !== undefined, `the map has no ${border}`);
  const { length: _length, offset, ...rest } = { ...entry, start: border };
  return offset === undefined ? rest : { ...rest, offset: offset + border - entry.start };
}
