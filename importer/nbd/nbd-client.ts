/**
 * Reads a disk from an NBD server: several requests may be on their way, their answers come in any order and in pieces.
 */
import { asError, Interrupted, SourceError } from "../errors.ts";
import { shakeHands } from "./handshake.ts";
import type { Export } from "./handshake.ts";
import {
  CMD_BLOCK_STATUS,
  CMD_DISC,
  CMD_READ,
  commandRequest,
  REPLY_FLAG_DONE,
  REPLY_TYPE_BLOCK_STATUS,
  REPLY_TYPE_ERROR,
  REPLY_TYPE_NONE,
  REPLY_TYPE_OFFSET_DATA,
  REPLY_TYPE_OFFSET_HOLE,
  SIMPLE_REPLY_MAGIC,
  STATE_ZERO,
  STRUCTURED_REPLY_MAGIC,
} from "./protocol.ts";
import { Wire } from "./wire.ts";

/** What a range of the disk is, from where the one before ended. */
export interface BlockStatus {
  readonly length: number;
  readonly isZero: boolean;
}

/** Longest read: what every server must allow (32 MiB), and less than that. */
const MAX_READ_LENGTH = 4 * 1024 * 1024;

/** Extents in one answer, eight bytes each. */
const MAX_STATUS_LENGTH = 1024 * 1024;

const MAX_ERROR_LENGTH = 4096 + 32;

interface Pending {
  readonly offset: number;
  /** Of a read. */
  readonly bytes: Buffer;
  /** How many of them came. */
  filled: number;
  readonly status: BlockStatus[];
  /** The server's number of an error. */
  error: number | undefined;
  readonly settle: (error: Error | undefined) => void;
}

export class NbdClient {
  readonly size: number;
  readonly #wire: Wire;
  readonly #export: Export;
  readonly #pending = new Map<number, Pending>();
  #cookie = 0;
  #failure: Error | undefined;

  private constructor(wire: Wire, found: Export) {
    this.size = found.size;
    this.#wire = wire;
    this.#export = found;
  }

  /**
   * @param path    of a Unix socket
   * @param stallMs how long no byte may come while some are waited for
   * @throws SourceError; Interrupted
   */
  static async connect(path: string, stallMs: number, signal: AbortSignal): Promise<NbdClient> {
    const wire = await Wire.connect(path, stallMs, signal);
    const stop = (): void => wire.close();
    signal.addEventListener("abort", stop, { once: true });
    try {
      return new NbdClient(wire, await shakeHands(wire));
    } catch (error) {
      wire.close();
      throw error;
    } finally {
      signal.removeEventListener("abort", stop);
    }
  }

  get name(): string {
    return this.#wire.name;
  }

  /** @throws SourceError SOURCE_UNAVAILABLE with the server's error */
  async read(offset: number, length: number): Promise<Buffer> {
    if (length > MAX_READ_LENGTH || offset + length > this.size) throw new Error(`a read of ${length} at ${offset}`);
    const { bytes, filled, error } = await this.#ask(CMD_READ, offset, length, Buffer.alloc(length));
    if (error !== undefined) throw this.#refused("read", offset, error);
    if (filled !== length) throw this.#wire.violation("a read brought another number of bytes");
    return bytes;
  }

