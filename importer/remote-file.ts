/**
 * A file that is read in ranges over HTTP, each range by a request of its own. The client is loaded with the first read: a
 * local conversion never pays for it.
 */
import { Interrupted, SourceError } from "./errors.ts";
import type { DirectRanges } from "./http/direct-ranges.ts";
import type { HttpClient } from "./http/http-client.ts";
import { isRefusal, Lanes } from "./http/lanes.ts";
import type { RangeReader } from "./http/range-reader.ts";
import type { RandomAccess, ReadSpec } from "./random-access.ts";
import type { RemoteRanges } from "./sources/source.ts";

export class RemoteFile implements RandomAccess {
  readonly spec: ReadSpec;
  readonly size: number;
  readonly #ranges: RemoteRanges;
  readonly #closing = new AbortController();
  #reader: Promise<RangeReader> | undefined;
  readonly #lanes = new Lanes();
  #direct: Promise<DirectRanges | undefined> | undefined;
  #cuts = 0;
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
    this.#direct ??= this.#openDirect();
    const done = await this.#readDirectly(await this.#direct, into.subarray(0, wanted), offset);
    if (done > 0 && done < wanted) this.#cuts += 1;
    if (done < wanted) await this.#readRest(into.subarray(done, wanted), offset + done);
    return wanted;
  }

  get retries(): number {
    return this.#cuts + (this.#opened?.retries ?? 0);
  }

  close(): void {
    this.#closing.abort();
    // Where it could not be opened, the reads have failed already.
    this.#direct?.then((direct) => direct?.close()).catch(() => undefined);
    this.#client?.close();
  }

  async #readDirectly(direct: DirectRanges | undefined, into: Uint8Array, offset: number): Promise<number> {
    if (direct === undefined) return 0;
    return await this.#lanes.run(async () => await direct.read(into, offset, () => void this.#lanes.narrow()));
  }

  async #readRest(into: Uint8Array, offset: number): Promise<void> {
    while (!(await this.#lanes.run(() => this.#readPatiently(into, offset))));
  }

  /**
   * By the client that knows what else a server may answer, and says what is wrong.
   * @returns false: another time, with fewer requests under way
   */
  async #readPatiently(into: Uint8Array, offset: number): Promise<boolean> {
    if (this.#closing.signal.aborted) throw new Interrupted();
    this.#reader ??= this.#open();
    const reader = await this.#reader;
    try {
      await reader.readInto(into, offset, this.#closing.signal);
      return true;
    } catch (error) {
      if (!isRefused(error)) throw error;
      if (this.#lanes.narrow()) return false;
      const { code, message, remedy, context, cause } = error;
      throw new SourceError(code, message, {
        ...(remedy === undefined ? {} : { remedy }),
        context: { ...context, ranges: "unusable" },
        cause,
      });
    }
  }

  async #openDirect(): Promise<DirectRanges | undefined> {
    const { DirectRanges } = await import("./http/direct-ranges.ts");
    return DirectRanges.open(this.#ranges.http, this.#ranges.spec);
  }

  async #open(): Promise<RangeReader> {
    const { HttpClient } = await import("./http/http-client.ts");
    const { RangeReader } = await import("./http/range-reader.ts");
    this.#client = new HttpClient(this.#ranges.http);
    this.#opened = new RangeReader(this.#client, this.#ranges.spec);
    return this.#opened;
  }
}

/** The server has too much to do, after all the patience of one request. */
function isRefused(error: unknown): error is SourceError {
  return error instanceof SourceError && isRefusal(Number(error.context["status"]));
}
