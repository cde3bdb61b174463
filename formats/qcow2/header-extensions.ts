/**
 * Header extensions: type, length and data, each padded to 8 bytes, from the header's end to the first cluster's end.
 *
 * Nothing in them changes how the disk is read, because what would is flagged in the header as well. Two are looked at:
 * the feature name table, so that a refusal can name what it refuses, and the bitmaps, so that they can be mentioned.
 */
import { viewOf } from "../bytes.ts";
import { FormatError } from "../errors.ts";
import { printable } from "./refusals.ts";

export interface HeaderExtensions {
  /** Names of incompatible features by bit, from the feature name table; safe to print. */
  readonly incompatibleNames: ReadonlyMap<number, string>;
  /** Persistent dirty bitmaps; they are not part of the disk. */
  readonly bitmapCount: number;
}

const END_OF_EXTENSIONS = 0;
const FEATURE_NAME_TABLE = 0x6803_f857;
const BITMAPS = 0x2385_2875;

const FEATURE_NAME_LENGTH = 48; // type, bit, 46 bytes of name
const INCOMPATIBLE = 0;
const NAME_SHOWN = 46;

/**
 * @param head        the file's first bytes: the first cluster, or as much of it as is looked at
 * @param from        offset of the first extension
 * @param clusterSize where the extensions must have ended
 * @throws FormatError FORMAT_INVALID if one leaves the first cluster or the file
 */
export function parseHeaderExtensions(head: Uint8Array, from: number, clusterSize: number): HeaderExtensions {
  const incompatibleNames = new Map<number, string>();
  let bitmapCount = 0;
  const view = viewOf(head);
  let at = from;
  while (at + 8 <= head.length) {
    const type = view.getUint32(at);
    const length = view.getUint32(at + 4);
    const start = at + 8;
    if (type === END_OF_EXTENSIONS) break;
    if (start + length > clusterSize) {
      throw new FormatError("FORMAT_INVALID", `the header extension at ${at} leaves the first cluster`);
    }
    const content = head.subarray(start, start + length);
    if (type === FEATURE_NAME_TABLE) collectNames(content, incompatibleNames);
    if (type === BITMAPS && content.length >= 4) bitmapCount = view.getUint32(start);
    at = start + Math.ceil(length / 8) * 8;
  }
  return { incompatibleNames, bitmapCount };
}

function collectNames(table: Uint8Array, names: Map<number, string>): void {
  for (let at = 0; at + FEATURE_NAME_LENGTH <= table.length; at += FEATURE_NAME_LENGTH) {
    if (table[at] !== INCOMPATIBLE) continue;
    const name = table.subarray(at + 2, at + FEATURE_NAME_LENGTH);
    const terminator = name.indexOf(0);
    names.set(table[at + 1] ?? 0, printable(terminator < 0 ? name : name.subarray(0, terminator), NAME_SHOWN));
  }
}
