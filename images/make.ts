/**
 * Makes the sample images and their manifest: `npm run images` (all), or `npm run images -- qcow2/ ova/` (some).
 *
 * It needs the tools that variants.ts names. The disks are the same on every run; an image is not always (a VMDK has a
 * random content ID, a VHDX random GUIDs), so only make those again that you mean to change.
 */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import os from "node:os";
import path from "node:path";
import zlib from "node:zlib";
import { makeTwoPartitions, patternedDisk } from "./base-disks.ts";
import { variants } from "./variants.ts";
import type { Variant } from "./variants.ts";

/** One sample, as images/manifest.json lists it. */
export interface ManifestEntry {
  /** Below images/. */
  readonly file: string;
  /** The file is gzipped only to be small: the sample is what `gunzip` gives. */
  readonly packed: boolean;
  readonly format: Variant["format"];
  /** From the outermost inwards. */
  readonly wrappers: readonly string[];
  readonly features: readonly string[];
  /** The error code with which it is refused. */
  readonly refused?: string;
  /** Bytes of the disk, and the SHA-256 of its content as the tool that made it reads it; absent where it is refused. */
  readonly virtualSize?: number;
  readonly contentSha256?: string;
  /** Of the file as it is stored. */
  readonly storedSha256: string;
  readonly command: string;
  readonly tool: string;
}

const SMALL = 16 * 1024; // bytes; what is larger is stored gzipped

const folder = import.meta.dirname;
const manifestFile = path.join(folder, "manifest.json");

/** Makes the samples whose names start with one of `prefixes` (all, if there is none). */
export function makeImages(prefixes: readonly string[]): void {
  const entries = new Map(readManifest().map((entry) => [entry.file, entry]));
  const work = mkdtempSync(path.join(os.tmpdir(), "decant-images-"));
  try {
    writeSparsely(path.join(work, "patterned.raw"), patternedDisk());
    makeTwoPartitions(path.join(work, "two-partitions.raw"), work);
    for (const variant of variants) {
      if (prefixes.length > 0 && !prefixes.some((prefix) => variant.name.startsWith(prefix))) continue;
      const entry = makeImage(variant, work);
      entries.set(entry.file, entry);
      console.log(entry.file);
    }
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
  const known = variants.flatMap((variant) => entries.get(variant.name) ?? entries.get(`${variant.name}.gz`) ?? []);
  writeFileSync(manifestFile, `${JSON.stringify(known, null, 2)}\n`);
}

export function readManifest(): ManifestEntry[] {
  if (!existsSync(manifestFile)) return [];
  return JSON.parse(readFileSync(manifestFile, "utf8")) as ManifestEntry[];
}

function makeImage(variant: Variant, bases: string): ManifestEntry {
  const work = mkdtempSync(path.join(bases, "image-"));
  for (const base of ["patterned.raw", "two-partitions.raw"]) {
    execFileSync("cp", ["--sparse=always", path.join(bases, base), work]);
  }
  copyFileSync(path.join(folder, "ova", "sample.ovf"), path.join(work, "sample.ovf"));
  execFileSync("sh", ["-c", variant.command], { cwd: work, stdio: ["ignore", "ignore", "pipe"] });
  const image = readFileSync(path.join(work, "out"));
  const packed = image.length > SMALL && variant.unpacked !== true;
  const stored = packed ? zlib.gzipSync(image, { level: 9 }) : image;
  const file = packed ? `${variant.name}.gz` : variant.name;
  mkdirSync(path.dirname(path.join(folder, file)), { recursive: true });
  writeFileSync(path.join(folder, file), stored);
  const content = variant.refused === undefined ? readContent(variant, work) : undefined;
  rmSync(work, { recursive: true });
  return {
    file,
    packed,
    format: variant.format,
    wrappers: variant.wrappers ?? [],
    features: variant.features,
    ...(variant.refused === undefined ? {} : { refused: variant.refused }),
    ...(content === undefined ? {} : { virtualSize: content.length, contentSha256: sha256(content) }),
    storedSha256: sha256(stored),
    command: variant.command,
    tool: toolVersion(variant.command),
  };
}

/** The disk as qemu-img reads it; inside a wrapper it is the disk that was wrapped. */
function readContent(variant: Variant, work: string): Buffer {
  if ((variant.wrappers ?? []).length > 0) return patternedDisk();
  execFileSync("qemu-img", ["convert", "-f", variant.format, "-O", "raw", "out", "content"], { cwd: work });
  return readFileSync(path.join(work, "content"));
}

/** A file with holes where the disk has blocks of zeros, so that `tar -S` finds them. */
function writeSparsely(file: string, disk: Buffer): void {
  const dense = `${file}.dense`;
  writeFileSync(dense, disk);
  execFileSync("cp", ["--sparse=always", dense, file]);
  truncateSync(file, disk.length);
  rmSync(dense);
}

function toolVersion(command: string): string {
  const tools = ["qemu-img", "pzstd", "zstd", "xz", "gzip", "bzip2", "tar", "zip", "genisoimage"];
  const tool = tools.find((name) => command.includes(`${name} `));
  if (tool === undefined) return "cp";
  const option = tool === "zip" ? "-v" : "--version";
  const text = execFileSync(tool, [option], { encoding: "utf8", input: "", stdio: ["pipe", "pipe", "pipe"] });
  const line = text.split("\n").find((part) => /\d\.\d/.test(part)) ?? tool;
  return line.replaceAll("*", "").trim();
}

function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

if (import.meta.main) makeImages(process.argv.slice(2));
