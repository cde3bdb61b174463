/**
 * One run: what the steps of the phase machine share.
 */
import type { DecoderChoice } from "../formats/codecs/codec.ts";
import type { DiskFormat, DiskImage, Warning } from "../formats/disk-format.ts";
import { FormatError } from "../formats/errors.ts";
import type { Checksum, ChecksummedStream } from "./checksum.ts";
import type { CountedStream } from "./counted-stream.ts";
import type { JobPool } from "./engine/job-pool.ts";
import type { StreamPour } from "./engine/pour-stream.ts";
import type { ZeroRanges } from "./engine/zero-ranges.ts";
import { Interrupted } from "./errors.ts";
import type { RandomAccess } from "./random-access.ts";
import type { SecondReading } from "./second-reading.ts";
import type { Source } from "./sources/source.ts";
import type { SpillPlace } from "./spill-file.ts";
import type { EarlyFlush } from "./targets/early-flush.ts";
import type { Target } from "./targets/target.ts";
import type { Unpacked } from "./unpack/unpack-archive.ts";
import type { Unwrapped } from "./unwrap.ts";

export interface RunOptions {
  /**
   * The disk's size at the end for an image of this virtual size; both in bytes. Never less than the image's. Asked before
   * the first byte is written, if it is known then, and at the end.
   * @throws UsageError, TargetError TARGET_TOO_SMALL
   */
  readonly finalSize: (virtualSize: number) => number;
  readonly format: DiskFormat["name"] | undefined;
  readonly member: string | undefined;
  /** False: a tar is a raw disk like any other file, as CDI's importer has it. */
  readonly archives: boolean;
  readonly checksum: Checksum | undefined;
  /** Read the target again and compare it with the source, decoded a second time. */
  readonly verify: boolean;
  /** SHA-256 of the disk. */
  readonly digest: boolean;
  /** Ranges have failed. */
  readonly asOneStream?: boolean;
  readonly threads: number;
  readonly decoders: DecoderChoice;
  /** Warnings are errors. */
  readonly strict: boolean;
  /** Bytes that a zstd window or an xz dictionary may take. */
  readonly memoryLimit: number;
  /** Where a stream's spill file goes, should it need one. */
  readonly spillFolder: SpillPlace;
  /**
   * For a stream whose disk's size only its end tells: called with what it is at least.
   * @throws TargetError TARGET_TOO_SMALL as soon as it is certain
   */
  readonly checkRoom?: (leastSize: number) => void;
  /**
   * Path of a folder that exists: the source is a tar, compressed or not, whose tree is unpacked into it. No disk is made, and
   * the target is not used: give it `null:`. Format, member, size, verification and digest mean nothing then. After a wrong
   * checksum the folder is empty; after another failure what was unpacked stays, and the next run replaces it.
   */
  readonly unpackInto?: string | undefined;
}

export interface Run {
  readonly options: RunOptions;
  readonly source: Source;
  readonly target: Target;
  readonly signal: AbortSignal;

  /** Set by Info. */
  unwrapped?: Unwrapped;
  image?: DiskImage;
  /** What is read in ranges over the network. */
  remote?: RandomAccess | undefined;
  /** The source's own bytes, where they pass as a stream. */
  counted?: CountedStream;
  checksummed?: ChecksummedStream | undefined;
  stream?: StreamPour;
  /** Where the options ask for it. */
  secondReading?: SecondReading;
  /** Time that taking off wrappers has cost so far, where a stream passes. */
  unwrapMs?: () => number;

  /** Set when the first byte is about to be written. */
  pool?: JobPool;
  zeros?: ZeroRanges;
  earlyFlush?: EarlyFlush;

  /** Bytes of the disk that the image does not store, as far as its map was read. */
  holes?: number;

  /** Bytes; set once it is certain. */
  virtualSize?: number | undefined;
  digest?: string;
  /** Time that it took until all was safely in its place. */
  flushMs?: number;

  /** Set by Transfer, where there is no disk. */
  unpacked?: Unpacked;
}

/** What was odd about the image and its wrappers so far. */
export function warningsOf(run: Run): readonly Warning[] {
  const { unwrapped, image, unpacked } = run;
  return [...(unwrapped?.warnings ?? []), ...(image?.warnings ?? []), ...(unpacked?.warnings ?? [])];
}

/** @throws FormatError FORMAT_INVALID at the first warning, with --strict */
export function refuseWarnings(run: Run): void {
  const [first, ...others] = warningsOf(run);
  if (first === undefined || !run.options.strict) return;
  throw new FormatError("FORMAT_INVALID", `${first.message} [${first.code}]`, {
    remedy: "Without --strict this is a warning.",
    context: { warnings: [first, ...others].map((warning) => warning.code) },
  });
}

/**
 * For work that takes long or cannot be taken back, while the run may have been told to stop.
 * @throws Interrupted
 */
export function stopIfInterrupted(run: Run): void {
  if (run.signal.aborted) throw new Interrupted();
}

/** Time spent waiting for the source's own bytes, where they pass as a stream. */
export function sourceWaitMs({ source, counted }: Run): number {
  return source.transferred?.().waitedMs ?? counted?.waitedMs ?? 0;
}

/** A value that an earlier step has set. */
export function must<T>(value: T | undefined, what: string): T {
  if (value === undefined) throw new Error(`${what} is not there yet`);
  return value;
}
