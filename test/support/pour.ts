/**
 * Pours an image that is held in memory through the real engine, in the two ways there are: as a file with random access,
 * and as a stream in whatever pieces a test wants.
 */
import fs from "node:fs";
import path from "node:path";
import type { DecoderChoice } from "../../formats/codecs/codec.ts";
import { DataProcessor } from "../../importer/data-processor.ts";
import type { Report } from "../../importer/data-processor.ts";
import { errorCode } from "../../importer/outcome.ts";
import type { ErrorCode } from "../../importer/outcome.ts";
import { openFile } from "../../importer/sources/file.ts";
import type { Source } from "../../importer/sources/source.ts";
import { openTarget } from "../../importer/targets/open-target.ts";
import { NULL_TARGET } from "../../importer/targets/null.ts";
import { streamOf } from "./streams.ts";
import { plainRun } from "./run-options.ts";

export type Way = "file" | "stream";

export interface PourOptions {
  /** Of a stream: the length of its i-th piece. Default: all at once. */
  readonly pieces?: (piece: number) => number;
  readonly decoders?: DecoderChoice;
  /** False: decode and throw away. */
  readonly keep?: boolean;
  readonly signal?: AbortSignal;
  /** Where image, disk and spill file lie. */
  readonly folder: string;
}

export interface Poured {
  /** Undefined: the disk is complete. */
  readonly code: ErrorCode | undefined;
  readonly error: unknown;
  readonly report: Report | undefined;
  /** The disk, if it was kept and is no longer than MOST_LOADED. */
  readonly disk: Buffer | undefined;
}

/** Longer disks are not read. */
const MOST_LOADED = 64 * 1024 * 1024;

export async function pour(bytes: Uint8Array, way: Way, options: PourOptions): Promise<Poured> {
  const source = way === "stream" ? passingSource(bytes, options) : fileSource(bytes, options.folder);
  return await pourSource(source, options);
}

/** To the file disk.raw in the folder. */
export async function pourSource(source: Source, options: PourOptions): Promise<Poured> {
  const target = options.keep === false ? NULL_TARGET : path.join(options.folder, "disk.raw");
  const processor = new DataProcessor(
    source,
    openTarget(target, { force: true }),
    { ...plainRun, decoders: options.decoders ?? "auto", spillFolder: options.folder },
    options.signal ?? new AbortController().signal,
  );
  try {
    const report = await processor.run();
    const kept = options.keep !== false && report.virtualSize <= MOST_LOADED;
    return { code: undefined, error: undefined, report, disk: kept ? fs.readFileSync(target) : undefined };
  } catch (error) {
    return { code: errorCode(error), error, report: undefined, disk: undefined };
  }
}

function fileSource(bytes: Uint8Array, folder: string): Source {
  const file = path.join(folder, "image");
  fs.writeFileSync(file, bytes);
  return openFile(file);
}

function passingSource(bytes: Uint8Array, options: PourOptions): Source {
  const stream = streamOf(bytes, options.pieces);
  return {
    name: "a stream",
    path: undefined,
    size: undefined,
    file: undefined,
    stream: () => stream,
    close: () => undefined,
  };
}
