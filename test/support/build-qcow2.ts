/**
 * Builds small qcow2 images by hand, so that every field can be set on purpose, and lets a guest write to real ones.
 *
 * Layout: header, L1 table, the L2 tables that `entries` needs, then `content`. No refcounts: nothing reads them.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { inTemporaryFolder } from "./qemu-images.ts";

export interface Qcow2Fields {
  readonly version?: number;
  readonly clusterBits?: number;
  /** Virtual size; 1 MiB unless given. */
  readonly size?: number | bigint;
  readonly incompatible?: bigint;
  readonly compatible?: bigint;
  readonly headerLength?: number;
  /** Byte 104. */
  readonly compressionType?: number;
  /** Put behind the header as they are. */
  readonly extensions?: Uint8Array;
  /** L2 entries by cluster of the disk (with extended L2, entry and bitmap), given where `content` starts in the file. */
  readonly entries?: (contentOffset: number) => ReadonlyMap<number, bigint | readonly [bigint, bigint]>;
  readonly content?: Uint8Array;
}

export function buildQcow2(fields: Qcow2Fields = {}): Buffer {
  const clusterSize = 2 ** (fields.clusterBits ?? 16);
  const entrySize = ((fields.incompatible ?? 0n) & 16n) === 0n ? 8 : 16;
  const size = BigInt(fields.size ?? 1024 * 1024);
  const perTable = clusterSize / entrySize;
  const l1Size = Math.ceil(Math.ceil(Number(size) / clusterSize) / perTable);
  const l1Clusters = Math.max(1, Math.ceil((l1Size * 8) / clusterSize));
  const tables = [...new Set([...(fields.entries?.(0).keys() ?? [])].map((cluster) => Math.floor(cluster / perTable)))];
  const contentOffset = (1 + l1Clusters + tables.length) * clusterSize;
  const file = Buffer.alloc(contentOffset + (fields.content?.length ?? 0));
  writeHeader(file, fields, { size, l1Size, l1Offset: clusterSize });
  tables.forEach((table, i) => {
    file.writeBigUInt64BE((1n << 63n) | BigInt((1 + l1Clusters + i) * clusterSize), clusterSize + table * 8);
  });
  for (const [cluster, entry] of fields.entries?.(contentOffset) ?? []) {
    const table = (1 + l1Clusters + tables.indexOf(Math.floor(cluster / perTable))) * clusterSize;
    const words = typeof entry === "bigint" ? [entry] : entry;
    words.forEach((word, i) => file.writeBigUInt64BE(word, table + (cluster % perTable) * entrySize + i * 8));
  }
  if (fields.content !== undefined) file.set(fields.content, contentOffset);
  return file;
}

function writeHeader(
  file: Buffer,
  fields: Qcow2Fields,
  tables: { readonly size: bigint; readonly l1Size: number; readonly l1Offset: number },
): void {
  const version = fields.version ?? 3;
  const headerLength = fields.headerLength ?? (version === 2 ? 72 : 112);
  file.write("QFI\xfb", 0, "latin1");
  file.writeUInt32BE(version, 4);
  file.writeUInt32BE(fields.clusterBits ?? 16, 20);
  file.writeBigUInt64BE(tables.size, 24);
  file.writeUInt32BE(tables.l1Size, 36);
  file.writeBigUInt64BE(BigInt(tables.l1Offset), 40);
  if (version > 2) {
    file.writeBigUInt64BE(fields.incompatible ?? 0n, 72);
    file.writeBigUInt64BE(fields.compatible ?? 0n, 80);
    file.writeUInt32BE(4, 96);
    file.writeUInt32BE(headerLength, 100);
    file[104] = fields.compressionType ?? 0;
  }
  if (fields.extensions !== undefined) file.set(fields.extensions, headerLength);
}

/** A qcow2 whose tables lie behind all of its data. */
export function dataFirst(clusters: number): Buffer {
  const size = 65_536;
  const file = Buffer.alloc((clusters + 3) * size);
  buildQcow2({ version: 2, size: clusters * size }).copy(file, 0, 0, 72);
  file.writeBigUInt64BE(BigInt((clusters + 1) * size), 40);
  file.writeBigUInt64BE((1n << 63n) | BigInt((clusters + 2) * size), (clusters + 1) * size);
  for (let i = 0; i < clusters; i++) {
    file.fill(i + 1, (1 + i) * size, (2 + i) * size);
    file.writeUInt32LE(i + 1, (1 + i) * size);
    file.writeBigUInt64BE((1n << 63n) | BigInt((1 + i) * size), (clusters + 2) * size + 8 * i);
  }
  return file;
}

/** One header extension, padded. */
export function extension(type: number, content: Uint8Array): Buffer {
  const bytes = Buffer.alloc(8 + Math.ceil(content.length / 8) * 8);
  bytes.writeUInt32BE(type, 0);
  bytes.writeUInt32BE(content.length, 4);
  bytes.set(content, 8);
  return bytes;
}

/** The content of a feature name table. */
export function featureNames(...names: readonly (readonly [type: number, bit: number, name: string])[]): Buffer {
  return Buffer.concat(
    names.map(([type, bit, name]) => {
      const entry = Buffer.alloc(48);
      entry.set([type, bit]);
      entry.write(name, 2, "latin1");
      return entry;
    }),
  );
}

/** An image of `qemu-img create`, after qemu-io's `commands`. */
export function guestImage(size: string, options: string, commands: readonly string[]): Buffer {
  return inTemporaryFolder((folder) => {
    const file = path.join(folder, "disk.qcow2");
    qemuImg("create", "-q", "-f", "qcow2", ...(options === "" ? [] : ["-o", options]), file, size);
    for (let i = 0; i < commands.length; i += 500) qemuIo(file, commands.slice(i, i + 500));
    return readFileSync(file);
  });
}

/** Commands of qemu-io that write these clusters of 64 KiB, in this order, each with a byte of its own. */
export function writesOf(clusters: readonly number[]): string[] {
  return clusters.map((cluster) => `write -P ${1 + (cluster % 255)} ${cluster * 64}k 64k`);
}

/** `image` after `change` did to the file what it likes. */
export function changedImage(image: Uint8Array, change: (file: string) => void): Buffer {
  return inTemporaryFolder((folder) => {
    const file = path.join(folder, "disk.qcow2");
    writeFileSync(file, image);
    change(file);
    return readFileSync(file);
  });
}

export function qemuImg(...args: readonly string[]): void {
  execFileSync("qemu-img", args, { stdio: ["ignore", "ignore", "inherit"] });
}

/** Writes as a guest does. A command that QEMU refuses (a compressed write over an allocated cluster) is passed over. */
export function qemuIo(file: string, commands: readonly string[]): void {
  const args = commands.flatMap((command) => ["-c", command]);
  spawnSync("qemu-io", ["-t", "unsafe", "-f", "qcow2", ...args, file], { stdio: "ignore" });
}
