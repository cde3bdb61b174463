/**
 * Does one job after the other: read or take the bytes, decode, drop zeros, write. One executor a thread; all its buffers
 * are its own, are reused, and have named sizes.
 */
import { performance } from "node:perf_hooks";
import type { DecoderChoice } from "../../formats/codecs/codec.ts";
import { createBlockDecoder } from "../../formats/codecs/block-decoder.ts";
import type { BlockDecoder } from "../../formats/codecs/block-decoder.ts";
import { FormatError } from "../../formats/errors.ts";
import { alignUp, hex } from "../../formats/bytes.ts";
import { openRandomAccess } from "../random-access.ts";
import { pageAligned } from "../page-aligned.ts";
import type { RandomAccess, ReadSpec } from "../random-access.ts";
import { PositionedWriter } from "../targets/positioned-writer.ts";
import type { WriterSpec } from "../targets/positioned-writer.ts";
import { Counters } from "./counters.ts";
import { ITEM, ITEM_FIELDS, itemEncoding, itemField, PLAIN } from "./job.ts";
import type { Job, JobInput, JobResult } from "./job.ts";
import { REMOTE_RUN_LENGTH } from "./planner.ts";
import { splitZeros } from "./zero-search.ts";

/** Plain data: what an executor is made from, in whichever thread. */
export interface ExecutorSpec {
  /** The image file, for jobs that read; undefined while a stream passes. */
  readonly read: ReadSpec | undefined;
  readonly slab: SharedArrayBuffer | undefined;
  /** Undefined: decode and throw away. */
  readonly writer: WriterSpec | undefined;
  /** What is not written reads as zeros, so zeros need no more. */
  readonly startsZeroed: boolean;
  readonly decoders: DecoderChoice;
  readonly counters: SharedArrayBuffer;
  /** One word, shared by all threads; once it is not 0, whatever is left of a job is given up. Undefined: nobody stops it. */
  readonly stopped?: SharedArrayBuffer;
}

/** The bytes that a job works on, and which offset of its items their first one has. */
export interface LoadedInput {
  readonly bytes: Uint8Array;
  readonly base: number;
  /** To be used for another job's bytes once this one is done. */
  readonly buffer: Buffer | undefined;
}

/** Decoded clusters that follow each other on the disk are gathered up to this length before they are written. */
const GATHER_LENGTH = 512 * 1024;

/** Shorter zero runs on a target that does not start zeroed are written; longer ones are zeroed by the target's own means. */
export const MIN_ZERO_RANGE = 64 * 1024;

export class JobExecutor {
  readonly counters: Counters;
  readonly #spec: ExecutorSpec;
  readonly #file: RandomAccess | undefined;
  readonly #slab: Uint8Array | undefined;
  readonly #writer: PositionedWriter | undefined;
  readonly #decoder: BlockDecoder;
  readonly #stopped: Int32Array | undefined;
  /** Those that no job uses: one for a local file, one more for every job that is fetched ahead. */
  readonly #readBuffers: Buffer[] = [];
  #retries = 0;
  #gathered = Buffer.alloc(0);
  #gatheredLength = 0;
  #gatheredOffset = 0;
  #zeroRanges: number[] = [];

  constructor(spec: ExecutorSpec) {
    this.#spec = spec;
    this.counters = new Counters(spec.counters);
    this.#file = spec.read === undefined ? undefined : openRandomAccess(spec.read);
    this.#slab = spec.slab === undefined ? undefined : new Uint8Array(spec.slab);
    this.#writer = spec.writer === undefined ? undefined : new PositionedWriter(spec.writer);
    this.#decoder = createBlockDecoder(spec.decoders);
    this.#stopped = spec.stopped === undefined ? undefined : new Int32Array(spec.stopped);
  }

  /** Reading takes time that other jobs can use. */
  get loadsEarly(): boolean {
    return this.#spec.read?.remote !== undefined;
  }

