/**
 * A disk from its first byte to its last, of which only the data is fetched: zeros are made here.
 *
 * Data comes in pieces, each by a request of its own, some at once and in order; a cut costs the rest of one piece. Memory is
 * bounded by pieces times connections.
 */
import type { ByteStream } from "../../formats/byte-stream.ts";
import type { RangeReader } from "../http/range-reader.ts";
import { PieceQueue } from "../piece-queue.ts";
import type { DataRun, DiskExtents } from "./extents.ts";

/** Bytes of a piece: at 20 ms a request, four connections bring 400 MB/s. */
const PIECE_LENGTH = 2 * 1024 * 1024;

/** More do not help: one reader takes what they bring. */
const MAX_AT_ONCE = 4;

export class ExtentStream implements ByteStream {
  readonly #reader: RangeReader;
  readonly #size: number;
  readonly #wanted: Iterator<DataRun>;
  readonly #pieces: PieceQueue;
  readonly #closing = new AbortController();
  #at = 0;
  #fetched = 0;

  /** @param connections that the server allows at once */
  constructor(reader: RangeReader, { size, runs }: DiskExtents, connections: number) {
    this.#reader = reader;
    this.#size = size;
    this.#wanted = piecesOf(runs);
    const atOnce = Math.max(1, Math.min(connections, MAX_AT_ONCE));
    this.#pieces = new PieceQueue(atOnce, { fetch: (run) => this.#fetch(run) });
  }

  /** Bytes that came over the network. */
  get fetched(): number {
    return this.#fetched;
  }

  /** @throws SourceError as the requests go; Interrupted for a read that waits when the stream is closed */
  read(into: Uint8Array): number | Promise<number> {
    if (this.#closing.signal.aborted || this.#at === this.#size || into.length === 0) return 0;
    this.#ask();
    const { first } = this.#pieces;
    if (first !== undefined && first.start <= this.#at) return this.#take(into);
    const count = Math.min(into.length, (first?.start ?? this.#size) - this.#at);
    into.fill(0, 0, count);
    this.#at += count;
    return count;
  }

  close(): void {
    this.#closing.abort();
    this.#pieces.close();
  }

  async #take(into: Uint8Array): Promise<number> {
    const count = await this.#pieces.take(into, this.#at);
    this.#at += count;
    this.#ask();
    return count;
  }

  /** Keeps as many requests going as may be. */
  #ask(): void {
    while (!this.#pieces.isFull) {
      const next = this.#wanted.next();
      if (next.done === true) return;
      this.#pieces.add(next.value);
    }
  }

  async #fetch({ start, end }: DataRun): Promise<Uint8Array> {
    const bytes = await this.#reader.readRange(start, end - start, this.#closing.signal);
    this.#fetched += bytes.length;
    return bytes;
  }
}

function* piecesOf(runs: readonly DataRun[]): Generator<DataRun, undefined> {
  for (const { start, end } of runs) {
    for (let at = start; at < end; at += PIECE_LENGTH) yield { start: at, end: Math.min(end, at + PIECE_LENGTH) };
  }
  return undefined;
}
