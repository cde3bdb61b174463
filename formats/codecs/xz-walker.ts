/**
 * Walks the structure of an xz file: streams, block headers, LZMA2 chunks, index. No decoding.
 *
 * It runs ahead of the portable decoder, in pieces of any size, to know what each block asks for before anything is spent
 * on it: the dictionary, the filters and the check. What it does not verify (contents, index) the decoder does.
 * @see "The .xz File Format" 1.2.0
 */
import { crc32 } from "node:zlib";
import { ascii, viewOf } from "../bytes.ts";
import { FormatError } from "../errors.ts";

export interface XzBlock {
  /** Of the integrity check, as the stream header has it: 0 none, 1 CRC32, 4 CRC64, 10 SHA-256. */
  readonly checkId: number;
  /** In the order of the header; LZMA2, the last, is 0x21. */
  readonly filterIds: readonly number[];
  /** Of LZMA2, in bytes. */
  readonly dictionaryLength: number;
}

export const LZMA2_FILTER = 0x21;

const STREAM_HEADER_LENGTH = 12;
const STREAM_FOOTER_LENGTH = 12;
const STREAM_MAGIC = "\u00fd7zXZ\0";
const INDEX_INDICATOR = 0;
const MAX_VLI_LENGTH = 9;
const MAX_CHECK_ID = 15;

/** Asks for the next bytes, in one piece (`take`, at most 1024) or to be stepped over (`skip`). */
type Ask = { readonly take: number } | { readonly skip: number };
type Walk<T> = Generator<Ask, T, Uint8Array>;

export class XzWalker {
  /** True where the file may end: behind a stream and whole groups of padding. */
  mayEnd = false;
  readonly #walk: Walk<never>;
  #ask: Ask;
  #taken: Uint8Array = new Uint8Array(1024);
  #done = 0; // bytes of the current ask

