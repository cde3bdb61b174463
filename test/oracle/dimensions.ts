/**
 * In what ways an image may be made, wrapped and read: for each format its parameters with their values, and the
 * combinations that qemu-img itself refuses. Data for make-pairs.ts; make-image.ts knows what each value means.
 */

/** A value for each parameter of a format. */
export type Choice = Readonly<Record<string, string>>;

export interface Rule {
  /** Which combinations are impossible; the sentence names why. */
  readonly reason: string;
  readonly forbids: (choice: Choice) => boolean;
}

export interface Dimensions {
  /** What the image file depends on. */
  readonly image: Readonly<Record<string, readonly string[]>>;
  readonly rules: readonly Rule[];
}

/** What the image file does not depend on: the same for every format. */
export const READING: Readonly<Record<string, readonly string[]>> = {
  wrapper: ["none", "gzip", "zstd", "xz"],
  source: ["path", "standard input"],
  threads: ["1", "all"],
  decoders: ["native", "portable"],
};

/** `qemu-img convert`, the same with `-W -m 16`, or the writes of a guest in any order (qemu-io). */
const WRITTEN = ["in order", "out of order", "guest"];

export const FORMATS: Readonly<Record<string, Dimensions>> = {
  raw: {
    image: { holes: ["none", "kept"] },
    rules: [],
  },
  qcow2: {
    image: {
      version: ["2", "3"],
      cluster: ["512", "4k", "64k", "2M"],
      compression: ["none", "zlib", "zstd"],
      extendedL2: ["off", "on"],
      refcountBits: ["1", "4", "16", "64"],
      preallocation: ["off", "metadata", "falloc", "full"],
      written: WRITTEN,
    },
    rules: [
      {
        reason: "version 2 has refcounts of 16 bits",
        forbids: (c) => c["version"] === "2" && c["refcountBits"] !== "16",
      },
      { reason: "version 2 compresses with zlib", forbids: (c) => c["version"] === "2" && c["compression"] === "zstd" },
      {
        reason: "version 2 has no extended L2 entries",
        forbids: (c) => c["version"] === "2" && c["extendedL2"] === "on",
      },
      {
        reason: "a subcluster has 512 bytes at least, so a cluster of extended L2 entries has 16 KiB",
        forbids: (c) => c["extendedL2"] === "on" && (c["cluster"] === "512" || c["cluster"] === "4k"),
      },
      {
        reason: "a cluster that is allocated cannot be written compressed",
        forbids: (c) => c["compression"] !== "none" && c["preallocation"] !== "off",
      },
    ],
  },
  vmdk: {
    image: {
      subformat: ["monolithicSparse", "streamOptimized"],
      zeroedGrain: ["off", "on"],
      written: WRITTEN,
    },
    rules: [
      {
        reason: "a compressed grain is written once",
        forbids: (c) => c["subformat"] === "streamOptimized" && c["written"] === "guest",
      },
    ],
  },
  vpc: {
    image: {
      subformat: ["dynamic", "fixed"],
      forceSize: ["off", "on"],
      written: WRITTEN,
    },
    rules: [],
  },
  vhdx: {
    image: {
      subformat: ["dynamic", "fixed"],
      blockSize: ["1M", "8M", "32M", "256M"],
      log: ["empty", "holds the table"],
      written: WRITTEN,
    },
    rules: [],
  },
  vdi: {
    image: { static: ["off", "on"], written: WRITTEN },
    rules: [],
  },
};

/** Every parameter of a format, those of the image first. */
export function parametersOf(format: string): Readonly<Record<string, readonly string[]>> {
  return { ...dimensionsOf(format).image, ...READING };
}

/** The part of a choice that the image file depends on. */
export function imageChoice(format: string, choice: Choice): Choice {
  const names = Object.keys(dimensionsOf(format).image);
  return Object.fromEntries(Object.entries(choice).filter(([name]) => names.includes(name)));
}

export function dimensionsOf(format: string): Dimensions {
  const found = FORMATS[format];
  if (found === undefined) throw new Error(`no dimensions for ${format}`);
  return found;
}
