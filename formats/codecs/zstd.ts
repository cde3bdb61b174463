/**
 * zstd: frames one after the other, skippable ones anywhere.
 *
 * Each frame's header is read here before a decoder sees it, so that a window beyond the limit is refused with both
 * figures, and a file that ends inside or behind a frame is told apart. node:zlib's stream ends normally behind a
 * skippable frame and between frames; it is fed one frame at a time, as the block headers delimit it.
 * @see RFC 8878
 */
import type { ByteStream } from "../byte-stream.ts";
import { FormatError } from "../errors.ts";
import type { Codec, DecodeOptions } from "./codec.ts";
import { DecodingStream } from "./decoding-stream.ts";
import type { Decoder } from "./decoding-stream.ts";
import type { InputWindow } from "./input-window.ts";
import { NodeZstd } from "./node-zstd.ts";
import { openLibzstd } from "./system/libzstd.ts";
import { checkWindow, isZstdMagic, readFrameHeader } from "./zstd-frame.ts";
import type { ZstdFrame } from "./zstd-frame.ts";

/** Decodes zstd frames, one after the other. */
export interface FrameDecoder {
  /** Begins a frame, whose header is at the window's start and not consumed. */
  begin(frame: ZstdFrame): void;
  /** As Decoder.run; consumes up to the frame's end exactly. Throws FormatError FORMAT_CORRUPT. */
  run(window: InputWindow, into: Uint8Array): number | Promise<number>;
  /** True once the frame has ended and all of it was handed out. */
  readonly done: boolean;
  close(): void;
}

export const zstd: Codec = {
  name: "zstd",
  probe: isZstdMagic,
  decode(input: ByteStream, options: DecodeOptions): ByteStream {
    return new DecodingStream(input, new ZstdDecoder(options));
  },
};

class ZstdDecoder implements Decoder {
  finished = false;
  readonly #options: DecodeOptions;
  #decoder: FrameDecoder | undefined;
  #frame: ZstdFrame | undefined; // the one being decoded
  #size = 0; // of what it gave so far
  #frames = 0;
  #skip = 0; // bytes of a skippable frame to step over

  constructor(options: DecodeOptions) {
    this.#options = options;
  }

  run(window: InputWindow, into: Uint8Array): number | Promise<number> {
    for (;;) {
      if (this.#frame !== undefined) {
        const decoder = this.#decoder as FrameDecoder;
        const produced = decoder.run(window, into);
        if (typeof produced !== "number") return this.#later(decoder, this.#frame, window, into, produced);
        this.#account(decoder, this.#frame, window, produced);
        if (produced > 0 || !decoder.done) return produced;
      } else if (!this.#between(window)) {
        return 0;
      }
    }
  }

  close(): void {
    this.#decoder?.close();
  }

  async #later(
    decoder: FrameDecoder,
    frame: ZstdFrame,
    window: InputWindow,
    into: Uint8Array,
    pending: Promise<number>,
  ): Promise<number> {
    const produced = await pending;
    this.#account(decoder, frame, window, produced);
    return produced > 0 || !decoder.done ? produced : await this.run(window, into);
  }

  #account(decoder: FrameDecoder, frame: ZstdFrame, window: InputWindow, produced: number): void {
    this.#size += produced;
    const { contentSize } = frame;
    if (decoder.done) {
      if (contentSize !== undefined && contentSize !== this.#size) throw wrongSize(contentSize, this.#size);
      this.#frame = undefined;
    } else if (produced === 0 && window.ended) {
      throw truncated();
    } else if (contentSize !== undefined && this.#size > contentSize) {
      throw wrongSize(contentSize, this.#size);
    }
  }

  /** Steps over what lies between frames and begins the next; false if it needs more input, or has finished. */
  #between(window: InputWindow): boolean {
    if (this.#skip > 0) {
      const step = Math.min(this.#skip, window.length);
      window.consume(step);
      this.#skip -= step;
      if (this.#skip > 0 && window.ended) throw truncated();
      return this.#skip === 0;
    }
    if (window.length === 0 && window.ended && this.#frames > 0) {
      this.finished = true;
      return false;
    }
    const frame = readFrameHeader(window.bytes());
    if (frame === undefined) {
      if (window.ended) throw truncated();
      return false;
    }
    this.#frames++;
    if (frame.kind === "skippable") {
      this.#skip = frame.length;
      return true;
    }
    checkWindow(frame, this.#options.memoryLimit);
    this.#decoder ??= this.#openDecoder();
    this.#decoder.begin(frame);
    this.#frame = frame;
    this.#size = 0;
    return true;
  }

  #openDecoder(): FrameDecoder {
    return (this.#options.decoders === "auto" ? openLibzstd()?.frameDecoder() : undefined) ?? new NodeZstd();
  }
}

function truncated(): FormatError {
  return new FormatError("FORMAT_CORRUPT", "the zstd data ends before its last frame does", {
    remedy: "The file is cut short; fetch it again.",
  });
}

function wrongSize(declared: number, actual: number): FormatError {
  return new FormatError("FORMAT_CORRUPT", `a zstd frame of ${declared} bytes gave ${actual}`);
}
