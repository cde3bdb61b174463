/**
 * qemu-img as the oracle, on images that are held in memory.
 */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Extent } from "../../formats/disk-format.ts";

/** Runs `use` with the name of a folder that is removed afterwards. */
export function inTemporaryFolder<T>(use: (folder: string) => T): T {
  const folder = mkdtempSync(path.join(tmpdir(), "decant-test-"));
  try {
    return use(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** `disk` as an image that `qemu-img convert <options>` writes. */
export function imageOf(disk: Uint8Array, format: string, options: readonly string[] = []): Buffer {
  return inTemporaryFolder((folder) => {
    writeFileSync(path.join(folder, "base.raw"), disk);
    const args = ["convert", "-f", "raw", "-O", format, ...options, "base.raw", "image"];
    execFileSync("qemu-img", args, { cwd: folder });
    return readFileSync(path.join(folder, "image"));
  });
}

/** What qemu-img reads from `image`. */
export function rawOf(image: Uint8Array, format: string): Buffer {
  return inTemporaryFolder((folder) => {
    writeFileSync(path.join(folder, "image"), image);
    execFileSync("qemu-img", ["convert", "-f", format, "-O", "raw", "image", "disk.raw"], { cwd: folder });
    return readFileSync(path.join(folder, "disk.raw"));
  });
}

/** The virtual size that qemu-img shows. */
export function virtualSizeOf(image: Uint8Array, format: string): number {
  return inTemporaryFolder((folder) => {
    writeFileSync(path.join(folder, "image"), image);
    const json = execFileSync("qemu-img", ["info", "-f", format, "--output=json", "image"], { cwd: folder });
    return (JSON.parse(json.toString()) as { "virtual-size": number })["virtual-size"];
  });
}

export interface MapEntry {
  readonly start: number;
  readonly length: number;
  readonly present: boolean;
  readonly zero: boolean;
  readonly data: boolean;
  readonly offset?: number;
}

export function mapOf(image: Uint8Array, format: string): MapEntry[] {
  return inTemporaryFolder((folder) => {
    writeFileSync(path.join(folder, "image"), image);
    const json = execFileSync("qemu-img", ["map", "-f", format, "--output=json", "image"], { cwd: folder });
    return JSON.parse(json.toString()) as MapEntry[];
  });
}

/**
 * Asserts that `extents` say of each byte what qemu-img's map says: data or not, and where it lies.
 * @param comparePresent only for formats with backing files: qemu-img calls all of the others present
 */
export function assertSameMap(extents: readonly Extent[], map: readonly MapEntry[], comparePresent: boolean): void {
  const borders = [...extents.map((e) => e.offset), ...map.map((e) => e.start)].sort((a, b) => a - b);
  let i = 0;
  let j = 0;
  for (const at of borders) {
    while (at >= (extents[i]?.offset ?? 0) + (extents[i]?.length ?? 0)) i++;
    while (at >= (map[j]?.start ?? 0) + (map[j]?.length ?? 0)) j++;
    const ours = extents[i];
    const theirs = map[j];
    assert.ok(ours !== undefined && theirs !== undefined, `something describes ${at}`);
    assert.equal(ours.kind === "data", theirs.data, `data at ${at}`);
    if (comparePresent) assert.equal(ours.kind !== "hole", theirs.present, `present at ${at}`);
    const plain = ours.kind === "data" && ours.stored.encoding === "plain" ? ours.stored.offset : undefined;
    const ourOffset = plain === undefined ? undefined : plain + at - ours.offset;
    const theirOffset = theirs.offset === undefined ? undefined : theirs.offset + at - theirs.start;
    assert.equal(ourOffset, theirOffset, `host offset of ${at}`);
  }
  const end = (e: { offset: number; length: number } | undefined): number => (e?.offset ?? 0) + (e?.length ?? 0);
  const lastMapped = map.at(-1);
  assert.equal(end(extents.at(-1)), (lastMapped?.start ?? 0) + (lastMapped?.length ?? 0), "both end at the same byte");
}
