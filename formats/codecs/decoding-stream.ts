/**
 * The ByteStream around a decoder: pulls input, hands out output, remembers the first failure, frees everything once.
 *
 * A decoder that answers at once, on an input that answers at once, is read without a single promise. A read that waits
 * while the stream is closed fails instead of touching what has been freed.
 */
import type { ByteStream } from "../byte-stream.ts";
import { InputWindow } from "./input-window.ts";

export interface Decoder {
  /**
   * Decodes from the window, which it consumes, into `into`, which has room.
   * @returns how many bytes; 0 means that it wants more input or, with `finished`, that the data has ended properly
   * @throws FormatError; also if the window has ended and the data has not
   */
  run(window: InputWindow, into: Uint8Array): number | Promise<number>;
  readonly finished: boolean;
  /** It decodes in threads of its own: where its window is empty it is given more before it is asked for output. */
  readonly worksAhead?: boolean;
  /** Frees what it holds, a second time too. Called when it has finished or failed, or when nobody reads on. */
  close(): void;
}

export class DecodingStream implements ByteStream {
  readonly #window: InputWindow;
  readonly #decoder: Decoder;
  #wantsInput = true;
  #ended = false;
  #closed = false;
  #failure: { readonly error: unknown } | undefined;

  /** @param decoder made without work; native state is allocated by its first `run` */
  constructor(input: ByteStream, decoder: Decoder) {
    this.#window = new InputWindow(input);
    this.#decoder = decoder;
  }

  read(into: Uint8Array): number | Promise<number> {
    this.#assertReadable();
    if (this.#ended || into.length === 0) return 0;
    try {
      for (;;) {
        const turn = this.#turn(into);
        if (typeof turn === "number") return turn;
        if (turn !== undefined) return this.#readLater(turn, into);
      }
    } catch (error) {
      throw this.#fail(error);
    }
  }

  close(): void | Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#decoder.close();
    return this.#window.close();
  }

  async #readLater(first: Promise<number | undefined>, into: Uint8Array): Promise<number> {
    try {
      let turn: number | undefined | Promise<number | undefined> = first;
      for (;;) {
        const answer = typeof turn === "object" ? await turn : turn;
        this.#assertReadable();
        if (answer !== undefined) return answer;
        turn = this.#turn(into);
      }
    } catch (error) {
      throw this.#fail(error);
    }
  }

  /** One step: undefined means that another one is needed. */
  #turn(into: Uint8Array): number | undefined | Promise<number | undefined> {
    if (this.#wantsInput || (this.#decoder.worksAhead === true && this.#window.length === 0 && !this.#window.ended)) {
      this.#wantsInput = false;
      const count = this.#window.refill();
      return typeof count === "number" ? undefined : count.then(() => undefined);
    }
    const produced = this.#decoder.run(this.#window, into);
    return typeof produced === "number" ? this.#settle(produced) : produced.then((later) => this.#settle(later));
  }

  #settle(produced: number): number | undefined {
    if (produced > 0) return produced;
    if (this.#decoder.finished) {
      this.#ended = true;
      this.#decoder.close();
      return 0;
    }
    if (this.#window.ended) throw new Error("a decoder asks for input after the end of it");
    this.#wantsInput = true;
    return undefined;
  }

  #assertReadable(): void {
    if (this.#failure !== undefined) throw this.#failure.error;
    if (this.#closed) throw new Error("the stream was closed while it was read");
  }

  #fail(error: unknown): unknown {
    this.#failure ??= { error };
    this.#decoder.close();
    return this.#failure.error;
  }
}
