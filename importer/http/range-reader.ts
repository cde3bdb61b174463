/**
 * Reads ranges of a place, each by a request of its own, over connections that are kept.
 *
 * A RangeReader is made from a RangeSpec, plain data that crosses to worker threads: each makes its own client and reader.
 * A strong validator is wanted, for many answers are put together; each has to be a 206 of the same bytes. Where the server
 * does otherwise the error has `ranges: "unusable"` in its context, and one stream may still succeed.
 */
import { Interrupted, SourceError } from "../errors.ts";
import type { BodyReader } from "./body-reader.ts";
import { changed, checkRangeAnswer, RANGE_STATUSES, rangeHeaders } from "./continuation.ts";
import { connectionFailure, stallFailure } from "./failure.ts";
import type { HttpClient } from "./http-client.ts";
import { Place } from "./place.ts";
import type { PlaceSpec } from "./place.ts";
import type { Representation } from "./representation.ts";
import { MAX_ATTEMPTS, WORTHWHILE_LENGTH } from "./retry-delay.ts";

/** Plain data. It holds secrets. */
export interface RangeSpec {
  readonly place: PlaceSpec;
  /** Without a validator somebody else has to vouch that the bytes stay the same. */
  readonly representation: Representation & { readonly size: number };
}

/** Undefined: the server has no ranges, or nothing vouches for the bytes. Not yet tried. */
export function rangeSpecOf(place: Place, whole: Representation): RangeSpec | undefined {
  const { size, validator, ranges } = whole;
  if (size === undefined || validator === undefined || ranges === "none") return undefined;
  return { place: place.spec, representation: { ...whole, size, validator } };
}

/** Longest range of one request; a run of the engine is a few MiB. */
export const MAX_RANGE_LENGTH = 64 * 1024 * 1024;

export class RangeReader {
  readonly size: number;
  readonly #client: HttpClient;
  readonly #place: Place;
  readonly #whole: Representation;
  #retries = 0;

  constructor(client: HttpClient, spec: RangeSpec) {
    this.size = spec.representation.size;
    this.#client = client;
    this.#place = Place.fromSpec(spec.place);
    this.#whole = spec.representation;
  }

  /** How often a request was made again because a body broke off or stalled. */
  get retries(): number {
    return this.#retries;
  }

  /**
   * May be called while other ranges are on their way.
   * @returns exactly `length` bytes, which the caller may keep; fewer only at the end of the file
   * @throws SourceError
   */
  async readRange(offset: number, length: number, signal?: AbortSignal): Promise<Uint8Array> {
    if (length > MAX_RANGE_LENGTH) throw new Error(`a range of ${length} bytes is longer than ${MAX_RANGE_LENGTH}`);
    const into = new Uint8Array(Math.max(0, Math.min(length, this.size - offset)));
    await this.readInto(into, offset, signal);
    return into;
  }

  /** Fills all of `into`, which has to lie within the file. After a cut only what is missing is asked for. */
  async readInto(into: Uint8Array, offset: number, signal?: AbortSignal): Promise<void> {
    let filled = 0;
    for (let vain = 0; filled < into.length;) {
      const { count, failure } = await this.#readPart(into.subarray(filled), offset + filled, signal);
      filled += count;
      if (failure === undefined) continue;
      vain = count < WORTHWHILE_LENGTH ? vain + 1 : 1;
      if (vain >= MAX_ATTEMPTS) throw failure;
      this.#retries += 1;
      await this.#client.wait(vain, undefined, signal);
    }
  }

  /** One request: how many bytes it gave, and why not all. A server may give less than was asked for. */
  async #readPart(
    into: Uint8Array,
    offset: number,
    signal: AbortSignal | undefined,
  ): Promise<{ readonly count: number; readonly failure: SourceError | undefined }> {
    const range = { start: offset, end: offset + into.length };
    const answer = await this.#client.get(this.#place, {
      headers: rangeHeaders(range, this.#whole),
      statuses: RANGE_STATUSES,
      ...(signal === undefined ? {} : { signal }),
    });
    let filled = 0;
    try {
      const { end } = checkRangeAnswer(answer, range, this.#whole, this.#place);
      const wanted = into.subarray(0, end - offset);
      for (let count = -1; count !== 0 && filled < wanted.length; filled += count) {
        count = await answer.body.read(wanted.subarray(filled));
      }
      if (filled < wanted.length) return { count: filled, failure: this.#brokeOff(offset + filled, undefined) };
      await this.#expectEnd(answer.body);
      return { count: filled, failure: undefined };
    } catch (error) {
      return { count: filled, failure: this.#passingFailure(error, answer.body, offset + filled, signal) };
    } finally {
      answer.body.close();
    }
  }

  /** Reading to the end leaves the connection to the next range. */
  async #expectEnd(body: BodyReader): Promise<void> {
    if ((await body.read(new Uint8Array(1))) > 0) {
      throw changed(this.#place, "more bytes came than the range has");
    }
  }

  /** @throws SourceError for what another request would not mend */
  #passingFailure(error: unknown, body: BodyReader, at: number, signal: AbortSignal | undefined): SourceError {
    if (error instanceof SourceError) throw error;
    if (signal?.aborted === true) throw new Interrupted();
    if (body.stalled) return stallFailure(this.#place, this.#client.options.stallMs).error;
    const failure = connectionFailure(error, this.#place);
    if (!failure.mayRetry) throw failure.error;
    return this.#brokeOff(at, failure.error.cause);
  }

  #brokeOff(at: number, cause: unknown): SourceError {
    return new SourceError("SOURCE_TRUNCATED", `${this.#place.name} broke off at byte ${at} of ${this.size}`, {
      context: { offset: at },
      cause,
    });
  }
}
