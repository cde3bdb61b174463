/**
 * The archives, in the order in which they are probed.
 */
import type { Archive } from "./archive.ts";
import { tar } from "./tar/tar.ts";
import { zip } from "./zip.ts";

export const archives: readonly Archive[] = [tar, zip];

/** @param head the first 64 KiB of the file, or all of it */
export function detectArchive(head: Uint8Array): Archive | undefined {
  return archives.find((archive) => archive.probe(head));
}
