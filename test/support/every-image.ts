/**
 * Every format and every compression that a disk comes in, as the real tools write them.
 */
import zlib from "node:zlib";
import { compressWith } from "./compress.ts";
import { imageOf, rawOf } from "./qemu-images.ts";

export interface ImageFormat {
  readonly name: string;
  /** As qemu-img calls it. */
  readonly format: string;
  readonly options: readonly string[];
}

export const EVERY_FORMAT: readonly ImageFormat[] = [
  { name: "raw", format: "raw", options: [] },
  { name: "qcow2", format: "qcow2", options: [] },
  { name: "qcow2 with zlib", format: "qcow2", options: ["-c"] },
  { name: "qcow2 with zstd", format: "qcow2", options: ["-c", "-o", "compression_type=zstd"] },
  { name: "vmdk", format: "vmdk", options: [] },
  { name: "vmdk, stream-optimized", format: "vmdk", options: ["-o", "subformat=streamOptimized"] },
  { name: "vhdx", format: "vhdx", options: [] },
  { name: "vhd", format: "vpc", options: [] },
  { name: "vhd, fixed", format: "vpc", options: ["-o", "subformat=fixed"] },
  { name: "vdi", format: "vdi", options: [] },
];

/** By the ending of their files. Quick ones. */
export const EVERY_COMPRESSION: Readonly<Record<"gz" | "zst" | "xz", (plain: Uint8Array) => Buffer>> = {
  gz: (plain) => zlib.gzipSync(plain, { level: 1 }),
  zst: compressWith("zstd", "-1"),
  xz: compressWith("xz", "-0", "-T1"),
};

/** An image of the disk, and the disk that qemu-img sees in it: VHD rounds its size up. */
export function imageIn(
  { format, options }: ImageFormat,
  disk: Buffer,
): { readonly image: Buffer; readonly raw: Buffer } {
  if (format === "raw") return { image: disk, raw: disk };
  const image = imageOf(disk, format, options);
  return { image, raw: rawOf(image, format) };
}
