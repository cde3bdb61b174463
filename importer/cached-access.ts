/**
 * Remembers small pieces of a file that is read over the network, for parsers: they ask for a header here and a table there,
 * and a request takes as long for a kilobyte as for many. Long reads pass by.
 */
import type { RandomAccess, ReadSpec } from "./random-access.ts";

/** Small enough that the data around a scattered table is not fetched twice for nothing. */
const BLOCK_LENGTH = 16 * 1024;

/** 4 MiB: the tables of a few windows that are parsed at once. */
const MAX_BLOCKS = 256;

/** Longer reads would only push out what is worth keeping. */
const MAX_CACHED_LENGTH = 256 * 1024;

type Block = Uint8Array | Promise<Uint8Array>;

export class CachedAccess implements RandomAccess {
  readonly #file: RandomAccess;
  readonly #head: Uint8Array;
  /** By number, those used last at the end. */
  readonly #blocks = new Map<number, Block>();

  /** @param head the file's first bytes, which are there already */
  constructor(file: RandomAccess, head: Uint8Array) {
    this.#file = file;
    this.#head = head;
  }

  get size(): number {
    return this.#file.size;
  }

  get spec(): ReadSpec {
    return this.#file.spec;
  }

  get retries(): number {
    return this.#file.retries ?? 0;
  }

  readAt(into: Uint8Array, offset: number): number | Promise<number> {
    const wanted = Math.max(0, Math.min(into.length, this.size - offset));
    if (wanted === 0) return 0;
    if (offset + wanted <= this.#head.length) {
      into.set(this.#head.subarray(offset, offset + wanted));
      return wanted;
    }
    if (wanted > MAX_CACHED_LENGTH) return this.#file.readAt(into, offset);
    return this.#read(into.subarray(0, wanted), offset);
  }

  close(): void {
    this.#file.close();
  }

  async #read(into: Uint8Array, offset: number): Promise<number> {
    const first = Math.floor(offset / BLOCK_LENGTH);
    const last = Math.floor((offset + into.length - 1) / BLOCK_LENGTH);
    const blocks: Block[] = [];
    for (let number = first; number <= last; number++) blocks.push(this.#block(number, last));
    for (const [index, block] of blocks.entries()) {
      const bytes = block instanceof Uint8Array ? block : await block;
      const at = (first + index) * BLOCK_LENGTH - offset;
      into.set(bytes.subarray(Math.max(0, -at), into.length - at), Math.max(0, at));
    }
    return into.length;
  }

  /** A block that is there or on its way; else it is fetched, together with those up to `last` that are missing too. */
  #block(number: number, last: number): Block {
    const known = this.#blocks.get(number);
    if (known !== undefined) {
      this.#blocks.delete(number);
      this.#blocks.set(number, known);
      return known;
    }
    let end = number + 1;
    while (end <= last && !this.#blocks.has(end)) end += 1;
    const fetched = this.#fetch(number, end);
    for (let each = number; each < end; each++) {
      const start = (each - number) * BLOCK_LENGTH;
      const block = fetched.then((bytes) => bytes.slice(start, start + BLOCK_LENGTH));
      this.#remember(each, block);
    }
    return this.#blocks.get(number) ?? fetched;
  }

  #remember(number: number, block: Promise<Uint8Array>): void {
    this.#blocks.set(number, block);
    void this.#settle(number, block);
    for (const oldest of this.#blocks.keys()) {
      if (this.#blocks.size <= MAX_BLOCKS) break;
      this.#blocks.delete(oldest);
    }
  }

  async #settle(number: number, block: Promise<Uint8Array>): Promise<void> {
    try {
      const bytes = await block;
      if (this.#blocks.get(number) === block) this.#blocks.set(number, bytes);
    } catch {
      // Whoever waits for it is told; whoever asks again gets another request.
      if (this.#blocks.get(number) === block) this.#blocks.delete(number);
    }
  }

  async #fetch(first: number, end: number): Promise<Uint8Array> {
    const start = first * BLOCK_LENGTH;
    const bytes = new Uint8Array(Math.min(end * BLOCK_LENGTH, this.size) - start);
    await this.#file.readAt(bytes, start);
    return bytes;
  }
}
