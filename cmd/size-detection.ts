#!/usr/bin/env node
/**
 * The program that CDI's controller starts to learn how large the disk in a claim is: `cdi-image-size-detection`. The disk's
 * size in bytes goes out as the termination message, what went wrong as the exit status and in the log.
 *
 * The image is taken as it is, like `qemu-img info` would: nothing is unwrapped. Only the headers are read.
 */
import { parseArgs } from "node:util";
import { HEAD_LENGTH, TAIL_LENGTH } from "../formats/disk-format.ts";
import { FormatError } from "../formats/errors.ts";
import { detectFormat } from "../formats/registry.ts";
import { driveParser } from "../importer/drive-parser.ts";
import { SourceError, UsageError } from "../importer/errors.ts";
import { openFile } from "../importer/sources/file.ts";
import { openLog, writeToStandardError } from "../importer/worker/log.ts";
import { workerPaths } from "../importer/worker/paths.ts";
import { writeTerminationLog } from "../importer/worker/termination-log.ts";
import { processIo } from "./command-io.ts";
import type { CommandIo } from "./command-io.ts";

/** The contract's. */
const EXITS = { found: 0, wrongArguments: 1, wrongFile: 2, wrongPath: 3, messageNotWritten: 4, unknown: 5 } as const;

const SCHEME = "file://";

const io = processIo();
io.exit(await run(process.argv.slice(2), io));

async function run(args: readonly string[], { env }: CommandIo): Promise<number> {
  const log = openLog({ verbosity: 0, write: writeToStandardError, now: () => new Date() });
  let size: number;
  try {
    size = await readVirtualSize(readImagePath(args));
  } catch (error) {
    log.error("the size of the image is not known", error);
    return exitOf(error);
  }
  log.info("the size of the image is known", { virtualSize: size });
  const path = workerPaths(env).terminationLog;
  try {
    writeTerminationLog(path, String(size));
    return EXITS.found;
  } catch (error) {
    log.error("the termination message cannot be written", error, { path });
    return EXITS.messageNotWritten;
  }
}

/** @throws UsageError */
function readImagePath(args: readonly string[]): string {
  const { "image-path": path = "", scheme } = parse(args);
  if (path === "") throw new UsageError("-image-path is missing");
  if (scheme !== SCHEME && scheme !== "") {
    throw new UsageError(`-scheme=${scheme.slice(0, 100)} is not supported; ${SCHEME} is`);
  }
  return path;
}

function parse(args: readonly string[]): { readonly "image-path"?: string | undefined; readonly scheme: string } {
  // The Go program whose place this takes writes its flags with one dash.
  const twoDashes = args.map((arg) => (/^-[a-z]{2}/.test(arg) ? `-${arg}` : arg));
  try {
    const options = { "image-path": { type: "string" }, scheme: { type: "string", default: SCHEME } } as const;
    return parseArgs({ args: twoDashes, options, strict: true, allowPositionals: false }).values;
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

/** Bytes. @throws SourceError, FormatError */
async function readVirtualSize(path: string): Promise<number> {
  const source = openFile(path);
  try {
    const { file } = source;
    if (file === undefined) throw new SourceError("SOURCE_UNAVAILABLE", `${path} is neither a file nor a block device`);
    const head = new Uint8Array(Math.min(HEAD_LENGTH, file.size));
    const tail = new Uint8Array(Math.min(TAIL_LENGTH, file.size));
    await file.readAt(head, 0);
    await file.readAt(tail, file.size - tail.length);
    const image = await driveParser(detectFormat(head, tail).open(file.size), file);
    if (image.virtualSize === undefined) throw new Error("an image in a file has a size");
    return image.virtualSize;
  } finally {
    source.close();
  }
}

function exitOf(error: unknown): number {
  if (error instanceof UsageError) return EXITS.wrongArguments;
  if (error instanceof SourceError && error.code === "SOURCE_NOT_FOUND") return EXITS.wrongPath;
  return error instanceof FormatError || error instanceof SourceError ? EXITS.wrongFile : EXITS.unknown;
}
