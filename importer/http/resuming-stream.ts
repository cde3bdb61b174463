/**
 * All bytes of a place, as one stream that survives cuts and stalls.
 *
 * One GET decides: its status, length, validator. After a cut the rest is asked for, and only the rest of the same bytes
 * continues (`continuation.ts`); whoever reads does not notice. Where nothing vouches for the file, the last 64 KiB have to
 * come again. What cannot be continued fails with `restart: "from-zero"` in its context.
 *
 * Who looks at the start only (`firstLength`) asks for a range of it first, and for more as it is read: what a server sends
 * ahead would be megabytes. One that serves no ranges is asked for everything.
 */
import { readFully } from "../../formats/byte-stream.ts";
import type { ByteStream } from "../../formats/byte-stream.ts";
import { Interrupted, SourceError } from "../errors.ts";
import { changed, checkRangeAnswer, noRanges, RANGE_STATUSES, rangeHeaders } from "./continuation.ts";
import type { BodyReader } from "./body-reader.ts";
import { parseContentRange } from "./content-range.ts";
import { connectionFailure, stallFailure } from "./failure.ts";
import type { Answer, HttpClient } from "./http-client.ts";
import { Overlap } from "./overlap.ts";
import type { Place } from "./place.ts";
import { representationOf } from "./representation.ts";
import type { AnswerHeaders, Representation } from "./representation.ts";
import { MAX_ATTEMPTS, WORTHWHILE_LENGTH } from "./retry-delay.ts";

export class ResumingStream implements ByteStream {
  readonly #client: HttpClient;
  readonly #place: Place;
  #whole: Representation;
  #headers: AnswerHeaders;
  #body: BodyReader;
  #overlap: Overlap | undefined;
  /** Offset of the next byte. */
  #at = 0;
  /** Where the present body began, and where it has to end if it is a range. */
  #from = 0;
  #until: number | undefined;
  #vain = 0;
  #resumes = 0;
  #isClosed = false;
  #hasEnded = false;
  /** Bytes of the next range, where not all that is left is asked for at once. */
  #nextLength: number | undefined;
  readonly #closing = new AbortController();

  private constructor(client: HttpClient, place: Place, answer: Answer) {
    this.#client = client;
    this.#place = place;
    this.#body = answer.body;
    this.#headers = answer.headers;
    this.#whole = representationOf(answer.headers, client.pace.now());
    this.#begin(answer);
  }

  /** @throws SourceError */
  static async open(client: HttpClient, place: Place): Promise<ResumingStream> {
    return new ResumingStream(client, place, await ask(client, place));
  }

  /** What the server said; that of the last answer, as long as no byte was read. */
  get representation(): Representation {
    return this.#whole;
  }

  /** Of the answer whose bytes came first. */
  get headers(): AnswerHeaders {
    return this.#headers;
  }

  /** How often the stream was continued after a cut or a stall. */
  get resumes(): number {
    return this.#resumes;
  }

