/**
 * What a codec is: it turns a stream of bytes into a stream of bytes, and is known by its first bytes.
 *
 * A decoded stream ends (`read` answers 0) only after the compressed data has ended properly: its trailer checked,
 * nothing but what the format allows after it. Truncation, a wrong check value and junk are FORMAT_CORRUPT.
 */
import type { ByteStream } from "../byte-stream.ts";

/** `auto`: the system's shared libraries where they are on the machine. `portable`: JavaScript and WebAssembly only. */
export type DecoderChoice = "auto" | "portable";

export interface DecodeOptions {
  readonly decoders: DecoderChoice;
  /**
   * The most bytes that a file's declared window (zstd) or decoder memory (xz) may take.
   * A file that declares more is FORMAT_OUT_OF_BOUNDS with both figures, before anything is allocated.
   */
  readonly memoryLimit: number;
}

/** The default of `DecodeOptions.memoryLimit`. */
export const DEFAULT_MEMORY_LIMIT = 512 * 1024 * 1024;

export interface Codec {
  readonly name: "gzip" | "zstd" | "xz" | "bzip2" | "lzma";
  /** @param head the first bytes of the stream: up to 64 KiB, fewer only if it ends before */
  probe(head: Uint8Array): boolean;
  /**
   * @param input the compressed bytes from their first; the decoded stream owns and closes it
   * @throws FormatError from `read`: FORMAT_CORRUPT, FORMAT_OUT_OF_BOUNDS (memory limit), FORMAT_UNSUPPORTED (named)
   */
  decode(input: ByteStream, options: DecodeOptions): ByteStream;
}
