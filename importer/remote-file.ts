/**
 * A file that is read in ranges over HTTP, each range by a request of its own. The client is loaded with the first read: a
 * local conversion never pays for it.
 */
import type { HttpClient } from "./http/http-client.ts";
import type { RangeReader } from "./http/range-reader.ts";
import type { RandomAccess, ReadSpec } from "./random-access.ts";
import type { RemoteRanges } from "./sources/source.ts";

export class RemoteFile implements RandomAccess {
  readonly spec: ReadSpec;
  readonly size: number;
  readonly #ranges: RemoteRanges;
  readonly #closing = new AbortController();
  #reader: Promise<RangeReader> | undefined;
  #client: HttpClient | undefined;
  #opened: RangeReader | undefined;

  constructor(spec: ReadSpec, ranges: RemoteRanges) {
    this.spec = spec;
    this.size = spec.size;
    this.#ranges = ranges;
  }

  async readAt(into: Uint8Array, offset: number): Promise<number> {
    const wanted = Math.max(0, Math.min(into.length, this.size - offset));
    if (wanted === 0) return 0;
    this.#reader ??= this.#open();
    const reader = await this.#reader;
    await reader.readInto(into.subarray(0, wanted), offset, this.#closing.signal);
    return wanted;
  }

  get retries(): number {
    return this.#opened?.retries ?? 0;
  }

  close(): void {
    this.#closing.abort();
    this.#client?.close();
  }

  async #open(): Promise<RangeReader> {
    const { HttpClient } = await import("./http/http-client.ts");
    const { RangeReader } = await import("./http/range-reader.ts");
    this.#client = new HttpClient(this.#ranges.http);
    this.#opened = new RangeReader(this.#client, this.#ranges.spec);
    return this.#opened;
  }
}
