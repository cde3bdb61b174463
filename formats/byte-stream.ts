/**
 * Bytes that pass once.
 *
 * The consumer brings the buffer, so that ten gigabytes pass through one that is reused, and a native decoder writes
 * straight into it. `read` may answer at once or later: a file and a native decoder need not wait, a socket must.
 */
export interface ByteStream {
  /**
   * Fills `into` from its start with the next bytes.
   * @param into belongs to the caller; written to during the call only, and not kept
   * @returns how many bytes: at least 1 (it may be fewer than fit), or 0 once the stream has ended, and then for ever
   */
  read(into: Uint8Array): number | Promise<number>;
  /** Frees what the stream holds, upstream too. May be called at any time, and twice. */
  close(): void | Promise<void>;
}

/**
 * Reads until `into` is full or the stream ends; returns how many bytes.
 * @param enough stops earlier, once so many bytes are there
 */
export async function readFully(stream: ByteStream, into: Uint8Array, enough = into.length): Promise<number> {
  let filled = 0;
  while (filled < enough) {
    const answer = stream.read(into.subarray(filled));
    const count = typeof answer === "number" ? answer : await answer;
    if (count === 0) break;
    filled += count;
  }
  return filled;
}
