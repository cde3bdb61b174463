/**
 * Ranges of a file or disk of which several are on their way at once, taken in order: what streams over a network are made of.
 */
import { Interrupted } from "./errors.ts";

/** `[start, end)`. */
export interface PieceRange {
  readonly start: number;
  readonly end: number;
}

interface Piece extends PieceRange {
  readonly coming: Promise<Uint8Array>;
  bytes?: Uint8Array;
}

export interface PieceSource {
  /** All bytes of the range. */
  readonly fetch: (range: PieceRange) => Promise<Uint8Array>;
  /** Called with what `fetch` gave, once all of it was taken: it may be used again. */
  readonly taken?: (bytes: Uint8Array) => void;
}

export class PieceQueue {
  readonly #atOnce: number;
  readonly #source: PieceSource;
  readonly #pieces: Piece[] = [];
  #isClosed = false;

  /** @param atOnce pieces at most, the one that is being taken among them */
  constructor(atOnce: number, source: PieceSource) {
    this.#atOnce = atOnce;
    this.#source = source;
  }

  /** The one to be taken next. */
  get first(): PieceRange | undefined {
    return this.#pieces[0];
  }

  get isFull(): boolean {
    return this.#pieces.length >= this.#atOnce;
  }

  /** Sends for a range behind those that were sent for before. */
  add({ start, end }: PieceRange): void {
    const piece: Piece = { start, end, coming: this.#source.fetch({ start, end }) };
    // Whoever takes the piece sees an error; nobody does if the stream is closed before.
    piece.coming.then(
      (bytes) => (piece.bytes = bytes),
      () => undefined,
    );
    this.#pieces.push(piece);
  }

  /**
   * Copies what the first piece has from offset `at` on; with its last byte the piece is gone.
   * @returns how many bytes, at least one
   * @throws as `fetch` does; Interrupted where the queue was closed meanwhile
   */
  take(into: Uint8Array, at: number): number | Promise<number> {
    const [piece] = this.#pieces;
    if (piece === undefined) throw new Error(`no piece was sent for at ${at}`);
    if (piece.bytes !== undefined) return this.#copy(piece, piece.bytes, into, at);
    return piece.coming.then((bytes) => {
      if (this.#isClosed) throw new Interrupted();
      return this.#copy(piece, bytes, into, at);
    });
  }

  close(): void {
    this.#isClosed = true;
    this.#pieces.length = 0;
  }

  #copy(piece: Piece, bytes: Uint8Array, into: Uint8Array, at: number): number {
    const rest = bytes.subarray(at - piece.start);
    const count = Math.min(rest.length, into.length);
    into.set(rest.subarray(0, count));
    if (at + count === piece.end) {
      this.#pieces.shift();
      this.#source.taken?.(bytes);
    }
    return count;
  }
}
