/**
 * The refcount table and its blocks, which a reader of the disk has no use for.
 *
 * A single pass asks for them all the same, in host order with the other tables: what was asked for is not disk content,
 * so a stream's driver need not keep it. Only a courtesy: whatever looks wrong is left out, and nothing fails because of
 * a refcount.
 */
import { MIB, viewOf } from "../bytes.ts";
import type { Need } from "../disk-format.ts";
import type { Geometry } from "./geometry.ts";
import { TWO_32 } from "./host-cluster.ts";

type Passing = Generator<Need, void, Uint8Array | undefined>;

const MAX_TABLE_LENGTH = 8 * MIB; // QEMU's limit
const PIECE_LENGTH = MIB;

/** Where the refcount table lies, as the header says; not checked by whoever sets it. */
export interface RefcountTable {
  readonly offset: number;
  readonly length: number;
}

export class RefcountWalk {
  /** Host offset before which everything was asked for already. */
  position: number;
  readonly #geometry: Geometry;
  readonly #table: RefcountTable;
  #tablePending: boolean;
  #blocks: Float64Array = new Float64Array(0); // ascending
  #next = 0;

  /** @param position how far the header was read */
  constructor(table: RefcountTable, geometry: Geometry, position: number) {
    this.#table = table;
    this.#geometry = geometry;
    this.position = position;
    const end = table.offset + table.length;
    const l1End = geometry.l1Offset + geometry.l1Entries * 8;
    this.#tablePending =
      table.length > 0 &&
      table.length <= MAX_TABLE_LENGTH &&
      table.offset >= geometry.clusterSize &&
      table.offset % geometry.clusterSize === 0 &&
      end <= geometry.hostEnd &&
      (end <= geometry.l1Offset || table.offset >= l1End);
  }

  /** Asks for what lies before host offset `limit`, where the next table of the disk begins: the header's rest too. */
  *passUpTo(limit: number): Passing {
    const { clusterSize } = this.#geometry;
    if (this.position < clusterSize && clusterSize <= limit) yield* this.#pass(this.position, clusterSize);
    if (this.#tablePending && this.#table.offset + this.#table.length <= limit) {
      this.#tablePending = false;
      if (this.#table.offset >= this.position) yield* this.#readTable();
    }
    for (; this.#next < this.#blocks.length; this.#next++) {
      const block = this.#blocks[this.#next] ?? 0;
      if (block >= limit) break;
      if (block >= this.position) yield* this.#pass(block, block + clusterSize);
    }
  }

  *#pass(offset: number, end: number): Passing {
    this.position = end;
    yield { offset, length: end - offset, shortAtEnd: true };
  }

  *#readTable(): Passing {
    const { offset, length } = this.#table;
    const { clusterSize, hostEnd } = this.#geometry;
    const blocks: number[] = []; // one for 2 GiB of file in 64 KiB clusters
    for (let at = 0; at < length; at += PIECE_LENGTH) {
      const bytes = yield { offset: offset + at, length: Math.min(PIECE_LENGTH, length - at), shortAtEnd: true };
      if (bytes === undefined) break;
      const view = viewOf(bytes);
      for (let entry = 0; entry + 8 <= bytes.length; entry += 8) {
        const block = view.getUint32(entry) * TWO_32 + view.getUint32(entry + 4);
        if (block !== 0 && block % clusterSize === 0 && block < hostEnd && block <= Number.MAX_SAFE_INTEGER)
          blocks.push(block);
      }
    }
    this.position = offset + length;
    this.#blocks = Float64Array.from(blocks).sort();
  }
}
