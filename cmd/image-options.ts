/**
 * Options that every command which opens an image has.
 */
import os from "node:os";
import { InvalidArgumentError, Option } from "commander";
import { DEFAULT_MEMORY_LIMIT } from "../formats/codecs/codec.ts";
import type { DecoderChoice } from "../formats/codecs/codec.ts";
import type { DiskFormat } from "../formats/disk-format.ts";
import { diskFormats } from "../formats/registry.ts";
import { exitMeanings } from "../importer/outcome.ts";
import type { CommandIo } from "./command-io.ts";
import { parseQuantity } from "./quantity.ts";

const MAX_THREADS = 8;

/** Whoever asks for more has mistyped. */
export const MAX_THREADS_ASKED = 64;

export function formatOption(): Option {
  return new Option("--format <name>", "the disk's format; by default its content decides").choices(
    diskFormats.map((format) => format.name),
  );
}

export function memberOption(): Option {
  return new Option("--member <name>", "the file to take from a tar or OVA with several");
}

export function threadsOption(): Option {
  return new Option("--threads <n>", "threads that read, decode and write")
    .default(defaultThreads(), "the usable cores, at most 8")
    .argParser(parseThreads);
}

export function defaultThreads(): number {
  return Math.min(MAX_THREADS, os.availableParallelism());
}

function parseThreads(text: string): number {
  const threads = Number(text);
  if (Number.isInteger(threads) && threads >= 1 && threads <= MAX_THREADS_ASKED) return threads;
  throw new InvalidArgumentError(`It is a whole number from 1 to ${MAX_THREADS_ASKED}.`);
}

/** For options that take bytes. */
export function quantityArgument(text: string): number {
  try {
    return parseQuantity(text);
  } catch (error) {
    throw new InvalidArgumentError(error instanceof Error ? error.message : String(error));
  }
}

export interface ImageOptions {
  readonly format?: DiskFormat["name"];
  readonly member?: string;
}

/** `DECANT_DECODERS=portable` leaves the system's libraries alone. */
export function decoderChoice(io: CommandIo): DecoderChoice {
  return io.env["DECANT_DECODERS"] === "portable" ? "portable" : "auto";
}

/** The most memory for a declared window or dictionary: never above 40 % of the machine's, or the container's. */
export function memoryLimit(): number {
  const constrained = process.constrainedMemory();
  const available = constrained > 0 && constrained < os.totalmem() ? constrained : os.totalmem();
  return Math.min(DEFAULT_MEMORY_LIMIT, Math.floor(available * 0.4));
}

/** The last paragraph of a command's help. */
export function exitCodesHelp(): string {
  return `Exit codes:\n${exitMeanings.map(([exit, meaning]) => `  ${String(exit).padEnd(4)} ${meaning}`).join("\n")}\n`;
}
