/**
 * Removes everything in a folder, and not the folder: what was unpacked turned out not to be what was meant.
 */
import { HeldFolder } from "./held-folder.ts";

const OPEN_MODE = 0o700;

/**
 * No link is followed. What belongs to somebody else stays.
 * @returns how many entries stay, at any depth
 */
export function clearFolder(path: string): number {
  const folder = HeldFolder.open(path);
  try {
    return clear(folder);
  } finally {
    folder.close();
  }
}

function clear(folder: HeldFolder): number {
  let left = 0;
  for (const name of folder.list()) {
    try {
      left += clearInside(folder, name);
      folder.remove(name);
    } catch {
      left += 1;
    }
  }
  return left;
}

function clearInside(parent: HeldFolder, name: Uint8Array): number {
  if (parent.stat(name)?.isDirectory() !== true) return 0;
  const folder = parent.enter(name);
  if (folder === undefined) return 0;
  try {
    folder.setAttributes({ mode: OPEN_MODE, modifiedAt: undefined });
    return clear(folder);
  } finally {
    folder.close();
  }
}
