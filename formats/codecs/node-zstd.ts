/** zstd frames through node:zlib, which is shown one frame at a time. */
import { FormatError } from "../errors.ts";
import type { InputWindow } from "./input-window.ts";
import { createZstdPump } from "./node-zlib.ts";
import type { NodePump } from "./node-zlib.ts";
import type { FrameDecoder } from "./zstd.ts";
import { FrameWalker } from "./zstd-frame.ts";
import type { ZstdFrame } from "./zstd-frame.ts";

export class NodeZstd implements FrameDecoder {
  done = false;
  readonly #pump: NodePump = createZstdPump();
  #walker: FrameWalker | undefined;
  #lent = 0; // bytes of the window that the pump is busy with

  begin(frame: ZstdFrame): void {
    this.#walker = new FrameWalker(frame);
    this.#lent = 0;
    this.done = false;
  }

  run(window: InputWindow, into: Uint8Array): number | Promise<number> {
    const walker = this.#walker as FrameWalker;
    if (this.#lent === 0 && !walker.done) {
      this.#lent = walker.walk(window.bytes());
      if (this.#lent > 0) this.#pump.write(window.bytes().subarray(0, this.#lent));
    }
    try {
      const produced = this.#pump.read(into);
      if (typeof produced === "number") return this.#settle(walker, window, produced);
      return produced.then((later) => this.#settle(walker, window, later), rethrowCorrupt);
    } catch (error) {
      return rethrowCorrupt(error);
    }
  }

  close(): void {
    this.#pump.close();
  }

  #settle(walker: FrameWalker, window: InputWindow, produced: number): number {
    if (produced > 0) return produced;
    if (this.#pump.ended) {
      throw new FormatError("FORMAT_CORRUPT", "a zstd frame decodes to its end before its blocks end");
    }
    window.consume(this.#lent);
    this.#lent = 0;
    this.done = walker.done;
    return 0;
  }
}

function rethrowCorrupt(cause: unknown): never {
  if (cause instanceof FormatError) throw cause;
  throw new FormatError("FORMAT_CORRUPT", "a zstd frame does not decode", { cause });
}
