/**
 * xz through liblzma, with its multi-threaded decoder where it has one (5.4).
 *
 * liblzma frames the file itself: streams, padding, index and checks. It compares what a block asks for with the limit
 * before it allocates.
 *
 * CPU time for 256 MiB (61 MB as `xz -1` writes it): 4.2 s, `xz -d` 3.9 s, the portable decoder 6.2 s.
 * @see lzma/base.h, lzma/container.h of XZ Utils
 */
import { viewOf } from "../../bytes.ts";
import { FormatError } from "../../errors.ts";
import type { Decoder } from "../decoding-stream.ts";
import type { InputWindow } from "../input-window.ts";
import { XzWalker } from "../xz-walker.ts";
import { bindOr, openLibrary } from "./koffi.ts";
import type { SystemLibrary } from "./koffi.ts";

const LIBLZMA_SONAMES = ["liblzma.so.5"] as const;

// lzma_stream, offsets in bytes.
const NEXT_IN = 0;
const AVAIL_IN = 8;
const NEXT_OUT = 24;
const AVAIL_OUT = 32;
const STREAM_LENGTH = 136;

// lzma_mt, offsets in bytes.
const MT_FLAGS = 0;
const MT_THREADS = 4;
const MT_MEMLIMIT_THREADING = 64;
const MT_MEMLIMIT_STOP = 72;
const MT_LENGTH = 128;

const LZMA_TELL_UNSUPPORTED_CHECK = 0x02;
const LZMA_CONCATENATED = 0x08;

const LZMA_RUN = 0;
const LZMA_FINISH = 3;

const LZMA_OK = 0;
const LZMA_STREAM_END = 1;
const LZMA_UNSUPPORTED_CHECK = 3;
const LZMA_MEM_ERROR = 5;
const LZMA_MEMLIMIT_ERROR = 6;
const LZMA_OPTIONS_ERROR = 8;
const LZMA_BUF_ERROR = 10;

const OVERHEAD = 64 * 1024; // of the LZMA2 decoder, besides the dictionary

const MAX_THREADS = 8;
// Blocks decoded at once are held whole. This is enough for two of `xz -6 -T0` (24 MiB each, 68 MiB measured for both);
// what does not fit is decoded with fewer threads.
// For 929 MiB in blocks of 16 MiB, two cores (`xz -T0` 8.7 s, `xz -T1` 15.8 s): 8.9 s and 192 MB resident with 96 MiB, 9.5 s and
// 175 MB with 64, 11.1 s and 169 MB with 56, 12.0 s and 158 MB with 48.
const MAX_THREADING_MEMORY = 96 * 1024 * 1024;

interface Functions {
  readonly decoder: (stream: Uint8Array, memoryLimit: number, flags: number) => number;
  readonly decoderMt: ((stream: Uint8Array, options: Uint8Array) => number) | undefined;
  readonly code: (stream: Uint8Array, action: number) => number;
  readonly end: (stream: Uint8Array) => void;
  readonly memoryUsage: (stream: Uint8Array) => number | bigint;
  readonly check: (stream: Uint8Array) => number;
  readonly threads: (() => number) | undefined;
  readonly version: () => string;
}

export interface Liblzma {
  readonly version: string;
  streamDecoder(memoryLimit: number): Decoder;
}

/** Undefined where the library or koffi is not installed. */
export function openLiblzma(): Liblzma | undefined {
  const library = openLibrary(LIBLZMA_SONAMES);
  if (library === undefined) return undefined;
  const { handle } = library;
  const functions = bindOr<Functions>(() => ({
    decoder: handle.func("lzma_stream_decoder", "int", ["void *", "uint64_t", "uint32_t"]),
    decoderMt: bindOr(() => handle.func("lzma_stream_decoder_mt", "int", ["void *", "void *"])),
    code: handle.func("lzma_code", "int", ["void *", "int"]),
    end: handle.func("lzma_end", "void", ["void *"]),
    memoryUsage: handle.func("lzma_memusage", "uint64_t", ["void *"]),
    check: handle.func("lzma_get_check", "int", ["void *"]),
    threads: bindOr(() => handle.func("lzma_cputhreads", "uint32_t", [])),
    version: handle.func("lzma_version_string", "str", []),
  }));
  if (functions === undefined) return undefined;
  return {
    version: functions.version(),
    streamDecoder: (memoryLimit) => new LiblzmaStream(library, functions, memoryLimit),
  };
}

