/**
 * Images on which calls and requests are counted: the samples, an empty disk of 15 TiB, and disks that a guest wrote in an
 * order of its own.
 */
import { guestImage, writesOf } from "./build-qcow2.ts";
import { sampleBytes } from "./images.ts";

export interface CountedImage {
  readonly name: string;
  readonly make: () => Uint8Array;
}

const SAMPLES = [
  "raw/patterned.raw",
  "qcow2/plain.qcow2",
  "qcow2/cluster-512.qcow2",
  "qcow2/zlib.qcow2",
  "qcow2/zstd.qcow2",
  "qcow2/zero-clusters.qcow2",
  "vmdk/monolithic-sparse.vmdk",
  "vmdk/stream-optimized.vmdk",
  "vpc/dynamic.vhd",
  "vhdx/dynamic.vhdx",
  "vdi/dynamic.vdi",
  "gzip/patterned.raw.gz",
  "zstd/patterned.raw.zst",
  "xz/patterned.qcow2.xz",
  "tar/ustar.tar",
];

const CLUSTERS = Array.from({ length: 256 }, (_, at) => at);

export const EMPTY_15_TIB: CountedImage = {
  name: "empty qcow2 of 15 TiB, clusters of 64 KiB",
  make: () => guestImage("15T", "cluster_size=64k", []),
};

export const COUNTED_IMAGES: readonly CountedImage[] = [
  ...SAMPLES.map((name) => ({ name, make: () => sampleBytes(name) })),
  {
    name: "qcow2 of 256 clusters that a guest wrote from the disk's end to its start",
    make: () => guestImage("64M", "", writesOf(CLUSTERS.map((at) => 255 - at))),
  },
  {
    name: "qcow2 of 256 clusters that a guest wrote all over the disk",
    make: () => guestImage("64M", "", writesOf(CLUSTERS.map((at) => (at * 389) % 1024))),
  },
];

/** JSON with a line for each image. */
export function countLines(counts: Readonly<Record<string, unknown>>): string {
  const rows = Object.entries(counts).map(([name, count]) => `  ${JSON.stringify(name)}: ${JSON.stringify(count)}`);
  return `{\n${rows.join(",\n")}\n}\n`;
}
