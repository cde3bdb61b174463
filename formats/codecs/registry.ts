/** The codecs, in the order in which they are probed: those with a strong magic first. */
import { bzip2 } from "./bzip2.ts";
import type { Codec } from "./codec.ts";
import { gzip } from "./gzip.ts";
import { lzma } from "./lzma.ts";
import { xz } from "./xz.ts";
import { zstd } from "./zstd.ts";

export const codecs: readonly Codec[] = [xz, zstd, bzip2, gzip, lzma];

/** @param head the first bytes of the stream: up to 64 KiB, fewer only if it ends before */
export function detectCodec(head: Uint8Array): Codec | undefined {
  return codecs.find((codec) => codec.probe(head));
}
