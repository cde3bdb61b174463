/**
 * The framing of zstd data: frame headers, block headers, skippable frames. No decoding.
 *
 * It tells how much memory a frame asks for before any is spent, and where each frame ends, which node:zlib does not.
 * @see RFC 8878, 3.1
 */
import { hex, u64le, viewOf } from "../bytes.ts";
import { FormatError } from "../errors.ts";

/** The longest frame header; also more than a skippable frame's. */
export const MAX_FRAME_HEADER_LENGTH = 18;
/** libzstd's limit on 64-bit machines, whatever memory there is: ZSTD_WINDOWLOG_MAX. */
const MAX_WINDOW_LENGTH = 2 ** 31;

export interface SkippableFrame {
  readonly kind: "skippable";
  /** Header and content. */
  readonly length: number;
}

export interface ZstdFrame {
  readonly kind: "frame";
  readonly headerLength: number;
  /** Bytes of history that the decoder keeps. */
  readonly windowLength: number;
  /** Length of the decoded content, if the header has it. */
  readonly contentSize: number | undefined;
  readonly hasChecksum: boolean;
}

const FRAME_MAGIC = 0xfd2fb528;
const SKIPPABLE_MAGIC = 0x184d2a50; // to …5f
const LZ4_MAGIC = 0x184d2204;

const DICTIONARY_ID_LENGTHS = [0, 1, 2, 4] as const;
const CONTENT_SIZE_LENGTHS = [0, 2, 4, 8] as const;

const BLOCK_RLE = 1;
const BLOCK_RESERVED = 3;
const MAX_BLOCK_LENGTH = 128 * 1024;

/** True if `bytes` begin with a zstd frame or a skippable one (which LZ4 has too, but then never first in practice). */
export function isZstdMagic(bytes: Uint8Array): boolean {
  if (bytes.length < 4) return false;
  const magic = viewOf(bytes).getUint32(0, true);
  return magic === FRAME_MAGIC || isSkippable(magic);
}

function isSkippable(magic: number): boolean {
  return magic >= SKIPPABLE_MAGIC && magic <= SKIPPABLE_MAGIC + 15;
}

/**
 * Reads the header at the start of `bytes`.
 * @returns undefined if the header goes on behind `bytes`
 * @throws FormatError FORMAT_CORRUPT (no frame begins here), FORMAT_UNSUPPORTED (a dictionary is needed)
 */
export function readFrameHeader(bytes: Uint8Array): SkippableFrame | ZstdFrame | undefined {
  if (bytes.length < 4) return undefined;
  const view = viewOf(bytes);
  const magic = view.getUint32(0, true);
  if (isSkippable(magic)) {
    return bytes.length < 8 ? undefined : { kind: "skippable", length: 8 + view.getUint32(4, true) };
  }
  if (magic !== FRAME_MAGIC) throw notAFrame(magic);
  if (bytes.length < 5) return undefined;
  const descriptor = view.getUint8(4);
  const isSingleSegment = (descriptor & 0x20) !== 0;
  const dictionaryIdLength = DICTIONARY_ID_LENGTHS[descriptor & 3] ?? 0;
  const contentSizeFlag = descriptor >> 6;
  const contentSizeLength = contentSizeFlag === 0 && isSingleSegment ? 1 : (CONTENT_SIZE_LENGTHS[contentSizeFlag] ?? 0);
  const dictionaryIdAt = isSingleSegment ? 5 : 6;
  const contentSizeAt = dictionaryIdAt + dictionaryIdLength;
  const headerLength = contentSizeAt + contentSizeLength;
  if (bytes.length < headerLength) return undefined;
  if ((descriptor & 0x08) !== 0) {
    throw new FormatError("FORMAT_UNSUPPORTED", "a zstd frame header has its reserved bit set");
  }
  refuseDictionary(view, dictionaryIdAt, dictionaryIdLength);
  const contentSize = readContentSize(view, contentSizeAt, contentSizeLength);
  const windowLength = isSingleSegment ? (contentSize ?? 0) : windowLengthOf(view.getUint8(5));
  return { kind: "frame", headerLength, windowLength, contentSize, hasChecksum: (descriptor & 0x04) !== 0 };
}

