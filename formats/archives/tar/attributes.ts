/**
 * What a tar says of an entry besides its name and content: what exactly it is, its permissions and when it was changed.
 * Owners are not read.
 */
import { FormatError } from "../../errors.ts";
import { readNumber, typeOf } from "./header.ts";
import type { TarEntry } from "./tar.ts";

export interface TarAttributes {
  /** Permissions with set-user-ID, set-group-ID and sticky: 0 to 0o7777. */
  readonly mode: number;
  /** Seconds since 1970, with fractions, perhaps negative; undefined where that cannot be read. */
  readonly modifiedAt: number | undefined;
}

/** Offset and length in bytes of header fields. */
const MODE = [100, 8] as const;
const MODIFIED_AT = [136, 12] as const;

/** The permissions; what old tars put above them is the type again. */
const MODE_BITS = 0o10000;

/** A pax time: POSIX.1 "pax Extended Header File Times". */
const PAX_TIME = /^-?\d{1,12}(?:\.\d*)?$/;

/** The entries of the kind `other` that have a name of their own. */
const OTHERS = { "3": "character-device", "4": "block-device", "6": "pipe", D: "folder", V: "label" } as const;

/** What an entry of the kind `other` is: `folder` for GNU tar's listings of one, undefined for what nobody knows. */
export function otherKind(entry: TarEntry): (typeof OTHERS)[keyof typeof OTHERS] | undefined {
  const type = typeOf(entry.block);
  return Object.hasOwn(OTHERS, type) ? OTHERS[type as keyof typeof OTHERS] : undefined;
}

/** @throws FormatError FORMAT_CORRUPT, FORMAT_OUT_OF_BOUNDS if the mode is no number */
export function readAttributes({ name, block, pax }: TarEntry): TarAttributes {
  const mode = readNumber(block, MODE, `the mode of ${JSON.stringify(name.slice(0, 100))}`) % MODE_BITS;
  const time = pax.values.get("mtime");
  if (time !== undefined) return { mode, modifiedAt: PAX_TIME.test(time) ? Number(time) : undefined };
  return { mode, modifiedAt: readTime(block) };
}

/** A time that makes no sense, or lies before 1970 in base-256, is no reason to refuse a file. */
function readTime(block: Uint8Array): number | undefined {
  try {
    return readNumber(block, MODIFIED_AT, "a time");
  } catch (error) {
    if (error instanceof FormatError) return undefined;
    throw error;
  }
}
