/**
 * A disk of an NBD server from its first byte to its last. Block status is asked for piece by piece, never for the whole disk
 * at once: some servers take seconds for each gigabyte. What reads as zeros is not read.
 */
import type { ByteStream } from "../../formats/byte-stream.ts";
import { Interrupted } from "../errors.ts";
import { PieceQueue } from "../piece-queue.ts";
import type { NbdClient } from "./nbd-client.ts";

/** Bytes of a read: what vCenter servers are best asked for. */
const READ_LENGTH = 2 * 1024 * 1024;

/** Reads at once: one is on its way while another is taken. */
const AT_ONCE = 3;

/** How much of the disk one block status is asked for. */
const STATUS_LENGTH = 1024 * 1024 * 1024;

interface Run {
  readonly end: number;
  readonly isZero: boolean;
}

export class NbdStream implements ByteStream {
  readonly #client: NbdClient;
  /** What comes from `#at` on, as far as it is known. */
  readonly #runs: Run[] = [];
  readonly #pieces: PieceQueue;
  #at = 0;
  #asked = 0;
  #isClosed = false;

  constructor(client: NbdClient) {
    this.#client = client;
    this.#pieces = new PieceQueue(AT_ONCE, { fetch: ({ start, end }) => client.read(start, end - start) });
  }

  /** @throws SourceError; Interrupted for a read that waits when the stream is closed */
  async read(into: Uint8Array): Promise<number> {
    if (this.#isClosed || into.length === 0 || this.#at === this.#client.size) return 0;
    if (this.#runs.length === 0) await this.#learn();
    const [run] = this.#runs;
    if (this.#isClosed || run === undefined) throw new Interrupted();
    const count = run.isZero ? this.#takeZeros(into, run) : await this.#takeData(into, run);
    this.#at += count;
    if (this.#at === run.end) this.#runs.shift();
    return count;
  }

  /** The client is its opener's. */
  close(): void {
    this.#isClosed = true;
    this.#runs.length = 0;
    this.#pieces.close();
  }

  /** A server that does not know is read whole, a piece of the disk at a time. */
  async #learn(): Promise<void> {
    const { size } = this.#client;
    const until = Math.min(size, this.#at + STATUS_LENGTH);
    const status = (await this.#client.blockStatus(this.#at, until - this.#at)) ?? [
      { length: until - this.#at, isZero: false },
    ];
    let end = this.#at;
    for (const { length, isZero } of status) {
      if (end === size) return;
      end = Math.min(size, end + length);
      this.#runs.push({ end, isZero });
    }
  }

  #takeZeros(into: Uint8Array, run: Run): number {
    const count = Math.min(into.length, run.end - this.#at);
    into.fill(0, 0, count);
    return count;
  }

  async #takeData(into: Uint8Array, run: Run): Promise<number> {
    this.#ask(run);
    const count = await this.#pieces.take(into, this.#at);
    this.#ask(run);
    return count;
  }

  /** Keeps reads of this run on their way. */
  #ask(run: Run): void {
    let start = Math.max(this.#at, this.#asked);
    while (!this.#pieces.isFull && start < run.end) {
      const end = Math.min(run.end, start + READ_LENGTH);
      this.#pieces.add({ start, end });
      start = end;
    }
    this.#asked = start;
  }
}
