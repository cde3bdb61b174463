/**
 * The records of a pax extended header (POSIX.1 "pax Extended Header"): `LENGTH KEY=VALUE\n`, LENGTH in bytes of the whole.
 *
 * Kept are the keys that say where a member's content is, what it is called and when it was changed. A repeated key: the last one wins, except
 * GNU.sparse.offset and GNU.sparse.numbytes, whose pairs in order are the sparse map of version 0.0. An empty value
 * takes the key back, a global one too.
 */
import { FormatError } from "../../errors.ts";
import { parseDecimal } from "./decimal.ts";
import { SparseMap } from "./sparse-map.ts";
import { decodeText } from "./text.ts";

/** The most bytes of one extended header: a sparse map of MAX_SPARSE_ENTRIES in version 0.0 takes 64 bytes an entry. */
export const MAX_PAX_LENGTH = 16 * 1024 * 1024;

/** The longest number of a record's length field: MAX_PAX_LENGTH has 8 digits. */
const MAX_LENGTH_DIGITS = 10;

const KEPT = [
  "path",
  "linkpath",
  "size",
  "mtime",
  "GNU.sparse.major",
  "GNU.sparse.minor",
  "GNU.sparse.name",
  "GNU.sparse.realsize",
  "GNU.sparse.size",
  "GNU.sparse.numblocks",
] as const;

export type PaxKey = (typeof KEPT)[number];

export interface PaxRecords {
  /** Of KEPT only; an empty value is kept, it takes back a global one. */
  readonly values: ReadonlyMap<PaxKey, string>;
  /** The map of sparse version 0.0 or 0.1, if there is one. */
  readonly sparse: SparseMap | undefined;
}

export const NO_RECORDS: PaxRecords = { values: new Map(), sparse: undefined };

/** A path in a header is cut here; the limit of a name is that of GNU's long names. */
const MAX_VALUE_LENGTH = 64 * 1024;

/**
 * Parses the records of one extended header.
 * @param bytes its content; at most MAX_PAX_LENGTH, checked by the caller
 * @param offset of the content in the archive, for messages
 * @throws FormatError FORMAT_CORRUPT for a malformed record, FORMAT_OUT_OF_BOUNDS for a name or a sparse map beyond limits
 */
export function parsePax(bytes: Uint8Array, offset: number): PaxRecords {
  const values = new Map<PaxKey, string>();
  let pairs: PairReader | undefined;
  let sparse: SparseMap | undefined;
  let at = 0;
  while (at < bytes.length && bytes[at] !== 0) {
    const record = recordAt(bytes, at, offset);
    if (record.key === "GNU.sparse.map") {
      sparse = mapOf(record.value, offset);
    } else if (record.key === "GNU.sparse.offset" || record.key === "GNU.sparse.numbytes") {
      pairs ??= new PairReader();
      pairs.add(record.key === "GNU.sparse.offset", record.value);
    } else if (isKept(record.key)) {
      if (record.value.length > MAX_VALUE_LENGTH) {
        throw new FormatError(
          "FORMAT_OUT_OF_BOUNDS",
          `the pax record ${record.key} has ${record.value.length} bytes, above the limit of ${MAX_VALUE_LENGTH}`,
          { context: { offset: offset + at } },
        );
      }
      values.set(record.key, decodeText(record.value));
    }
    at += record.length;
  }
  const paired = pairs?.finish();
  return { values, sparse: sparse ?? paired };
}

/** `own` over `global`, which has nothing that is taken back; what `own` takes back is gone. */
export function mergePax(global: PaxRecords, own: PaxRecords): PaxRecords {
  if (own === NO_RECORDS) return global;
  const values = new Map([...global.values, ...own.values]);
  for (const [key, value] of values) if (value === "") values.delete(key);
  return { values, sparse: own.sparse ?? global.sparse };
}

interface PaxRecord {
  readonly length: number;
  readonly key: string;
  readonly value: Uint8Array;
}

function recordAt(bytes: Uint8Array, at: number, offset: number): PaxRecord {
  const malformed = (): FormatError =>
    new FormatError("FORMAT_CORRUPT", `the pax header at ${offset} has a malformed record at ${at}`, {
      context: { offset: offset + at },
    });
  const space = bytes.subarray(at, at + MAX_LENGTH_DIGITS + 1).indexOf(0x20);
  if (space <= 0) throw malformed();
  const length = parseDecimal(bytes.subarray(at, at + space), "the length of a pax record");
  // The shortest record has its length, a space, a key of one letter, `=` and a newline.
  if (length < space + 4 || at + length > bytes.length || bytes[at + length - 1] !== 0x0a) throw malformed();
  const body = bytes.subarray(at + space + 1, at + length - 1);
  const equals = body.indexOf(0x3d);
  if (equals <= 0) throw malformed();
  const key = decodeText(body.subarray(0, Math.min(equals, MAX_KEY_LENGTH)));
  return { length, key, value: body.subarray(equals + 1) };
}

/** No key that is kept is longer; a longer one is not decoded whole. */
const MAX_KEY_LENGTH = 64;

function isKept(key: string): key is PaxKey {
  return (KEPT as readonly string[]).includes(key);
}

/** Version 0.0: GNU.sparse.offset and GNU.sparse.numbytes take turns. */
class PairReader {
  readonly #map = new SparseMap();
  #pending: number | undefined;

  add(isOffset: boolean, value: Uint8Array): void {
    const number = parseDecimal(value, isOffset ? "GNU.sparse.offset" : "GNU.sparse.numbytes");
    if (isOffset !== (this.#pending === undefined)) throw unpaired();
    if (this.#pending === undefined) {
      this.#pending = number;
    } else {
      this.#map.add(this.#pending, number);
      this.#pending = undefined;
    }
  }

  finish(): SparseMap {
    if (this.#pending !== undefined) throw unpaired();
    return this.#map;
  }
}

function unpaired(): FormatError {
  return new FormatError(
    "FORMAT_CORRUPT",
    "GNU.sparse.offset and GNU.sparse.numbytes of a pax header do not take turns",
  );
}

/** Version 0.1: `offset,length,offset,length…`. */
function mapOf(value: Uint8Array, offset: number): SparseMap {
  const map = new SparseMap();
  const next = numbersIn(value);
  for (let first = next(); first !== undefined; first = next()) {
    const length = next();
    if (length === undefined) {
      throw new FormatError(
        "FORMAT_CORRUPT",
        `GNU.sparse.map of the pax header at ${offset} has an odd count of numbers`,
      );
    }
    map.add(first, length);
  }
  return map;
}

function numbersIn(value: Uint8Array): () => number | undefined {
  let at = 0;
  return () => {
    if (at >= value.length) return undefined;
    const comma = value.indexOf(0x2c, at);
    const end = comma < 0 ? value.length : comma;
    const number = parseDecimal(value.subarray(at, end), "a number of GNU.sparse.map");
    at = end + 1;
    return number;
  };
}
