/**
 * gzip: members one after the other, then zero padding.
 *
 * Members are framed here, by the letter of the format, so that both decoders accept the same files: node:zlib takes junk
 * behind a member for the end, and ISA-L knows single members only. The decoders see nothing but raw deflate.
 * @see RFC 1952
 */
import { crc32 } from "node:zlib";
import type { ByteStream } from "../byte-stream.ts";
import { FormatError } from "../errors.ts";
import type { Codec, DecodeOptions } from "./codec.ts";
import { DecodingStream } from "./decoding-stream.ts";
import type { Decoder } from "./decoding-stream.ts";
import { checkGzipTrailer, GZIP_TRAILER_LENGTH, gzipHeaderLength, isGzipMagic } from "./gzip-header.ts";
import type { InputWindow } from "./input-window.ts";
import { NodeInflater } from "./node-zlib.ts";
import { openIsalInflater } from "./system/isal.ts";

/** Decodes raw deflate streams, one after the other. */
export interface Inflater {
  /** Begins a new deflate stream at the window's start. */
  begin(): void;
  /** As Decoder.run; consumes up to the stream's end exactly. Throws FormatError FORMAT_CORRUPT. */
  run(window: InputWindow, into: Uint8Array): number | Promise<number>;
  /** True once the stream has ended and all of it was handed out. */
  readonly done: boolean;
  /** CRC-32 of what this stream gave so far, if the decoder reckons it; else the caller does. */
  readonly crc: number | undefined;
  close(): void;
}

export const gzip: Codec = {
  name: "gzip",
  probe: isGzipMagic,
  decode(input: ByteStream, options: DecodeOptions): ByteStream {
    return new DecodingStream(input, new GzipDecoder(options));
  },
};

class GzipDecoder implements Decoder {
  finished = false;
  readonly #options: DecodeOptions;
  #inflater: Inflater | undefined;
  #state: "header" | "body" | "trailer" | "padding" = "header";
  #members = 0;
  #crc = 0;
  #size = 0;

  constructor(options: DecodeOptions) {
    this.#options = options;
  }

  run(window: InputWindow, into: Uint8Array): number | Promise<number> {
    for (;;) {
      if (this.#state === "body") {
        const inflater = this.#inflater as Inflater;
        const produced = inflater.run(window, into);
        if (typeof produced !== "number") return this.#later(inflater, window, into, produced);
        this.#account(inflater, window, into, produced);
        if (produced > 0 || !inflater.done) return produced;
      } else if (!this.#frame(window)) {
        return 0;
      }
    }
  }

  close(): void {
    this.#inflater?.close();
  }

  async #later(inflater: Inflater, window: InputWindow, into: Uint8Array, pending: Promise<number>): Promise<number> {
    const produced = await pending;
    this.#account(inflater, window, into, produced);
    return produced > 0 || !inflater.done ? produced : await this.run(window, into);
  }

  #account(inflater: Inflater, window: InputWindow, into: Uint8Array, produced: number): void {
    if (inflater.crc === undefined) this.#crc = crc32(into.subarray(0, produced), this.#crc);
    this.#size += produced;
    if (inflater.done) {
      this.#crc = inflater.crc ?? this.#crc;
      this.#state = "trailer";
    } else if (produced === 0 && window.ended) {
      throw truncated();
    }
  }

  /** Steps over one header, trailer or run of padding; false if it needs more input, or has finished. */
  #frame(window: InputWindow): boolean {
    if (this.#state === "trailer") return this.#trailer(window);
    if (this.#state === "padding") return this.#padding(window);
    return this.#header(window);
  }

  #header(window: InputWindow): boolean {
    const bytes = window.bytes();
    if (this.#members > 0 && (bytes.length === 0 || bytes[0] === 0)) {
      this.#state = "padding";
      return true;
    }
    if (bytes.length >= 3 && !isGzipMagic(bytes)) {
      throw new FormatError("FORMAT_CORRUPT", "there are bytes after the last gzip member that are not another one");
    }
    const length = gzipHeaderLength(bytes);
    if (length === undefined) {
      if (window.ended) throw truncated();
      return false;
    }
    window.consume(length);
    this.#inflater ??= this.#openInflater();
    this.#inflater.begin();
    this.#members++;
    this.#crc = 0;
    this.#size = 0;
    this.#state = "body";
    return true;
  }

  #trailer(window: InputWindow): boolean {
    if (window.length < GZIP_TRAILER_LENGTH) {
      if (window.ended) throw truncated();
      return false;
    }
    checkGzipTrailer(window.bytes().subarray(0, GZIP_TRAILER_LENGTH), this.#crc, this.#size);
    window.consume(GZIP_TRAILER_LENGTH);
    this.#state = "header";
    return true;
  }

  /** Zeros up to the end, or another member: tapes and `dd` pad to a block. */
  #padding(window: InputWindow): boolean {
    const bytes = window.bytes();
    const next = bytes.findIndex((byte) => byte !== 0);
    window.consume(next === -1 ? bytes.length : next);
    if (next !== -1) {
      this.#state = "header";
      if (bytes[next] !== 0x1f) {
        throw new FormatError("FORMAT_CORRUPT", "there are bytes after the last gzip member that are not padding");
      }
      return true;
    }
    this.finished = window.ended;
    return false;
  }

  #openInflater(): Inflater {
    return (this.#options.decoders === "auto" ? openIsalInflater() : undefined) ?? new NodeInflater();
  }
}

function truncated(): FormatError {
  return new FormatError("FORMAT_CORRUPT", "the gzip data ends before its last member does", {
    remedy: "The file is cut short; fetch it again.",
  });
}
