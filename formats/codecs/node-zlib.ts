/**
 * node:zlib's streaming decoders, read into the caller's buffer and with the end of the data known exactly.
 *
 * Node's own notion of the end is not used: its streams end normally between members and frames, and in some versions
 * inside one. The caller frames the data; this only moves bytes, at most two chunks ahead.
 */
import zlib from "node:zlib";
import { FormatError } from "../errors.ts";
import type { Inflater } from "./gzip.ts";
import type { InputWindow } from "./input-window.ts";

const CHUNK_LENGTH = 128 * 1024; // of output; larger ones measured no faster

/** A decoder of node:zlib that is written to and read from by hand. */
export class NodePump {
  readonly #stream: zlib.InflateRaw | zlib.ZstdDecompress;
  #busy = false;
  #written = 0;
  #output: Uint8Array = new Uint8Array(0);
  #failure: Error | undefined;
  #wake: (() => void) | undefined;

  constructor(stream: zlib.InflateRaw | zlib.ZstdDecompress) {
    this.#stream = stream;
    stream.on("readable", () => this.#notify());
    stream.on("end", () => {
      this.#busy = false;
      this.#notify();
    });
    stream.on("error", (error) => {
      this.#failure = error;
      this.#notify();
    });
    stream.on("close", () => {
      if (this.#busy) this.#failure ??= new Error("the decoder was closed");
      this.#notify();
    });
  }

  /** True until the decoder is through with what was written. Nothing may be written meanwhile. */
  get busy(): boolean {
    return this.#busy;
  }

  /** True once it has left some of its input: the data has ended before that. Written to no more. */
  get ended(): boolean {
    return !this.#busy && this.consumed < this.#written;
  }

  /** How many of the bytes written so far the decoder has taken. */
  get consumed(): number {
    return this.#stream.bytesWritten;
  }

  /** @param bytes are lent: they stay as they are until it is no longer busy */
  write(bytes: Uint8Array): void {
    this.#busy = true;
    this.#written += bytes.length;
    this.#stream.write(bytes, () => {
      this.#busy = false;
      this.#notify();
    });
  }

  /**
   * @returns decoded bytes, or 0 once all input is consumed and all of its output read
   * @throws what node:zlib found, as it is
   */
  read(into: Uint8Array): number | Promise<number> {
    for (;;) {
      if (this.#output.length > 0) {
        const count = Math.min(this.#output.length, into.length);
        into.set(this.#output.subarray(0, count));
        this.#output = this.#output.subarray(count);
        return count;
      }
      if (this.#failure !== undefined) throw this.#failure;
      const chunk = this.#stream.read() as Uint8Array | null;
      if (chunk !== null) this.#output = chunk;
      else if (!this.#busy) return 0;
      else return this.#wait().then(() => this.read(into));
    }
  }

  close(): void {
    this.#output = new Uint8Array(0);
    this.#stream.destroy();
  }

  #wait(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }

  #notify(): void {
    this.#wake?.();
    this.#wake = undefined;
  }
}

/** Raw deflate through node:zlib. */
export class NodeInflater implements Inflater {
  done = false;
  readonly crc = undefined;
  #pump: NodePump | undefined;
  #lent = 0; // bytes of the window that the pump is busy with
  #taken = 0;

  begin(): void {
    // A zlib stream of Node is finished for good at the end of its data, so each member has its own.
    this.#pump?.close();
    this.#pump = new NodePump(zlib.createInflateRaw({ chunkSize: CHUNK_LENGTH }));
    this.done = false;
    this.#lent = 0;
    this.#taken = 0;
  }

  run(window: InputWindow, into: Uint8Array): number | Promise<number> {
    const pump = this.#pump as NodePump;
    if (this.#lent === 0 && window.length > 0) {
      this.#lent = window.length;
      pump.write(window.bytes());
    }
    try {
      const produced = pump.read(into);
      if (typeof produced === "number") return this.#settle(pump, window, produced);
      return produced.then((later) => this.#settle(pump, window, later), rethrowCorrupt);
    } catch (error) {
      return rethrowCorrupt(error);
    }
  }

  close(): void {
    this.#pump?.close();
  }

  /** Consumes what the pump is through with: only then may the window's bytes be moved. */
  #settle(pump: NodePump, window: InputWindow, produced: number): number {
    if (produced > 0) return produced;
    window.consume(pump.consumed - this.#taken);
    this.#taken = pump.consumed;
    this.#lent = 0;
    this.done = pump.ended;
    return 0;
  }
}

function rethrowCorrupt(cause: unknown): never {
  throw new FormatError("FORMAT_CORRUPT", "the deflate data does not decode", { cause });
}

/** A zstd decoder that takes frame after frame, if each write stays inside one. */
export function createZstdPump(): NodePump {
  return new NodePump(
    zlib.createZstdDecompress({
      chunkSize: CHUNK_LENGTH,
      // The window was compared with the caller's limit before; Node's own limit would be 128 MiB.
      params: { [zlib.constants.ZSTD_d_windowLogMax]: 31 },
    }),
  );
}