/**
 * Compares the memory that a frame asks for with what it may have.
 * @throws FormatError FORMAT_OUT_OF_BOUNDS with both figures
 */
export function checkWindow(frame: ZstdFrame, limit: number): void {
  const allowed = Math.min(limit, MAX_WINDOW_LENGTH);
  if (frame.windowLength <= allowed) return;
  throw new FormatError(
    "FORMAT_OUT_OF_BOUNDS",
    `the zstd frame needs a window of ${frame.windowLength} bytes, and ${allowed} are allowed`,
    {
      remedy: "Raise the memory limit, or compress the image again without --long or --ultra.",
      context: { required: frame.windowLength, allowed },
    },
  );
}

/** Walks the blocks of one frame, in pieces of any size, to find where it ends. */
export class FrameWalker {
  /** True once the frame's end has been reached. */
  done = false;
  #skip: number; // bytes of header, block content or checksum to step over
  #headerBytes = 0; // of the current block header, bytes seen
  #header = 0;
  #isLast = false;
  readonly #checksumLength: number;

  /** It is to walk from the frame's first byte on, header included. */
  constructor(frame: ZstdFrame) {
    this.#skip = frame.headerLength;
    this.#checksumLength = frame.hasChecksum ? 4 : 0;
  }

  /**
   * @returns how many of `bytes` belong to the frame: all of them, or fewer with `done`
   * @throws FormatError FORMAT_CORRUPT
   */
  walk(bytes: Uint8Array): number {
    let at = 0;
    while (!this.done) {
      const step = Math.min(this.#skip, bytes.length - at);
      at += step;
      this.#skip -= step;
      if (this.#skip > 0) break;
      if (this.#isLast) {
        this.done = true;
      } else if (at < bytes.length) {
        this.#header += (bytes[at++] ?? 0) * 2 ** (8 * this.#headerBytes++);
        if (this.#headerBytes === 3) this.#beginBlock(this.#header);
      } else {
        break;
      }
    }
    return at;
  }

  #beginBlock(header: number): void {
    const type = (header >> 1) & 3;
    const size = header >> 3;
    if (type === BLOCK_RESERVED) throw new FormatError("FORMAT_CORRUPT", "a zstd block is of the reserved type 3");
    if (size > MAX_BLOCK_LENGTH) throw new FormatError("FORMAT_CORRUPT", `a zstd block has a length of ${size} bytes`);
    this.#isLast = (header & 1) !== 0;
    this.#skip = (type === BLOCK_RLE ? 1 : size) + (this.#isLast ? this.#checksumLength : 0);
    this.#header = 0;
    this.#headerBytes = 0;
  }
}

function refuseDictionary(view: DataView, at: number, length: number): void {
  let id = 0;
  for (let i = length - 1; i >= 0; i--) id = id * 256 + view.getUint8(at + i);
  if (id === 0) return; // the field may be there and say "none"
  throw new FormatError("FORMAT_UNSUPPORTED", `the zstd frame needs the dictionary with id ${id}`, {
    remedy: "Decompress it first with zstd -d -D and that dictionary.",
    context: { dictionaryId: id },
  });
}

function readContentSize(view: DataView, at: number, length: number): number | undefined {
  if (length === 0) return undefined;
  if (length === 1) return view.getUint8(at);
  if (length === 2) return view.getUint16(at, true) + 256;
  return length === 4 ? view.getUint32(at, true) : u64le(view, at, "the content size of a zstd frame");
}

function windowLengthOf(descriptor: number): number {
  const base = 2 ** (10 + (descriptor >> 3));
  return base + (base / 8) * (descriptor & 7);
}

function notAFrame(magic: number): FormatError {
  if (magic === LZ4_MAGIC) {
    return new FormatError("FORMAT_UNSUPPORTED", "the data is compressed with LZ4", {
      remedy: "Decompress it first with lz4 -d.",
    });
  }
  return new FormatError(
    "FORMAT_CORRUPT",
    `no zstd frame begins with ${hex(magic)}: there is junk between or after frames`,
  );
}
