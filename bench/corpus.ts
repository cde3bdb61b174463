/**
 * The corpus: one ext4 filesystem that holds real files of this machine, as every kind of image. Made once, kept in a cache
 * folder outside the checkout, and made again only where a file is missing.
 */
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";

export interface Corpus {
  readonly folder: string;
  /** What every image decodes to. */
  readonly raw: string;
  readonly images: readonly Image[];
}

export interface Image {
  readonly name: string;
  readonly path: string;
}

export interface CorpusSize {
  readonly name: "full" | "quick";
  readonly virtualSize: number;
  /** Bytes of files on the filesystem. */
  readonly contentBytes: number;
}

export const FULL: CorpusSize = { name: "full", virtualSize: 10 * 2 ** 30, contentBytes: 750e6 };
export const QUICK: CorpusSize = { name: "quick", virtualSize: 2 ** 30, contentBytes: 75e6 };

/** Where a Debian keeps what a disk of a machine holds: programs, libraries, texts. */
const CONTENT_FOLDERS = ["/usr/bin", "/usr/lib", "/usr/share"];
/** No single file makes up more of the content than this. */
const MAX_SHARE = 0.05;

/** How each image is made; $RAW is the disk, $PLAIN the plain qcow2, $OUT the image. */
const RECIPES: Readonly<Record<string, string>> = {
  "plain.qcow2": `qemu-img convert -f raw -O qcow2 "$RAW" "$OUT"`,
  "zlib.qcow2": `qemu-img convert -f raw -O qcow2 -c "$RAW" "$OUT"`,
  "zstd.qcow2": `qemu-img convert -f raw -O qcow2 -c -o compression_type=zstd "$RAW" "$OUT"`,
  "stream-optimized.vmdk": `qemu-img convert -f raw -O vmdk -o subformat=streamOptimized "$RAW" "$OUT"`,
  "sparse.vmdk": `qemu-img convert -f raw -O vmdk "$RAW" "$OUT"`,
  "dynamic.vhdx": `qemu-img convert -f raw -O vhdx "$RAW" "$OUT"`,
  "dynamic.vhd": `qemu-img convert -f raw -O vpc -o force_size=on "$RAW" "$OUT"`,
  "dynamic.vdi": `qemu-img convert -f raw -O vdi "$RAW" "$OUT"`,
  "raw.gz": `gzip -6 -c "$RAW" > "$OUT"`,
  "raw.zst": `zstd -q -3 -c "$RAW" > "$OUT"`,
  "qcow2.xz": `xz -2 -c "$PLAIN" > "$OUT"`,
  "empty-15t.qcow2": `qemu-img create -q -f qcow2 "$OUT" 15T`,
};

/** @param cache the folder that holds caches, as XDG_CACHE_HOME does */
export function makeCorpus(size: CorpusSize, cache: string, say: (text: string) => void): Corpus {
  const folder = path.join(cache, "decant-bench", size.name);
  fs.mkdirSync(folder, { recursive: true });
  const raw = path.join(folder, "disk.raw");
  if (!fs.existsSync(raw)) makeFilesystem(raw, size, say);
  const images = Object.entries(RECIPES).map(([name, recipe]): Image => {
    const image = path.join(folder, name);
    if (!fs.existsSync(image)) {
      say(`making ${image}`);
      const env = { ...process.env, RAW: raw, PLAIN: path.join(folder, "plain.qcow2"), OUT: `${image}.part` };
      execFileSync("sh", ["-c", recipe], { env });
      fs.renameSync(`${image}.part`, image);
    }
    return { name, path: image };
  });
  return { folder, raw, images };
}

export function cacheFolder(env: Readonly<Record<string, string | undefined>>): string {
  return env["XDG_CACHE_HOME"] ?? path.join(os.homedir(), ".cache");
}

export interface FileFound {
  readonly path: string;
  readonly size: number;
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

/** mke2fs fills the filesystem from a folder, so that neither root nor a mount is needed. */
function makeFilesystem(raw: string, size: CorpusSize, say: (text: string) => void): void {
  say(`making ${raw}`);
  const tree = `${raw}.files`;
  try {
    const files = CONTENT_FOLDERS.flatMap(findFiles);
    for (const file of chooseFiles(files, size.contentBytes)) {
      const copy = path.join(tree, file.path);
      fs.mkdirSync(path.dirname(copy), { recursive: true });
      fs.copyFileSync(file.path, copy);
    }
    fs.rmSync(`${raw}.part`, { force: true });
    fs.writeFileSync(`${raw}.part`, "");
    fs.truncateSync(`${raw}.part`, size.virtualSize);
    execFileSync("mkfs.ext4", ["-q", "-F", "-d", tree, `${raw}.part`]);
    fs.renameSync(`${raw}.part`, raw);
  } finally {
    fs.rmSync(tree, { recursive: true, force: true });
  }
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