  /** What the job reads or was given. Several may be loaded at once. @throws SourceError */
  load(input: JobInput): LoadedInput | Promise<LoadedInput> {
    if (input.kind === "bytes") return { bytes: input.bytes, base: 0, buffer: undefined };
    if (input.kind === "slab") {
      if (this.#slab === undefined) throw new Error("job without a slab");
      return { bytes: this.#slab, base: 0, buffer: undefined };
    }
    if (this.#file === undefined) throw new Error("job without a file");
    const buffer = this.#takeBuffer(input.length);
    const started = performance.now();
    const answer = this.#file.readAt(buffer.subarray(0, input.length), input.offset);
    const loaded = (count: number): LoadedInput => {
      this.counters.add("bytesRead", count);
      this.counters.add("reads", 1);
      const { retries = 0 } = this.#file ?? {};
      this.counters.add("retries", retries - this.#retries);
      this.#retries = retries;
      return { bytes: buffer.subarray(0, count), base: input.offset, buffer };
    };
    // Requests overlap each other and the work on other jobs: how long they take is not time that anybody lost.
    if (typeof answer !== "number") return answer.then(loaded);
    this.counters.add("readMs", performance.now() - started);
    return loaded(answer);
  }

  /**
   * @param input as `load` gave it; its buffer is used again afterwards
   * @throws FormatError FORMAT_CORRUPT where the bytes do not decode; TargetError from writing
   */
  run(job: Job, input: LoadedInput): JobResult {
    this.#zeroRanges = [];
    const { bytes, base } = input;
    const rows = job.items.length / ITEM_FIELDS;
    for (let row = 0; row < rows; row++) {
      if (this.#stopped !== undefined && Atomics.load(this.#stopped, 0) !== 0) break;
      const at = itemField(job.items, row, ITEM.storedAt) - base;
      const stored = bytes.subarray(at, at + itemField(job.items, row, ITEM.storedLength));
      if (itemField(job.items, row, ITEM.encoding) === PLAIN) this.#plain(job.items, row, stored);
      else this.#encoded(job.items, row, stored);
    }
    this.#flush();
    if (input.buffer !== undefined) this.#readBuffers.push(input.buffer);
    return { zeroRanges: Float64Array.from(this.#zeroRanges) };
  }

  /** Ends reads that wait for the network; they reject. */
  stop(): void {
    this.#file?.close();
  }

  close(): void {
    this.#decoder.close();
  }

  #takeBuffer(length: number): Buffer {
    const buffer = this.#readBuffers.pop();
    if (buffer !== undefined && buffer.length >= length) return buffer;
    // Rounded up: jobs differ by a few bytes, and each larger buffer left an old one to the garbage collector.
    return pageAligned(alignUp(length, REMOTE_RUN_LENGTH));
  }

  #plain(items: Float64Array, row: number, stored: Uint8Array): void {
    this.#flush();
    const offset = itemField(items, row, ITEM.offset);
    const length = itemField(items, row, ITEM.length);
    if (stored.length < length) {
      throw new FormatError("FORMAT_CORRUPT", `data of the disk at ${hex(offset)} lies beyond the end of the image`, {
        context: { offset },
      });
    }
    this.#put(stored.subarray(0, length), offset);
  }

  #encoded(items: Float64Array, row: number, stored: Uint8Array): void {
    const offset = itemField(items, row, ITEM.offset);
    const length = itemField(items, row, ITEM.length);
    const skip = itemField(items, row, ITEM.skip);
    const decodedLength = itemField(items, row, ITEM.decodedLength);
    const follows = this.#gatheredOffset + this.#gatheredLength === offset && skip === 0;
    if (!follows || this.#gatheredLength + decodedLength > this.#gathered.length) this.#flush();
    if (this.#gathered.length < decodedLength) {
      this.#gathered = pageAligned(Math.max(GATHER_LENGTH, decodedLength));
    }
    const into = this.#gathered.subarray(this.#gatheredLength, this.#gatheredLength + decodedLength);
    const started = performance.now();
    try {
      this.#decoder.decode(itemEncoding(items, row), stored, into, skip + length);
    } catch (error) {
      if (!(error instanceof FormatError)) throw error;
      throw new FormatError(error.code, `compressed data of the disk at ${hex(offset)} does not decode`, {
        context: { offset, hostOffset: itemField(items, row, ITEM.storedAt) },
        cause: error,
      });
    }
    this.counters.add("decodeMs", performance.now() - started);
    this.counters.add("bytesDecoded", decodedLength);
    if (skip !== 0) {
      this.#put(into.subarray(skip, skip + length), offset);
      return;
    }
    if (this.#gatheredLength === 0) this.#gatheredOffset = offset;
    this.#gatheredLength += length;
    if (length < decodedLength) this.#flush();
  }

  #flush(): void {
    if (this.#gatheredLength === 0) return;
    const length = this.#gatheredLength;
    this.#gatheredLength = 0;
    this.#put(this.#gathered.subarray(0, length), this.#gatheredOffset);
  }

  #put(bytes: Uint8Array, offset: number): void {
    const started = performance.now();
    let writeMs = 0;
    splitZeros(bytes, offset, (start, end, zero) => {
      if (zero && (this.#spec.startsZeroed || end - start >= MIN_ZERO_RANGE)) {
        this.counters.add("bytesZeroed", end - start);
        if (!this.#spec.startsZeroed) this.#zeroRanges.push(offset + start, end - start);
        return;
      }
      const before = performance.now();
      this.#writer?.write(bytes.subarray(start, end), offset + start);
      writeMs += performance.now() - before;
      this.counters.add("bytesWritten", end - start);
      this.counters.add("writes", 1);
    });
    this.counters.add("writeMs", writeMs);
    this.counters.add("zeroSearchMs", performance.now() - started - writeMs);
  }
}
