/**
 * Reads the decoded contents of a disk in virtual order, in the caller's own thread: for comparing, verifying and digests,
 * where order matters more than speed.
 */
import { createBlockDecoder } from "../formats/codecs/block-decoder.ts";
import type { BlockDecoder } from "../formats/codecs/block-decoder.ts";
import type { DecoderChoice } from "../formats/codecs/codec.ts";
import type { DiskImage, Extent, Stored } from "../formats/disk-format.ts";
import { FormatError } from "../formats/errors.ts";
import { hex } from "../formats/bytes.ts";
import { dataRanges } from "./data-ranges.ts";
import { driveParser } from "./drive-parser.ts";
import type { RandomAccess } from "./random-access.ts";

/** A piece of the disk; without bytes it is zeros. The bytes are valid until the next piece is asked for. */
export interface DiskPiece {
  readonly offset: number;
  readonly length: number;
  readonly bytes: Uint8Array | undefined;
}

/** Pieces with bytes are at most this long. */
export const PIECE_LENGTH = 1024 * 1024;

/** The whole disk: ascending, contiguous pieces. The image's virtual size is known. */
export async function* readPieces(
  image: DiskImage,
  file: RandomAccess,
  decoders: DecoderChoice,
): AsyncGenerator<DiskPiece> {
  const decoder = createBlockDecoder(decoders);
  const reader = new ExtentReader(file, decoder);
  const ranges = dataRanges(file);
  const size = image.virtualSize ?? 0;
  try {
    let offset = 0;
    while (offset < size) {
      for (const extent of await driveParser(image.extents(offset, size - offset), file)) {
        for (const part of ranges.split(extent)) yield* reader.pieces(part);
        offset = extent.offset + extent.length;
      }
    }
  } finally {
    decoder.close();
  }
}

class ExtentReader {
  readonly #file: RandomAccess;
  readonly #decoder: BlockDecoder;
  #stored = new Uint8Array(PIECE_LENGTH);
  #decoded = new Uint8Array(0);

  constructor(file: RandomAccess, decoder: BlockDecoder) {
    this.#file = file;
    this.#decoder = decoder;
  }

  async *pieces(extent: Extent): AsyncGenerator<DiskPiece> {
    const { offset, length } = extent;
    if (extent.kind !== "data") yield { offset, length, bytes: undefined };
    else if (extent.stored.encoding === "inline") yield { offset, length, bytes: extent.stored.bytes };
    else if (extent.stored.encoding === "plain") yield* this.#plain(offset, length, extent.stored.offset);
    else yield { offset, length, bytes: await this.#decode(extent.stored, offset, length) };
  }

  async *#plain(offset: number, length: number, hostOffset: number): AsyncGenerator<DiskPiece> {
    for (let at = 0; at < length; at += PIECE_LENGTH) {
      const bytes = await this.#read(hostOffset + at, Math.min(PIECE_LENGTH, length - at));
      if (bytes.length < Math.min(PIECE_LENGTH, length - at)) throw beyondEnd(offset + at);
      yield { offset: offset + at, length: bytes.length, bytes };
    }
  }

  async #decode(
    stored: Exclude<Stored, { encoding: "plain" | "inline" }>,
    offset: number,
    length: number,
  ): Promise<Uint8Array> {
    if (this.#decoded.length < stored.decodedLength) this.#decoded = new Uint8Array(stored.decodedLength);
    const into = this.#decoded.subarray(0, stored.decodedLength);
    const bytes = await this.#read(stored.offset, stored.length);
    try {
      this.#decoder.decode(stored.encoding, bytes, into, stored.skip + length);
    } catch (error) {
      if (!(error instanceof FormatError)) throw error;
      throw new FormatError(error.code, `compressed data of the disk at ${hex(offset)} does not decode`, {
        cause: error,
      });
    }
    return into.subarray(stored.skip, stored.skip + length);
  }

  async #read(hostOffset: number, length: number): Promise<Uint8Array> {
    if (this.#stored.length < length) this.#stored = new Uint8Array(length);
    const into = this.#stored.subarray(0, length);
    return into.subarray(0, await this.#file.readAt(into, hostOffset));
  }
}

function beyondEnd(offset: number): FormatError {
  return new FormatError("FORMAT_CORRUPT", `data of the disk at ${hex(offset)} lies beyond the end of the image`);
}