  /**
   * What lies from `offset` on; it may be told of more or of less than `length`.
   * @returns undefined where the server does not know
   */
  async blockStatus(offset: number, length: number): Promise<readonly BlockStatus[] | undefined> {
    if (this.#export.allocation === undefined) return undefined;
    const { status, error } = await this.#ask(CMD_BLOCK_STATUS, offset, length, Buffer.alloc(0));
    return error !== undefined || status.length === 0 ? undefined : status;
  }

  close(): void {
    this.#failure ??= new Interrupted();
    this.#wire.close(commandRequest(CMD_DISC, 0, 0, 0));
  }

  async #ask(command: number, offset: number, length: number, bytes: Buffer): Promise<Pending> {
    if (this.#failure !== undefined) throw this.#failure;
    const cookie = ++this.#cookie;
    return await new Promise((resolve, reject) => {
      const settle = (error: Error | undefined): void => (error === undefined ? resolve(pending) : reject(error));
      const pending: Pending = { offset, bytes, filled: 0, status: [], error: undefined, settle };
      this.#pending.set(cookie, pending);
      this.#wire.write(commandRequest(command, cookie, offset, length));
      if (this.#pending.size === 1) void this.#receive();
    });
  }

  /** As long as somebody waits; what goes wrong ends all of them. */
  async #receive(): Promise<void> {
    try {
      while (this.#pending.size > 0) {
        const magic = (await this.#wire.read(4)).readUInt32BE(0);
        if (magic === STRUCTURED_REPLY_MAGIC && this.#export.isStructured) await this.#receiveChunk();
        else if (magic === SIMPLE_REPLY_MAGIC) await this.#receiveSimple();
        else throw this.#wire.violation("an answer is none");
      }
    } catch (error) {
      this.#failure ??= asError(error);
      for (const { settle } of this.#pending.values()) settle(this.#failure);
      this.#pending.clear();
      this.#wire.close();
    }
  }

  async #receiveSimple(): Promise<void> {
    const head = await this.#wire.read(12);
    const pending = this.#waiting(head.readUInt32BE(8));
    const error = head.readUInt32BE(0);
    if (error !== 0) pending.error = error;
    else pending.filled += await this.#fill(pending, 0, pending.bytes.length);
    this.#finish(head.readUInt32BE(8));
  }

  async #receiveChunk(): Promise<void> {
    const head = await this.#wire.read(16);
    const [flags, type, cookie, length] = [
      head.readUInt16BE(0),
      head.readUInt16BE(2),
      head.readUInt32BE(8),
      head.readUInt32BE(12),
    ];
    const pending = this.#waiting(cookie);
    if (type >= REPLY_TYPE_ERROR) pending.error = await this.#readError(length);
    else if (type === REPLY_TYPE_OFFSET_DATA) await this.#readData(pending, length);
    else if (type === REPLY_TYPE_OFFSET_HOLE) await this.#readHole(pending, length);
    else if (type === REPLY_TYPE_BLOCK_STATUS) await this.#readStatus(pending, length);
    else if (type !== REPLY_TYPE_NONE || length > 0) throw this.#wire.violation(`an answer of type ${type}`);
    if ((flags & REPLY_FLAG_DONE) !== 0) this.#finish(cookie);
  }

  async #readError(length: number): Promise<number> {
    if (length < 6 || length > MAX_ERROR_LENGTH) throw this.#wire.violation("an error of another length");
    return (await this.#wire.read(length)).readUInt32BE(0);
  }

  async #readData(pending: Pending, length: number): Promise<void> {
    if (length < 8) throw this.#wire.violation("data without an offset");
    pending.filled += await this.#fill(pending, await this.#readOffset(pending), length - 8);
  }

  async #readHole(pending: Pending, length: number): Promise<void> {
    if (length !== 12) throw this.#wire.violation("a hole of another length");
    const start = await this.#readOffset(pending);
    const count = (await this.#wire.read(4)).readUInt32BE(0);
    if (start + count > pending.bytes.length)
      throw this.#wire.violation("a hole outside of the range that was asked for");
    pending.bytes.fill(0, start, start + count);
    pending.filled += count;
  }

  async #readStatus(pending: Pending, length: number): Promise<void> {
    if (length % 8 !== 4 || length > MAX_STATUS_LENGTH) throw this.#wire.violation("a block status of another length");
    const answer = await this.#wire.read(length);
    if (answer.readUInt32BE(0) !== this.#export.allocation) return;
    for (let at = 4; at < length; at += 8) {
      const extent = { length: answer.readUInt32BE(at), isZero: (answer.readUInt32BE(at + 4) & STATE_ZERO) !== 0 };
      if (extent.length === 0) throw this.#wire.violation("an extent without a length");
      pending.status.push(extent);
    }
  }

  /** From the offset in the disk to the one in the answer's buffer. */
  async #readOffset(pending: Pending): Promise<number> {
    const start = (await this.#wire.read(8)).readBigUInt64BE(0) - BigInt(pending.offset);
    if (start < 0n || start > BigInt(pending.bytes.length)) throw this.#wire.violation("data that nobody asked for");
    return Number(start);
  }

  async #fill(pending: Pending, start: number, count: number): Promise<number> {
    if (start + count > pending.bytes.length) throw this.#wire.violation("more data than was asked for");
    await this.#wire.readInto(pending.bytes.subarray(start, start + count));
    return count;
  }

  #waiting(cookie: number): Pending {
    const pending = this.#pending.get(cookie);
    if (pending === undefined) throw this.#wire.violation("an answer to nothing");
    return pending;
  }

  #finish(cookie: number): void {
    const pending = this.#waiting(cookie);
    this.#pending.delete(cookie);
    pending.settle(undefined);
  }

  #refused(what: string, offset: number, error: number): SourceError {
    const message = `${this.#wire.name} cannot ${what} at ${offset}: error ${error}`;
    return new SourceError("SOURCE_UNAVAILABLE", message, { context: { offset, error } });
  }
}
