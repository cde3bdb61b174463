/**
 * JSON objects one after the other, a line each: what a watch is made of. A line that never ends is cut off by a limit.
 */

/** etcd holds no object above 1.5 MiB; as JSON, with escapes, one takes a little more. */
const MAX_LINE_BYTES = 8 * 1024 * 1024;

const LINE_FEED = 0x0a;

/**
 * @param pieces bytes in whatever pieces they come
 * @returns what JSON.parse makes of each line; a last line without an end is dropped, for it may be half of one
 * @throws Error for a line above the limit, SyntaxError for one that is no JSON
 */
export async function* jsonLines(pieces: AsyncIterable<Uint8Array>, maxLineBytes = MAX_LINE_BYTES): AsyncGenerator {
  const decoder = new TextDecoder();
  let waiting: Uint8Array[] = [];
  let waitingBytes = 0;
  for await (const piece of pieces) {
    let start = 0;
    for (let end = piece.indexOf(LINE_FEED); end !== -1; end = piece.indexOf(LINE_FEED, start)) {
      const tail = piece.subarray(start, end);
      if (waitingBytes + tail.length > maxLineBytes) throw tooLong(maxLineBytes);
      const line = waiting.length === 0 ? tail : Buffer.concat([...waiting, tail]);
      waiting = [];
      waitingBytes = 0;
      start = end + 1;
      if (line.length > 0) yield JSON.parse(decoder.decode(line));
    }
    if (start === piece.length) continue;
    // Copied: a piece is a view of a larger buffer.
    waiting.push(piece.slice(start));
    waitingBytes += piece.length - start;
    if (waitingBytes > maxLineBytes) throw tooLong(maxLineBytes);
  }
}

function tooLong(maxLineBytes: number): Error {
  return new Error(`a line of a watch is longer than ${maxLineBytes} bytes`);
}