  /** @param onBlock is called with each block before any of its data is walked over; may throw to refuse it */
  constructor(onBlock: (block: XzBlock) => void) {
    this.#walk = walkFile(onBlock, (mayEnd) => {
      this.mayEnd = mayEnd;
    });
    this.#ask = this.#walk.next().value;
  }

  /** @throws FormatError FORMAT_CORRUPT where the structure is wrong, FORMAT_UNSUPPORTED, and what onBlock throws */
  walk(bytes: Uint8Array): void {
    let at = 0;
    while (at < bytes.length) {
      const wanted = "take" in this.#ask ? this.#ask.take : this.#ask.skip;
      const step = Math.min(wanted - this.#done, bytes.length - at);
      if ("take" in this.#ask) this.#taken.set(bytes.subarray(at, at + step), this.#done);
      at += step;
      this.#done += step;
      if (this.#done < wanted) return;
      this.#done = 0;
      this.#ask = this.#walk.next(this.#taken.subarray(0, wanted)).value;
    }
  }
}

function* walkFile(onBlock: (block: XzBlock) => void, mayEnd: (value: boolean) => void): Walk<never> {
  let word = yield { take: 4 };
  for (;;) {
    mayEnd(false);
    yield* walkStream(word.slice(), onBlock);
    mayEnd(true);
    do word = yield { take: 4 };
    while (word.every((byte) => byte === 0)); // padding, in groups of four
  }
}

/** @param start the stream's first four bytes */
function* walkStream(start: Uint8Array, onBlock: (block: XzBlock) => void): Walk<void> {
  const header = new Uint8Array(STREAM_HEADER_LENGTH);
  header.set(start);
  header.set(yield { take: STREAM_HEADER_LENGTH - start.length }, start.length);
  if (ascii(header, 0, 6) !== STREAM_MAGIC) throw corrupt("there is junk after an xz stream");
  checkCrc(header.subarray(6, 8), viewOf(header).getUint32(8, true), "stream header");
  const checkId = header[7] ?? 0;
  if (header[6] !== 0 || checkId > MAX_CHECK_ID) throw unsupported("an xz stream header has unknown flags");
  for (;;) {
    const size = (yield { take: 1 })[0] ?? 0;
    if (size === INDEX_INDICATOR) break;
    const block = readBlockHeader(size, yield { take: (size + 1) * 4 - 1 }, checkId);
    onBlock(block);
    const length = yield* walkLzma2();
    yield* skip(((4 - (length % 4)) % 4) + checkLength(checkId));
  }
  yield* walkIndex();
  yield { skip: STREAM_FOOTER_LENGTH };
}

/** LZMA2 chunks up to the end marker; answers the length of them all. */
function* walkLzma2(): Walk<number> {
  let length = 0;
  for (;;) {
    const control = (yield { take: 1 })[0] ?? 0;
    length += 1;
    if (control === 0) return length;
    if (control > 2 && control < 0x80) throw corrupt(`an LZMA2 chunk has the control byte ${control}`);
    const isCompressed = control >= 0x80;
    const headerLength = isCompressed ? 4 : 2;
    const sizes = viewOf(yield { take: headerLength });
    const content = sizes.getUint16(isCompressed ? 2 : 0) + 1 + (control >= 0xc0 ? 1 : 0); // and a byte of properties
    yield { skip: content };
    length += headerLength + content;
  }
}

/** The index behind its indicator: its records are for the decoder to verify, only its length matters here. */
function* walkIndex(): Walk<void> {
  const [records, length] = yield* takeVli();
  let total = 1 + length;
  for (let left = records * 2; left > 0; left--) total += (yield* takeVli())[1];
  yield* skip(((4 - (total % 4)) % 4) + 4); // padding and CRC32
}

/** A variable-length integer, and how many bytes it took. */
function* takeVli(): Walk<[number, number]> {
  let value = 0;
  for (let length = 1; length <= MAX_VLI_LENGTH; length++) {
    const byte = (yield { take: 1 })[0] ?? 0;
    value += (byte & 0x7f) * 2 ** (7 * (length - 1));
    if (byte < 0x80) return [value, length];
  }
  throw corrupt("a number in an xz index is longer than nine bytes");
}

function* skip(length: number): Walk<void> {
  if (length > 0) yield { skip: length };
}

/** @param header the block header without its first byte, `size` */
function readBlockHeader(size: number, header: Uint8Array, checkId: number): XzBlock {
  const crcAt = header.length - 4;
  checkCrc(
    header.subarray(0, crcAt),
    viewOf(header).getUint32(crcAt, true),
    "block header",
    crc32(Uint8Array.of(size)),
  );
  const flags = header[0] ?? 0;
  if ((flags & 0x3c) !== 0) throw unsupported("an xz block header has unknown flags");
  const fields = new FieldReader(header.subarray(1, crcAt));
  if ((flags & 0x40) !== 0) fields.vli(); // compressed size
  if ((flags & 0x80) !== 0) fields.vli(); // uncompressed size
  const filterIds: number[] = [];
  let dictionaryLength = 0;
  for (let i = 0; i <= (flags & 3); i++) {
    const id = fields.vli();
    const properties = fields.bytes(fields.vli());
    filterIds.push(id);
    if (id === LZMA2_FILTER) dictionaryLength = dictionaryLengthOf(properties);
  }
  return { checkId, filterIds, dictionaryLength };
}

class FieldReader {
  readonly #bytes: Uint8Array;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  vli(): number {
    let value = 0;
    for (let i = 0; i < MAX_VLI_LENGTH; i++) {
      const byte = this.bytes(1)[0] ?? 0;
      value += (byte & 0x7f) * 2 ** (7 * i);
      if (byte < 0x80) return value;
    }
    throw corrupt("a number in an xz block header is longer than nine bytes");
  }

  bytes(length: number): Uint8Array {
    if (length > this.#bytes.length - this.#at) throw corrupt("a field leaves the xz block header");
    this.#at += length;
    return this.#bytes.subarray(this.#at - length, this.#at);
  }
}

function dictionaryLengthOf(properties: Uint8Array): number {
  const bits = properties[0];
  if (properties.length !== 1 || bits === undefined || bits > 40)
    throw corrupt("the LZMA2 properties of an xz block are invalid");
  return bits === 40 ? 0xffff_ffff : (2 + (bits % 2)) * 2 ** (Math.floor(bits / 2) + 11);
}

function checkLength(id: number): number {
  return id === 0 ? 0 : 2 ** (Math.floor((id - 1) / 3) + 2);
}

function checkCrc(bytes: Uint8Array, expected: number, where: string, start = 0): void {
  if (crc32(bytes, start) !== expected) throw corrupt(`the CRC-32 of an xz ${where} differs`);
}

function corrupt(message: string): FormatError {
  return new FormatError("FORMAT_CORRUPT", message);
}

function unsupported(message: string): FormatError {
  return new FormatError("FORMAT_UNSUPPORTED", message);
}
