/**
 * A client for tests: it waits for nothing, and tells how long it would have waited.
 */
import { HttpClient } from "../../importer/http/http-client.ts";
import { defaultHttpOptions } from "../../importer/http/http-options.ts";
import type { HttpOptions } from "../../importer/http/http-options.ts";
import type { ByteStream } from "../../formats/byte-stream.ts";

/** Runs `use` with a client that is closed afterwards. */
export async function withClient<T>(
  options: Partial<HttpOptions>,
  use: (client: HttpClient, delays: readonly number[]) => Promise<T>,
): Promise<T> {
  const delays: number[] = [];
  const pace = {
    now: () => Date.now(),
    ticks: () => BigInt(Math.round(delays.reduce((sum, ms) => sum + ms, 0) * 1e6)),
    random: () => 0.5,
    delay: async (ms: number, signal: AbortSignal) => {
      signal.throwIfAborted();
      delays.push(ms);
      await Promise.resolve();
    },
  };
  const client = new HttpClient({ ...defaultHttpOptions, ...options }, pace);
  try {
    return await use(client, delays);
  } finally {
    client.close();
  }
}

/** Everything that still comes, read in pieces of an odd size. */
export async function readAll(stream: ByteStream): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for (;;) {
    const into = Buffer.alloc(50_021);
    const count = await stream.read(into);
    if (count === 0) return Buffer.concat(pieces);
    pieces.push(into.subarray(0, count));
  }
}