  /**
   * @throws SourceError SOURCE_TRUNCATED, SOURCE_CHANGED, SOURCE_UNAVAILABLE, or what asking again gave; Interrupted for a
   *         read that waits when the stream is closed
   */
  read(into: Uint8Array): number | Promise<number> {
    if (this.#isClosed || this.#hasEnded || into.length === 0) return 0;
    return this.#read(into);
  }

  /** Ends the request, whatever is being waited for. */
  close(): void {
    this.#isClosed = true;
    this.#closing.abort();
    this.#body.close();
  }

  async #read(into: Uint8Array): Promise<number> {
    for (;;) {
      const outcome = await this.#readBody(into);
      if (typeof outcome === "number") return outcome;
      const failure = outcome ?? (await this.#continue());
      if (failure !== undefined) await this.#resume(failure);
      if (this.#hasEnded) return 0;
    }
  }

  /** Bytes, or 0 at the end, or why there are none; undefined: the range that was asked for is over, the file is not. */
  async #readBody(into: Uint8Array): Promise<number | SourceError | undefined> {
    try {
      const answer = this.#body.read(into);
      const count = typeof answer === "number" ? answer : await answer;
      if (count > 0) return this.#passed(into.subarray(0, count));
      if (this.#at === (this.#whole.size ?? this.#until ?? this.#at)) {
        this.#hasEnded = true;
        this.#body.close();
        return 0;
      }
      if (this.#at === this.#until && this.#nextLength !== undefined) return undefined;
      return this.#truncated(undefined);
    } catch (error) {
      return this.#passingFailure(error);
    }
  }

  /** @throws SourceError for what asking again would not mend */
  #passingFailure(error: unknown): SourceError {
    if (error instanceof SourceError) throw error;
    if (this.#isClosed) throw new Interrupted();
    if (this.#body.stalled) return stallFailure(this.#place, this.#client.options.stallMs).error;
    const failure = connectionFailure(error, this.#place);
    if (!failure.mayRetry) throw failure.error;
    return this.#truncated(failure.error.cause);
  }

  #passed(bytes: Uint8Array): number {
    this.#at += bytes.length;
    if (this.#at > (this.#until ?? this.#whole.size ?? Infinity)) {
      throw changed(this.#place, `more than ${this.#until ?? this.#whole.size} bytes came`);
    }
    if (this.#at - this.#from >= WORTHWHILE_LENGTH) this.#vain = 0;
    this.#overlap?.push(bytes);
    return bytes.length;
  }

  #truncated(cause: unknown): SourceError {
    const { size } = this.#whole;
    const came = size === undefined ? `after ${this.#at} bytes` : `after ${this.#at} of ${size} bytes`;
    return new SourceError("SOURCE_TRUNCATED", `${this.#place.name} broke off ${came}`, {
      context: { offset: this.#at },
      cause,
    });
  }

  /** Asks for what is missing until there is a body to read from. */
  async #resume(failure: SourceError): Promise<void> {
    for (let last = failure; ;) {
      this.#body.close();
      this.#vain += 1;
      if (this.#vain >= MAX_ATTEMPTS) throw last;
      await this.#client.wait(this.#vain, undefined, this.#closing.signal);
      const outcome = this.#at === 0 ? await this.#again() : await this.#continue();
      if (outcome === undefined) break;
      last = outcome;
    }
    this.#resumes += 1;
  }

  /** Nothing was read: another answer is as good as the first. */
  async #again(): Promise<undefined> {
    const answer = await ask(this.#client, this.#place, this.#closing.signal);
    this.#body = answer.body;
    this.#headers = answer.headers;
    this.#whole = representationOf(answer.headers, this.#client.pace.now());
    this.#begin(answer);
  }

  async #continue(): Promise<SourceError | undefined> {
    if (this.#whole.ranges === "none") throw noRanges(this.#place);
    const range = { start: this.#at - (this.#overlap?.length ?? 0), end: this.#nextEnd() };
    const answer = await this.#client.get(this.#place, {
      headers: rangeHeaders(range, this.#whole),
      statuses: RANGE_STATUSES,
      signal: this.#closing.signal,
    });
    this.#body = answer.body;
    try {
      if (this.#isAtEnd(answer)) {
        this.#until = this.#at;
        this.#hasEnded = true;
        return undefined;
      }
      const { end, total } = checkRangeAnswer(answer, range, this.#whole, this.#place);
      this.#until = end;
      this.#whole = { ...this.#whole, size: total };
    } catch (error) {
      answer.body.close();
      throw error;
    }
    this.#from = this.#at;
    return this.#overlap === undefined ? undefined : await this.#compare(this.#overlap.bytes());
  }

  /** A body without a length broke off where it would have ended. */
  #isAtEnd(answer: Answer): boolean {
    if (answer.status !== 416 || this.#whole.size !== undefined) return false;
    return parseContentRange(answer.headers.get("content-range"))?.total === this.#at;
  }

  /** @returns why the bytes could not be compared, should this body break off too */
  async #compare(before: Uint8Array): Promise<SourceError | undefined> {
    const again = new Uint8Array(before.length);
    try {
      if ((await readFully(this.#body, again)) < again.length) return this.#truncated(undefined);
    } catch (error) {
      return this.#passingFailure(error);
    }
    if (Buffer.compare(before, again) === 0) return undefined;
    throw changed(this.#place, `other bytes came before byte ${this.#at}`);
  }

  #nextEnd(): number | undefined {
    if (this.#nextLength === undefined || this.#whole.size === undefined) return undefined;
    const end = Math.min(this.#whole.size, this.#at + this.#nextLength);
    this.#nextLength *= 2;
    return end;
  }

  #begin({ status, headers }: Answer): void {
    const first = status === 206 ? parseContentRange(headers.get("content-range")) : undefined;
    this.#until = first?.end;
    this.#nextLength = first === undefined ? undefined : this.#client.options.firstLength;
    if (first !== undefined) this.#whole = { ...this.#whole, size: first.total, ranges: "bytes" };
    this.#overlap = this.#whole.validator === undefined ? new Overlap() : undefined;
  }
}

/** For everything, or for its start where that is enough for now and the server understands. */
async function ask(client: HttpClient, place: Place, signal?: AbortSignal): Promise<Answer> {
  const { firstLength } = client.options;
  const aborted = signal === undefined ? {} : { signal };
  if (firstLength !== undefined) {
    const headers = { Range: `bytes=0-${firstLength - 1}` };
    const answer = await client.get(place, { headers, statuses: [200, 206, 416], ...aborted });
    const range = parseContentRange(answer.headers.get("content-range"));
    const isStart = range?.start === 0 && range.total !== undefined && (range.end ?? 0) <= firstLength;
    if (answer.status === 200 || (answer.status === 206 && isStart)) return answer;
    answer.body.close();
  }
  return await client.get(place, { statuses: [200], ...aborted });
}
