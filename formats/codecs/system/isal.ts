/**
 * Raw deflate through ISA-L, for gzip streams.
 *
 * The library has no constructor: the caller brings the `inflate_state` and reads and writes its first fields. They have
 * the same places in every libisal.so.2 (2.17 and later): the enlarged tail is covered by STATE_LENGTH.
 *
 * CPU time for 1 GiB of words, random bytes and zeros (282 MB as `pigz -6` writes it): 1.5 s, `igzip -d` 1.7 s, node:zlib
 * 3.5 s. Reads of 256 KiB and 1 MiB measured alike; in each the library passes the first 64 KiB through its own buffer, so
 * small ones cost more.
 * @see igzip_lib.h of ISA-L
 */
import { viewOf } from "../../bytes.ts";
import { FormatError } from "../../errors.ts";
import type { Inflater } from "../gzip.ts";
import type { InputWindow } from "../input-window.ts";
import { bindOr, openLibrary } from "./koffi.ts";
import type { SystemLibrary } from "./koffi.ts";

export const ISAL_SONAMES = ["libisal.so.2"] as const;

// struct inflate_state, offsets in bytes; its size is 87,368 in 2.30.
const NEXT_OUT = 0;
const AVAIL_OUT = 8;
const NEXT_IN = 16;
const AVAIL_IN = 32;
const READ_IN_LENGTH = 36; // bits that were read ahead of what is decoded
const BLOCK_STATE = 21160;
const CRC_FLAG = 21172;
const CRC = 21176;
const STATE_LENGTH = 128 * 1024;

const ISAL_GZIP_NO_HDR = 2; // raw deflate, with the CRC-32 of the output reckoned
const ISAL_BLOCK_FINISH = 5;

interface Isal {
  readonly library: SystemLibrary;
  readonly init: (state: Uint8Array) => void;
  readonly inflate: (state: Uint8Array) => number;
}

/** Undefined where the library or koffi is not installed. */
export function openIsalInflater(): Inflater | undefined {
  const library = openLibrary(ISAL_SONAMES);
  if (library === undefined) return undefined;
  const isal = bindOr<Isal>(() => ({
    library,
    init: library.handle.func("isal_inflate_init", "void", ["void *"]),
    inflate: library.handle.func("isal_inflate", "int", ["void *"]),
  }));
  return isal === undefined ? undefined : new IsalInflater(isal);
}

class IsalInflater implements Inflater {
  done = false;
  readonly #isal: Isal;
  readonly #state = new Uint8Array(new ArrayBuffer(STATE_LENGTH));
  readonly #fields = viewOf(this.#state);

  constructor(isal: Isal) {
    this.#isal = isal;
  }

  get crc(): number {
    return this.#fields.getUint32(CRC, true);
  }

  begin(): void {
    this.#isal.init(this.#state);
    this.#fields.setUint32(CRC_FLAG, ISAL_GZIP_NO_HDR, true);
    this.done = false;
  }

  run(window: InputWindow, into: Uint8Array): number {
    const fields = this.#fields;
    const available = window.length;
    const windowAddress = this.#isal.library.address(window.buffer);
    fields.setBigUint64(NEXT_IN, windowAddress + BigInt(window.start), true);
    fields.setUint32(AVAIL_IN, available, true);
    fields.setBigUint64(NEXT_OUT, this.#isal.library.address(into), true);
    fields.setUint32(AVAIL_OUT, into.length, true);
    const status = this.#isal.inflate(this.#state);
    if (status < 0) {
      throw new FormatError("FORMAT_CORRUPT", `the deflate data does not decode (ISA-L ${status})`);
    }
    window.consume(available - fields.getUint32(AVAIL_IN, true));
    if (fields.getUint32(BLOCK_STATE, true) === ISAL_BLOCK_FINISH) {
      this.done = true;
      window.consume(-Math.floor(fields.getInt32(READ_IN_LENGTH, true) / 8));
    }
    return into.length - fields.getUint32(AVAIL_OUT, true);
  }

  close(): void {
    // The state is an ordinary buffer; there is nothing to free.
  }
}
