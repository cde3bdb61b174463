/**
 * A connection to an NBD server on a Unix socket: bytes in whole pieces, a limit on silence, errors in our words.
 */
import net from "node:net";
import { readFully } from "../../formats/byte-stream.ts";
import { Interrupted, SourceError } from "../errors.ts";
import { BodyReader } from "../http/body-reader.ts";
import { codeOf } from "../http/redact.ts";
import { StallWatch } from "../http/stall.ts";

export class Wire {
  /** Safe to show. */
  readonly name: string;
  readonly #socket: net.Socket;
  readonly #reader: BodyReader;
  readonly #limitMs: number;
  #isClosed = false;

  private constructor(name: string, socket: net.Socket, limitMs: number) {
    this.name = name;
    this.#socket = socket;
    this.#limitMs = limitMs;
    const watch = new StallWatch(limitMs, undefined);
    watch.signal.addEventListener("abort", () => socket.destroy(), { once: true });
    this.#reader = new BodyReader(socket, watch);
  }

  /** @throws SourceError SOURCE_UNAVAILABLE; Interrupted */
  static async connect(path: string, limitMs: number, signal: AbortSignal): Promise<Wire> {
    if (signal.aborted) throw new Interrupted();
    const socket = net.connect({ path, signal });
    try {
      await new Promise<void>((resolve, reject) => {
        socket.once("connect", resolve).once("error", reject);
      });
    } catch (error) {
      if (signal.aborted) throw new Interrupted();
      const message = `no NBD server answers at ${path}`;
      throw new SourceError("SOURCE_UNAVAILABLE", message, { context: { path, errno: codeOf(error) }, cause: error });
    }
    return new Wire(`the NBD server at ${path}`, socket, limitMs);
  }

  /** The next `length` bytes. @throws SourceError SOURCE_UNAVAILABLE, SOURCE_TRUNCATED; Interrupted once it was closed */
  async read(length: number): Promise<Buffer> {
    const bytes = Buffer.alloc(length);
    await this.readInto(bytes);
    return bytes;
  }

  async readInto(bytes: Uint8Array): Promise<void> {
    try {
      if ((await readFully(this.#reader, bytes)) === bytes.length) return;
    } catch (error) {
      if (this.#reader.stalled) {
        const message = `${this.name} gave no byte for ${this.#limitMs / 1000} seconds`;
        throw new SourceError("SOURCE_UNAVAILABLE", message, { context: { stalled: true } });
      }
      if (this.#isClosed) throw new Interrupted();
      throw new SourceError("SOURCE_TRUNCATED", `${this.name} hung up`, { cause: error });
    }
    if (this.#isClosed) throw new Interrupted();
    throw new SourceError("SOURCE_TRUNCATED", `${this.name} hung up`);
  }

  write(bytes: Uint8Array): void {
    if (!this.#isClosed) this.#socket.write(bytes);
  }

  /** What the server did that no server may do. */
  violation(what: string): SourceError {
    return new SourceError("SOURCE_UNAVAILABLE", `${this.name} breaks the NBD protocol: ${what}`);
  }

  /** @param lastWords are sent before */
  close(lastWords?: Uint8Array): void {
    if (this.#isClosed) return;
    if (lastWords !== undefined) this.#socket.write(lastWords);
    this.#isClosed = true;
    this.#socket.end();
    this.#reader.close();
  }
}
