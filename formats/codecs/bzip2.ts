/** bzip2: recognised, and refused by name. No decoder for it is kept. */
import { hasMagic } from "../bytes.ts";
import { FormatError } from "../errors.ts";
import type { Codec } from "./codec.ts";
import { refusingStream } from "./refusing-stream.ts";

const BLOCK_MAGIC = [0x31, 0x41, 0x59, 0x26, 0x53, 0x59]; // the digits of pi
const END_MAGIC = [0x17, 0x72, 0x45, 0x38, 0x50, 0x90]; // and of its root: a file without content

export const bzip2: Codec = {
  name: "bzip2",
  probe(head) {
    if (!hasMagic(head, "BZh")) return false;
    const level = head[3] ?? 0;
    return level >= 0x31 && level <= 0x39 && [BLOCK_MAGIC, END_MAGIC].some((magic) => isAt(head, 4, magic));
  },
  decode(input) {
    return refusingStream(
      input,
      new FormatError("FORMAT_UNSUPPORTED", "the data is compressed with bzip2, which is not supported", {
        remedy: "Decompress it first with bzip2 -d.",
      }),
    );
  },
};

function isAt(head: Uint8Array, at: number, magic: readonly number[]): boolean {
  return magic.every((byte, i) => head[at + i] === byte);
}
