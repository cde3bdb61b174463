/**
 * The disks that the corpus is made of: a filesystem with real files of this machine, and disks that are filled to some
 * share. Of the latter a quarter is noise, which no program can compress, and the rest programs and texts.
 */
import { execFileSync } from "node:child_process";
import { randomFillSync } from "node:crypto";
import fs from "node:fs";
import path from "node:path";

export interface FileFound {
  readonly path: string;
  readonly size: number;
}

/** Where a Debian keeps what a disk of a machine holds: programs, libraries, texts. */
const CONTENT_FOLDERS = ["/usr/bin", "/usr/lib", "/usr/share"];
/** No single file makes up more of the content than this. */
const MAX_SHARE = 0.05;

/** What is filled is filled in pieces of this. */
const PIECE = 2 ** 20;
/** At the beginning of each piece. */
const NOISE = PIECE / 4;

/** mke2fs fills the filesystem from a folder, so that neither root nor a mount is needed. */
export function makeFilesystem(disk: string, virtualSize: number, contentBytes: number): void {
  const tree = `${disk}.files`;
  try {
    for (const file of chooseFiles(CONTENT_FOLDERS.flatMap(findFiles), contentBytes)) {
      const copy = path.join(tree, file.path);
      fs.mkdirSync(path.dirname(copy), { recursive: true });
      fs.copyFileSync(file.path, copy);
    }
    fs.writeFileSync(disk, "");
    fs.truncateSync(disk, virtualSize);
    execFileSync("mkfs.ext4", ["-q", "-F", "-d", tree, disk]);
  } finally {
    fs.rmSync(tree, { recursive: true, force: true });
  }
}

/** @param share of its pieces, from 0 to 1; the others are holes, evenly between them */
export function makeFilled(disk: string, virtualSize: number, share: number): void {
  const content = contentOf(chooseFiles(CONTENT_FOLDERS.flatMap(findFiles), virtualSize * share));
  const piece = Buffer.alloc(PIECE);
  const fd = fs.openSync(disk, "w");
  try {
    for (const at of filledPieces(virtualSize / PIECE, share)) {
      randomFillSync(piece, 0, NOISE);
      for (let filled = NOISE; filled < PIECE;) {
        const bytes = content.next().value;
        filled += bytes.copy(piece, filled);
      }
      fs.writeSync(fd, piece, 0, PIECE, at * PIECE);
    }
    fs.ftruncateSync(fd, virtualSize);
  } finally {
    fs.closeSync(fd);
  }
}

/** Which of `count` pieces are filled. */
export function filledPieces(count: number, share: number): number[] {
  const all = Array.from({ length: count }, (_, at) => at);
  return all.filter((at) => Math.floor((at + 1) * share) > Math.floor(at * share));
}

/** Beginnings of files, without end. */
function* contentOf(files: readonly FileFound[]): Generator<Buffer, never> {
  const usable = files.filter(({ size }) => size >= 4096);
  if (usable.length === 0) throw new Error(`${CONTENT_FOLDERS.join(", ")} hold too little to fill a disk with`);
  for (let at = 0; ; at = (at + 1) % usable.length) yield fs.readFileSync(usable[at]?.path ?? "");
}

/**
 * The files that make up `bytes`, evenly from all over the list, so that programs, libraries and texts are all in it.
 * Files too large to leave room for others are left out.
 */
export function chooseFiles(files: readonly FileFound[], bytes: number): FileFound[] {
  const usable = files.filter((file) => file.size > 0 && file.size <= bytes * MAX_SHARE);
  const total = usable.reduce((sum, file) => sum + file.size, 0);
  const share = Math.min(1, bytes / total);
  const chosen: FileFound[] = [];
  let passed = 0;
  let taken = 0;
  for (const file of usable) {
    passed += file.size;
    if (taken + file.size > passed * share) continue;
    taken += file.size;
    chosen.push(file);
  }
  return chosen;
}

/** Regular files, sorted within each folder. A loop, for `readdirSync` with `recursive` takes minutes over /usr. */
function findFiles(root: string): FileFound[] {
  const found: FileFound[] = [];
  const folders = [root];
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    const entries = fs.readdirSync(folder, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1));
    for (const entry of entries) {
      const file = path.join(folder, entry.name);
      if (entry.isDirectory()) folders.push(file);
      else if (entry.isFile()) found.push({ path: file, size: fs.statSync(file).size });
    }
  }
  return found;
}
