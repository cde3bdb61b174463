/**
 * lzma, the format before xz ("lzma alone"): recognised, and refused by name.
 *
 * It has no magic, only a header that few other files share, so every field of it is looked at: a raw disk must not be
 * taken for one.
 * @see lzma-file-format.txt of XZ Utils
 */
import { viewOf } from "../bytes.ts";
import { FormatError } from "../errors.ts";
import type { Codec } from "./codec.ts";
import { refusingStream } from "./refusing-stream.ts";

const HEADER_LENGTH = 13;
const COMMON_PROPERTIES = 0x5d; // lc 3, lp 0, pb 2: what every encoder writes unless told otherwise
const MIN_DICTIONARY = 4096;
const MAX_DICTIONARY = 0xffff_ffff; // means "the largest"
const MAX_SIZE_HIGH_HALF = 0x40; // of 256 GiB, where XZ Utils stops believing as well
const SIZE_UNKNOWN = 0xffff_ffff; // both halves

export const lzma: Codec = {
  name: "lzma",
  probe(head) {
    if (head.length <= HEADER_LENGTH || head[0] !== COMMON_PROPERTIES) return false;
    const view = viewOf(head);
    const low = view.getUint32(5, true);
    const high = view.getUint32(9, true);
    const isSizePlausible = high === SIZE_UNKNOWN ? low === SIZE_UNKNOWN : high < MAX_SIZE_HIGH_HALF;
    // The range coder's first byte is always zero.
    return isSizePlausible && isPlausibleDictionary(view.getUint32(1, true)) && head[HEADER_LENGTH] === 0;
  },
  decode(input) {
    return refusingStream(
      input,
      new FormatError("FORMAT_UNSUPPORTED", "the data is compressed with lzma (not xz), which is not supported", {
        remedy: "Decompress it first with xz --format=lzma -d.",
      }),
    );
  },
};

/** A power of two, or one and a half of it: no encoder writes others. */
function isPlausibleDictionary(size: number): boolean {
  if (size === MAX_DICTIONARY) return true;
  if (size < MIN_DICTIONARY) return false;
  const log = Math.floor(Math.log2(size));
  return size === 2 ** log || size === 2 ** log * 1.5;
}
