/**
 * The sample images of images/, ready to use: gunzipped where they are stored gzipped only to be small.
 */
import { readFileSync } from "node:fs";
import path from "node:path";
import zlib from "node:zlib";
import { readManifest } from "../../images/make.ts";
import type { ManifestEntry } from "../../images/make.ts";

export const IMAGES_FOLDER = path.join(import.meta.dirname, "..", "..", "images");

export interface Sample extends ManifestEntry {
  /** The name without the `.gz` of storage: `qcow2/plain.qcow2`. */
  readonly name: string;
}

/** Every sample that the manifest lists. */
export function samples(): Sample[] {
  return readManifest().map((entry) => ({
    ...entry,
    name: entry.packed ? entry.file.slice(0, -".gz".length) : entry.file,
  }));
}

/**
 * The sample's bytes.
 * @param name as `Sample.name` has it
 * @throws Error for a name that the manifest does not list
 */
export function sampleBytes(name: string): Buffer {
  const sample = samples().find((candidate) => candidate.name === name);
  if (sample === undefined) throw new Error(`images/manifest.json lists no ${name}`);
  const stored = readFileSync(path.join(IMAGES_FOLDER, sample.file));
  return sample.packed ? zlib.gunzipSync(stored) : stored;
}
