/**
 * Streams from bytes in memory, in whatever pieces a test wants.
 */
import type { ByteStream } from "../../formats/byte-stream.ts";

/** Serves `bytes` in pieces of `length(i)` bytes, every other one later. */
export function streamOf(bytes: Uint8Array, length: (piece: number) => number = () => bytes.length): ByteStream {
  let at = 0;
  let piece = 0;
  return {
    read(into) {
      const count = Math.min(into.length, bytes.length - at, Math.max(1, length(piece)));
      into.set(bytes.subarray(at, at + count));
      at += count;
      piece += 1;
      return piece % 2 === 0 ? Promise.resolve(count) : count;
    },
    close: () => undefined,
  };
}

/** Fails after `after` bytes. */
export function failingStream(bytes: Uint8Array, after: number, error: Error): ByteStream {
  const inner = streamOf(bytes.subarray(0, after));
  return {
    async read(into) {
      const count = await inner.read(into);
      if (count === 0) throw error;
      return count;
    },
    close: () => undefined,
  };
}