class LiblzmaStream implements Decoder {
  finished = false;
  /**
   * Threads wait for input, and liblzma for their output as soon as it has none left to give them. Asked for output first, it
   * had one block at work at a time: 15.7 s for what now takes 8.9.
   */
  worksAhead = false;
  readonly #library: SystemLibrary;
  readonly #functions: Functions;
  readonly #memoryLimit: number;
  readonly #stream = new Uint8Array(new ArrayBuffer(STREAM_LENGTH));
  readonly #fields = viewOf(this.#stream);
  // Walks over what liblzma has taken, for the figure that its multi-threaded decoder does not give (5.4.1 says 32 KiB).
  readonly #walker = new XzWalker((block) => {
    this.#dictionaryLength = block.dictionaryLength;
  });
  #dictionaryLength = 0;
  #isOpen = false;
  #isClosed = false;

  constructor(library: SystemLibrary, functions: Functions, memoryLimit: number) {
    this.#library = library;
    this.#functions = functions;
    this.#memoryLimit = memoryLimit;
  }

  run(window: InputWindow, into: Uint8Array): number {
    for (;;) {
      const produced = this.#step(window, into);
      // liblzma says that it cannot go on only when it is asked a second time.
      if (produced > 0 || this.finished || !window.ended) return produced;
    }
  }

  close(): void {
    if (this.#isOpen) this.#functions.end(this.#stream);
    this.#isOpen = false;
    this.#isClosed = true;
  }

  #step(window: InputWindow, into: Uint8Array): number {
    if (this.#isClosed) throw new Error("an xz decoder was used after it was freed");
    if (!this.#isOpen) this.#open();
    const fields = this.#fields;
    const available = window.length;
    const windowAddress = this.#library.address(window.buffer);
    fields.setBigUint64(NEXT_IN, windowAddress + BigInt(window.start), true);
    fields.setUint32(AVAIL_IN, available, true);
    fields.setBigUint64(NEXT_OUT, this.#library.address(into), true);
    fields.setBigUint64(AVAIL_OUT, BigInt(into.length), true);
    const status = this.#functions.code(this.#stream, window.ended ? LZMA_FINISH : LZMA_RUN);
    const taken = available - fields.getUint32(AVAIL_IN, true);
    if (status === LZMA_OK || status === LZMA_MEMLIMIT_ERROR) this.#walker.walk(window.bytes().subarray(0, taken));
    window.consume(taken);
    const produced = into.length - fields.getUint32(AVAIL_OUT, true);
    if (status === LZMA_STREAM_END) this.finished = true;
    else if (status === LZMA_BUF_ERROR && !window.ended) return produced; // it only wants input
    else if (status !== LZMA_OK) throw this.#failure(status);
    return produced;
  }

  #open(): void {
    const status = this.#openThreaded() ?? this.#functions.decoder(this.#stream, this.#memoryLimit, flags());
    if (status !== LZMA_OK) throw new Error(`liblzma does not start: ${status}`);
    this.#isOpen = true;
  }

  #openThreaded(): number | undefined {
    const { decoderMt, threads } = this.#functions;
    const count = Math.min(threads?.() ?? 1, MAX_THREADS);
    if (decoderMt === undefined || count < 2) return undefined;
    const options = new Uint8Array(new ArrayBuffer(MT_LENGTH));
    const fields = viewOf(options);
    fields.setUint32(MT_FLAGS, flags(), true);
    fields.setUint32(MT_THREADS, count, true);
    fields.setBigUint64(MT_MEMLIMIT_THREADING, BigInt(Math.min(MAX_THREADING_MEMORY, this.#memoryLimit)), true);
    fields.setBigUint64(MT_MEMLIMIT_STOP, BigInt(this.#memoryLimit), true);
    this.worksAhead = true;
    return decoderMt(this.#stream, options);
  }

  #failure(status: number): FormatError {
    if (status === LZMA_MEMLIMIT_ERROR) {
      const required = Math.max(Number(this.#functions.memoryUsage(this.#stream)), this.#dictionaryLength + OVERHEAD);
      const allowed = this.#memoryLimit;
      return new FormatError(
        "FORMAT_OUT_OF_BOUNDS",
        `the xz data needs ${required} bytes of memory to decode, and ${allowed} are allowed`,
        {
          remedy: "Raise the memory limit, or compress the image again with a smaller dictionary.",
          context: { required, allowed },
        },
      );
    }
    if (status === LZMA_BUF_ERROR) {
      return new FormatError("FORMAT_CORRUPT", "the xz data ends inside a stream, or has junk behind its last one", {
        remedy: "The file is cut short; fetch it again.",
      });
    }
    if (status === LZMA_UNSUPPORTED_CHECK) {
      const check = this.#functions.check(this.#stream);
      return new FormatError("FORMAT_UNSUPPORTED", `the xz data is protected by the unknown check number ${check}`);
    }
    if (status === LZMA_OPTIONS_ERROR) {
      return new FormatError("FORMAT_UNSUPPORTED", "the xz data uses a filter or a flag that liblzma does not know");
    }
    if (status === LZMA_MEM_ERROR) {
      return new FormatError("FORMAT_OUT_OF_BOUNDS", "there is not enough memory to decode the xz data");
    }
    return new FormatError("FORMAT_CORRUPT", `the xz data does not decode (liblzma ${status})`);
  }
}

function flags(): number {
  return LZMA_CONCATENATED | LZMA_TELL_UNSUPPORTED_CHECK;
}
