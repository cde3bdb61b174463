/**
 * `decant map --json` against `qemu-img map --output=json`: for each byte of the disk the same present, zero and data, and
 * the same offset where both print one. Every image of pairs.json, unwrapped.
 *
 * VHDX is compared with its own file instead: qemu-img 7.2 reports all of a VHDX as data without offsets.
 */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { closeSync, openSync, readSync } from "node:fs";
import { tmpdir } from "node:os";
import { after, before, describe, it } from "node:test";
import * as map from "../../cmd/map.ts";
import type { MapRow } from "../../cmd/map.ts";
import { baseDisk } from "../support/base-disk.ts";
import { runCommand } from "../support/command-io.ts";
import { requireTools } from "../support/tools.ts";
import { FORMATS, imageChoice } from "./dimensions.ts";
import type { Choice } from "./dimensions.ts";
import { ImageFolder } from "./make-image.ts";
import { readPairs } from "./make-pairs.ts";

const skip = requireTools("qemu-img", "qemu-io");

let images: ImageFolder;

describe("map --json says what qemu-img map says", { skip }, () => {
  let count = 0;
  before(() => {
    // On a disk: holes of the image files themselves are a part of what is compared.
    images = new ImageFolder(baseDisk(), tmpdir());
  });
  after(() => images.remove());

  for (const format of Object.keys(FORMATS)) {
    for (const choice of imagesOf(format)) {
      count += 1;
      it(`${format}: ${Object.values(choice).join(", ")}`, async () => {
        const image = images.make(format, choice);
        const ours = await decantMap(image);
        const content = images.contentOf(format, choice, image);
        assertCovers(ours, content.length);
        assertTrue(ours, image, content);
        if (format !== "vhdx") assertSame(ours, qemuMap(format, image));
      });
    }
  }

  it("counts its images", (t) => t.diagnostic(`the maps of ${count} images compared`));
});

/** The images of pairs.json, each once. */
function imagesOf(format: string): Choice[] {
  const choices = (readPairs()[format] ?? []).map((choice) => imageChoice(format, choice));
  return [...new Map(choices.map((choice) => [JSON.stringify(choice), choice])).values()];
}

async function decantMap(image: string): Promise<MapRow[]> {
  const { status, stdout, stderr } = await runCommand(map, ["--json", image]);
  assert.equal(status, 0, stderr);
  return JSON.parse(stdout) as MapRow[];
}

function qemuMap(format: string, image: string): MapRow[] {
  const json = execFileSync("qemu-img", ["map", "-f", format, "--output=json", image], { encoding: "utf8" });
  return JSON.parse(json) as MapRow[];
}

/** Rows follow each other from the first byte to the last. */
function assertCovers(rows: readonly MapRow[], virtualSize: number): void {
  let end = 0;
  for (const row of rows) {
    assert.equal(row.start, end);
    assert.ok(row.length > 0);
    end += row.length;
  }
  assert.equal(end, virtualSize);
}

/** What reads as zeros is zeros, and the bytes of the disk lie in the file where a row says so. */
function assertTrue(rows: readonly MapRow[], image: string, content: Buffer): void {
  const fd = openSync(image, "r");
  try {
    for (const { start, length, zero, offset } of rows) {
      const bytes = content.subarray(start, start + length);
      if (zero) assert.ok(bytes.equals(Buffer.alloc(length)), `zeros at ${start}`);
      if (zero || offset === undefined) continue;
      const stored = Buffer.alloc(length);
      readSync(fd, stored, 0, length, offset);
      assert.ok(stored.equals(bytes), `the disk's ${length} bytes at ${start} lie at ${offset}`);
    }
  } finally {
    closeSync(fd);
  }
}

/** Compares row by row between the borders of both. */
function assertSame(ours: readonly MapRow[], theirs: readonly MapRow[]): void {
  const borders = [...new Set([...ours, ...theirs].map((row) => row.start))].sort((a, b) => a - b);
  let i = 0;
  let j = 0;
  for (const at of borders) {
    const a = rowAt(ours, at, i);
    const b = rowAt(theirs, at, j);
    [i, j] = [a.index, b.index];
    const facts = ({ present, zero, data, depth }: MapRow): object => ({ at, present, zero, data, depth });
    assert.deepEqual(facts(a.row), facts(b.row));
    if (a.row.offset === undefined || b.row.offset === undefined) continue;
    assert.equal(a.row.offset + at - a.row.start, b.row.offset + at - b.row.start, `host offset of ${at}`);
  }
  assert.equal(endOf(ours), endOf(theirs));
}

function rowAt(rows: readonly MapRow[], at: number, from: number): { readonly row: MapRow; readonly index: number } {
  const index = rows.findIndex((row, i) => i >= from && at < row.start + row.length);
  const row = rows[index];
  assert.ok(row !== undefined && row.start <= at, `a row for ${at}`);
  return { row, index };
}

function endOf(rows: readonly MapRow[]): number {
  const last = rows.at(-1);
  return (last?.start ?? 0) + (last?.length ?? 0);
}
