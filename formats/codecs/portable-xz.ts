/**
 * xz through the WebAssembly decoder of the package xz-decompress.
 *
 * The package's own stream is passed by: it lets only one stream at a time decode in the whole thread (an xz inside an xz
 * would wait for itself), and its memory never shrinks. Its decoder is driven here instead, one instance per stream; the
 * version is pinned. It knows no SHA-256 check, no filter but LZMA2 and no dictionary above 64 MiB: such blocks are
 * refused by name before it sees them.
 */
import { createRequire } from "node:module";
import { FormatError } from "../errors.ts";
import type { Decoder } from "./decoding-stream.ts";
import type { InputWindow } from "./input-window.ts";
import { LZMA2_FILTER, XzWalker } from "./xz-walker.ts";
import type { XzBlock } from "./xz-walker.ts";

/** What the decoder takes besides the dictionary. Measured: the instance starts with 128 KiB and its context takes 192. */
const OVERHEAD = 320 * 1024;
const MAX_DICTIONARY = 64 * 1024 * 1024; // compiled into the package

const SUPPORTED_CHECKS = new Map([
  [0, "none"],
  [1, "CRC32"],
  [4, "CRC64"],
]);
const SHA256_CHECK = 10;

// Results of get_next_output.
const XZ_OK = 0;
const XZ_STREAM_END = 1;

// The context is an array of u32: buffer length, then address, position and length of input, the same of output.
const BUFFER_LENGTH = 0;
const INPUT_ADDRESS = 1;
const INPUT_POSITION = 2;
const INPUT_LENGTH = 3;
const OUTPUT_ADDRESS = 4;
const OUTPUT_POSITION = 5;

interface Exports {
  readonly memory: { readonly buffer: ArrayBuffer };
  create_context(): number;
  destroy_context(context: number): void;
  /** @param length of what was put into the input buffer; 0 says that there is no more */
  supply_input(context: number, length: number): void;
  get_next_output(context: number): number;
}

interface XzPackage {
  readonly XzReadableStream: {
    _getModuleInstance(): Promise<void>;
    _moduleInstance?: { readonly exports: Exports };
  };
}

export class PortableXz implements Decoder {
  finished = false;
  readonly #walker: XzWalker;
  #exports: Exports | undefined;
  #context = 0;
  #outputAt = 0; // of the output buffer, handed out so far
  #closed = false;

  constructor(memoryLimit: number) {
    this.#walker = new XzWalker((block) => checkBlock(block, memoryLimit));
  }

  run(window: InputWindow, into: Uint8Array): number | Promise<number> {
    if (this.#exports === undefined) return this.#start().then(() => this.run(window, into));
    for (;;) {
      const produced = this.#handOut(this.#exports, into);
      if (produced > 0) return produced;
      const fields = this.#fields(this.#exports);
      if (fields[INPUT_POSITION] === fields[INPUT_LENGTH]) {
        if (this.finished || (window.length === 0 && !window.ended)) return 0;
        this.#supply(this.#exports, fields, window);
      }
      this.#decode(this.#exports, window);
    }
  }

  close(): void {
    this.#closed = true;
    if (this.#exports !== undefined) this.#exports.destroy_context(this.#context);
    this.#exports = undefined;
  }

  async #start(): Promise<void> {
    const { XzReadableStream } = createRequire(import.meta.url)("xz-decompress") as XzPackage;
    await XzReadableStream._getModuleInstance();
    const exports = XzReadableStream._moduleInstance?.exports;
    if (exports === undefined) throw new Error("xz-decompress is not the version that it is pinned to");
    if (this.#closed) throw new Error("the stream was closed while it was read");
    this.#exports = exports;
    this.#context = exports.create_context();
  }

  /** Gives what the decoder has put into its output buffer. */
  #handOut(exports: Exports, into: Uint8Array): number {
    const fields = this.#fields(exports);
    const address = fields[OUTPUT_ADDRESS] ?? 0;
    const end = fields[OUTPUT_POSITION] ?? 0;
    const count = Math.min(end - this.#outputAt, into.length);
    if (count > 0) {
      into.set(new Uint8Array(exports.memory.buffer, address + this.#outputAt, count));
      this.#outputAt += count;
    }
    if (this.#outputAt === end) {
      this.#outputAt = 0;
      fields[OUTPUT_POSITION] = 0;
    }
    return count;
  }

  #supply(exports: Exports, fields: Uint32Array, window: InputWindow): void {
    const length = Math.min(fields[BUFFER_LENGTH] ?? 0, window.length);
    const piece = window.bytes().subarray(0, length);
    this.#walker.walk(piece);
    new Uint8Array(exports.memory.buffer, fields[INPUT_ADDRESS], length).set(piece);
    exports.supply_input(this.#context, length);
    window.consume(length);
  }

  #decode(exports: Exports, window: InputWindow): void {
    const result = exports.get_next_output(this.#context);
    if (result === XZ_OK) return;
    if (result === XZ_STREAM_END && window.ended && window.length === 0 && this.#walker.mayEnd) {
      this.finished = true;
      return;
    }
    if (window.ended && window.length === 0 && !this.#walker.mayEnd) {
      throw new FormatError("FORMAT_CORRUPT", "the xz data ends inside a stream, or has junk behind its last one", {
        remedy: "The file is cut short; fetch it again.",
      });
    }
    throw new FormatError("FORMAT_CORRUPT", `the xz data does not decode (xz-embedded ${result})`);
  }

  #fields(exports: Exports): Uint32Array {
    // The memory's buffer is another one after each growth.
    return new Uint32Array(exports.memory.buffer, this.#context, OUTPUT_POSITION + 1);
  }
}

function checkBlock(block: XzBlock, memoryLimit: number): void {
  const required = block.dictionaryLength + OVERHEAD;
  if (required > memoryLimit) {
    throw new FormatError(
      "FORMAT_OUT_OF_BOUNDS",
      `the xz data needs ${required} bytes of memory to decode, and ${memoryLimit} are allowed`,
      {
        remedy: "Raise the memory limit, or compress the image again with a smaller dictionary.",
        context: { required, allowed: memoryLimit },
      },
    );
  }
  if (block.filterIds.length !== 1 || block.filterIds[0] !== LZMA2_FILTER) {
    throw onlyLiblzma(`the xz data uses the filters ${block.filterIds.map((id) => `0x${id.toString(16)}`).join(", ")}`);
  }
  if (!SUPPORTED_CHECKS.has(block.checkId)) {
    const name = block.checkId === SHA256_CHECK ? "SHA-256" : `number ${block.checkId}`;
    throw onlyLiblzma(`the xz data is protected by the check ${name}`);
  }
  if (block.dictionaryLength > MAX_DICTIONARY) {
    throw onlyLiblzma(`the xz data has a dictionary of ${block.dictionaryLength} bytes`);
  }
}

function onlyLiblzma(what: string): FormatError {
  return new FormatError("FORMAT_UNSUPPORTED", `${what}, which the portable decoder does not read`, {
    remedy: "Install liblzma5, which is then used instead.",
  });
}
