/**
 * zstd through libzstd: frames of a stream, and single frames for clusters.
 *
 * CPU time for 1 GiB of words, random bytes and zeros (242 MB as `zstd -3` writes it): 1.9 s, `zstd -d` 2.3 s, node:zlib
 * 3.4 s.
 * @see zstd.h of libzstd
 */
import { viewOf } from "../../bytes.ts";
import { FormatError } from "../../errors.ts";
import type { InputWindow } from "../input-window.ts";
import type { FrameDecoder } from "../zstd.ts";
import type { ZstdFrame } from "../zstd-frame.ts";
import { bindOr, openLibrary } from "./koffi.ts";
import type { SystemLibrary } from "./koffi.ts";

const LIBZSTD_SONAMES = ["libzstd.so.1"] as const;

const ZSTD_D_WINDOW_LOG_MAX = 100; // ZSTD_dParameter
const LARGEST_WINDOW_LOG = 31; // the window was compared with the caller's limit before

// struct ZSTD_inBuffer and ZSTD_outBuffer: { pointer, size_t size, size_t pos }; one of each, side by side.
const INPUT = 0;
const OUTPUT = 24;
const SIZE = 8;
const POSITION = 16;

/** A size_t: a bigint only where it is above 2^53, as the error codes are, which are negative. */
type Size = number | bigint;

interface Functions {
  readonly create: () => bigint | null;
  readonly free: (context: bigint) => Size;
  readonly setParameter: (context: bigint, parameter: number, value: number) => Size;
  readonly reset: (context: bigint, directive: number) => Size;
  readonly stream: (context: bigint, output: bigint, input: bigint) => Size;
  readonly decode: (context: bigint, output: Uint8Array, capacity: number, input: Uint8Array, length: number) => Size;
  readonly errorName: (code: Size) => string;
  readonly version: () => string;
}

export interface Libzstd {
  readonly version: string;
  frameDecoder(): FrameDecoder;
  blockContext(): ZstdContext;
}

/** A decompression context, freed by `close`. */
export interface ZstdContext {
  /**
   * Decodes exactly one frame.
   * @returns how many bytes it gave, or undefined if it does not decode or does not fit
   */
  decode(frame: Uint8Array, output: Uint8Array): number | undefined;
  close(): void;
}

/** Undefined where the library or koffi is not installed. */
export function openLibzstd(): Libzstd | undefined {
  const library = openLibrary(LIBZSTD_SONAMES);
  if (library === undefined) return undefined;
  const { handle } = library;
  const functions = bindOr<Functions>(() => ({
    create: handle.func("ZSTD_createDCtx", "void *", []),
    free: handle.func("ZSTD_freeDCtx", "size_t", ["void *"]),
    setParameter: handle.func("ZSTD_DCtx_setParameter", "size_t", ["void *", "int", "int"]),
    reset: handle.func("ZSTD_DCtx_reset", "size_t", ["void *", "int"]),
    stream: handle.func("ZSTD_decompressStream", "size_t", ["void *", "void *", "void *"]),
    decode: handle.func("ZSTD_decompressDCtx", "size_t", ["void *", "void *", "size_t", "void *", "size_t"]),
    errorName: handle.func("ZSTD_getErrorName", "str", ["size_t"]),
    version: handle.func("ZSTD_versionString", "str", []),
  }));
  if (functions === undefined) return undefined;
  return {
    version: functions.version(),
    frameDecoder: () => new LibzstdStream(library, functions),
    blockContext: () => createBlockContext(functions),
  };
}

class LibzstdStream implements FrameDecoder {
  done = false;
  readonly #library: SystemLibrary;
  readonly #functions: Functions;
  #context: bigint | undefined;
  /** The most that the first call for a frame may give. */
  #firstOutput = Infinity;
  readonly #buffers = new Uint8Array(new ArrayBuffer(48));
  readonly #fields = viewOf(this.#buffers);
  readonly #buffersAddress: bigint;

  constructor(library: SystemLibrary, functions: Functions) {
    this.#library = library;
    this.#functions = functions;
    this.#buffersAddress = library.address(this.#buffers);
    this.#context = createContext(functions);
    functions.setParameter(this.#context, ZSTD_D_WINDOW_LOG_MAX, LARGEST_WINDOW_LOG);
  }

  /**
   * A frame that is all there and fits the output is decoded in one go by libzstd, and 1.5.4 then refuses every frame with
   * a compressed block ("Src size is incorrect"). One byte less of output keeps it from trying.
   */
  begin({ contentSize }: ZstdFrame): void {
    this.done = false;
    this.#firstOutput = contentSize === undefined || contentSize < 2 ? Infinity : contentSize - 1;
  }

  run(window: InputWindow, into: Uint8Array): number {
    if (this.#context === undefined) throw new Error("a zstd context was used after it was freed");
    const fields = this.#fields;
    const windowAddress = this.#library.address(window.buffer);
    fields.setBigUint64(INPUT, windowAddress + BigInt(window.start), true);
    setSize(fields, INPUT + SIZE, window.length);
    setSize(fields, INPUT + POSITION, 0);
    fields.setBigUint64(OUTPUT, this.#library.address(into), true);
    setSize(fields, OUTPUT + SIZE, Math.min(into.length, this.#firstOutput));
    this.#firstOutput = Infinity;
    setSize(fields, OUTPUT + POSITION, 0);
    const status = this.#functions.stream(
      this.#context,
      this.#buffersAddress + BigInt(OUTPUT),
      this.#buffersAddress + BigInt(INPUT),
    );
    if (isError(status)) {
      const reason = this.#functions.errorName(status);
      throw new FormatError("FORMAT_CORRUPT", `a zstd frame does not decode (libzstd: ${reason})`);
    }
    window.consume(fields.getUint32(INPUT + POSITION, true));
    // Zero means that the frame is decoded and flushed. Without a byte of the frame it would only mean "not begun".
    this.done = status === 0;
    return fields.getUint32(OUTPUT + POSITION, true);
  }

  close(): void {
    if (this.#context !== undefined) this.#functions.free(this.#context);
    this.#context = undefined;
  }
}

function createBlockContext(functions: Functions): ZstdContext {
  let context: bigint | undefined = createContext(functions);
  return {
    decode(frame, output) {
      if (context === undefined) throw new Error("a zstd context was used after it was freed");
      const size = functions.decode(context, output, output.length, frame, frame.length);
      return isError(size) ? undefined : Number(size);
    },
    close() {
      if (context !== undefined) functions.free(context);
      context = undefined;
    },
  };
}

function createContext(functions: Functions): bigint {
  const context = functions.create();
  if (context === null) throw new Error("libzstd could not allocate a context");
  return context;
}

function isError(size: Size): boolean {
  return typeof size === "bigint";
}

function setSize(fields: DataView, at: number, value: number): void {
  fields.setUint32(at, value, true);
  fields.setUint32(at + 4, 0, true);
}
