/**
 * What every codec promises, asked of both ways to decode: the system's libraries, and the portable decoders.
 *
 * The caller brings compressed samples made by the real tools; the suite brings the ways to feed, read and damage them.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ByteStream } from "../../formats/byte-stream.ts";
import { DEFAULT_MEMORY_LIMIT } from "../../formats/codecs/codec.ts";
import type { Codec, DecoderChoice } from "../../formats/codecs/codec.ts";
import { FormatError } from "../../formats/errors.ts";
import { randomBytes } from "../support/base-disk.ts";

export interface CodecCases {
  readonly codec: Codec;
  /** Compressed by the tool. */
  readonly compress: (plain: Uint8Array) => Uint8Array;
  /** Bytes that may follow the data and decode to nothing. */
  readonly padding: Uint8Array;
  /** How many damaged files are tried. */
  readonly mutations: number;
}

export const CHOICES: readonly DecoderChoice[] = ["auto", "portable"];

/** Compressible, with parts that are not, in the way of a disk. */
export function samplePlain(length: number, seed = 5): Uint8Array {
  const next = randomBytes(seed);
  const plain = new Uint8Array(length);
  for (let at = 0; at < length; at += 4096) {
    const piece = plain.subarray(at, at + 4096);
    const kind = next() % 3;
    for (let i = 0; i < piece.length; i++)
      piece[i] = kind === 0 ? next() : kind === 1 ? (i * 31 + at / 4096) & 0x3f : 0;
  }
  return plain;
}

/** Serves bytes from memory and counts what is asked of it. */
export class CountedInput implements ByteStream {
  reads = 0;
  closes = 0;
  readonly #bytes: Uint8Array;
  readonly #step: number;
  readonly #later: boolean;
  #at = 0;

  constructor(bytes: Uint8Array, step = Number.MAX_SAFE_INTEGER, later = false) {
    this.#bytes = bytes;
    this.#step = step;
    this.#later = later;
  }

  read(into: Uint8Array): number | Promise<number> {
    this.reads++;
    const count = Math.min(this.#step, into.length, this.#bytes.length - this.#at);
    into.set(this.#bytes.subarray(this.#at, this.#at + count));
    this.#at += count;
    return this.#later ? Promise.resolve(count) : count;
  }

  close(): void {
    this.closes++;
  }
}

/** Reads a stream to its end into pieces of `length` bytes that lie on shared memory, and closes it. */
export async function readAll(stream: ByteStream, length = 64 * 1024, limit = 64 * 1024 * 1024): Promise<Buffer> {
  const into = new Uint8Array(new SharedArrayBuffer(length + 8), 4, length);
  const pieces: Buffer[] = [];
  let total = 0;
  try {
    for (;;) {
      const answer = stream.read(into);
      const count = typeof answer === "number" ? answer : await answer;
      assert.ok(Number.isInteger(count) && count >= 0 && count <= length, `read answered ${count}`);
      if (count === 0) break;
      total += count;
      assert.ok(total <= limit, "more output than the test allows");
      pieces.push(Buffer.from(into.slice(0, count)));
    }
    assert.equal(await stream.read(into), 0, "the end is for ever");
  } finally {
    await stream.close();
    await stream.close();
  }
  return Buffer.concat(pieces);
}

export function decodeAll(codec: Codec, bytes: Uint8Array, decoders: DecoderChoice, length?: number): Promise<Buffer> {
  return readAll(codec.decode(new CountedInput(bytes), { decoders, memoryLimit: DEFAULT_MEMORY_LIMIT }), length);
}

export async function assertCode(promise: Promise<unknown>, code: string, message?: RegExp): Promise<void> {
  await assert.rejects(promise, (error: unknown) => {
    if (!(error instanceof FormatError)) throw error;
    assert.equal(error.code, code, error.message);
    if (message !== undefined) assert.match(`${error.message}. ${error.remedy ?? ""}`, message);
    return true;
  });
}

export function describeCodec(name: string, cases: CodecCases): void {
  for (const decoders of CHOICES) describe(`${name}, ${decoders}`, () => describeChoice(cases, decoders));
}

function describeChoice(cases: CodecCases, decoders: DecoderChoice): void {
  const { codec, compress } = cases;
  const options = { decoders, memoryLimit: DEFAULT_MEMORY_LIMIT };
  const plain = samplePlain(700_001);
  const packed = compress(plain);
  const small = compress(samplePlain(300));

  it("knows its own first bytes", () => {
    assert.ok(codec.probe(packed));
    assert.ok(!codec.probe(new Uint8Array(0)));
    assert.ok(!codec.probe(packed.subarray(0, 2)));
    assert.ok(!codec.probe(plain));
    assert.ok(!codec.probe(new Uint8Array(65536)));
  });

  for (const [step, later] of [
    [Number.MAX_SAFE_INTEGER, false],
    [Number.MAX_SAFE_INTEGER, true],
    [4093, false],
    [4093, true],
  ] as const) {
    it(`reads input in pieces of ${step}, ${later ? "later" : "at once"}`, async () => {
      for (const length of [64 * 1024, 1024 * 1024, 1001]) {
        const got = await readAll(codec.decode(new CountedInput(packed, step, later), options), length);
        assert.ok(got.equals(plain));
      }
    });
  }

  it("reads input one byte at a time", async () => {
    const some = samplePlain(3000);
    const got = await readAll(codec.decode(new CountedInput(compress(some), 1), options), 1000);
    assert.ok(got.equals(some));
  });

  it("reads into a buffer of one byte", async () => {
    const some = samplePlain(9000);
    assert.ok((await decodeAll(codec, compress(some), decoders, 1)).equals(some));
  });

  it("reads a file without content, and one of four bytes (C13)", async () => {
    assert.equal((await decodeAll(codec, compress(new Uint8Array(0)), decoders)).length, 0);
    const four = Uint8Array.of(1, 2, 3, 4);
    assert.ok((await decodeAll(codec, compress(four), decoders)).equals(four));
  });

  it("reads members one after the other, and what may stand behind them", async () => {
    const file = Buffer.concat([packed, small, cases.padding]);
    const got = await decodeAll(codec, file, decoders);
    assert.ok(got.equals(Buffer.concat([plain, samplePlain(300)])));
  });

  it("refuses a file that is cut short, wherever", async () => {
    for (let length = 0; length < small.length; length++) {
      await assertCode(decodeAll(codec, small.subarray(0, length), decoders), "FORMAT_CORRUPT");
    }
    for (const missing of [1, 2, 4, 8, 50, 10_000]) {
      const cut = packed.subarray(0, packed.length - missing);
      await assertCode(decodeAll(codec, cut, decoders), "FORMAT_CORRUPT");
    }
  });

  it("refuses a second member that is cut short", async () => {
    for (let length = 1; length < small.length; length += 3) {
      const file = Buffer.concat([small, small.subarray(0, length)]);
      await assertCode(decodeAll(codec, file, decoders), "FORMAT_CORRUPT");
    }
  });

  it("refuses junk behind the end", async () => {
    for (const junk of ["x", "junk", "a longer piece of junk, of more than a header"]) {
      await assertCode(decodeAll(codec, Buffer.concat([small, Buffer.from(junk)]), decoders), "FORMAT_CORRUPT");
    }
  });

  it("stays failed", async () => {
    const stream = codec.decode(new CountedInput(small.subarray(0, 20)), options);
    const into = new Uint8Array(1000);
    const drain = async (): Promise<void> => {
      while ((await stream.read(into)) > 0);
    };
    await assertCode(drain(), "FORMAT_CORRUPT");
    await assertCode(drain(), "FORMAT_CORRUPT");
    await stream.close();
  });

  it("closes its input once, whether it was read or not, and may be closed twice", async () => {
    for (const bytesRead of [0, 1, 70_000]) {
      const input = new CountedInput(packed);
      const stream = codec.decode(input, options);
      const into = new Uint8Array(bytesRead);
      for (let filled = 0; filled < bytesRead;) filled += await stream.read(into.subarray(filled));
      await stream.close();
      await stream.close();
      assert.equal(input.closes, 1);
      await assert.rejects(async () => await stream.read(new Uint8Array(1)));
    }
  });

  it("fails a read that waits while it is closed", async () => {
    let answer: ((count: number) => void) | undefined;
    const input: ByteStream = {
      read: () =>
        new Promise((resolve) => {
          answer = resolve;
        }),
      close: () => undefined,
    };
    const stream = codec.decode(input, options);
    const waiting = Promise.resolve(stream.read(new Uint8Array(100)));
    await stream.close();
    answer?.(0);
    await assert.rejects(waiting, /closed/);
  });

  it("passes on the failure of its input as it is", async () => {
    const failure = new Error("the cable was cut");
    const input: ByteStream = { read: () => Promise.reject(failure), close: () => undefined };
    await assert.rejects(readAll(codec.decode(input, options)), failure);
  });

  it("expands a bomb without keeping it", async () => {
    const length = 48 * 1024 * 1024;
    const stream = codec.decode(new CountedInput(compress(new Uint8Array(length))), options);
    const into = new Uint8Array(256 * 1024);
    const before = process.memoryUsage.rss();
    let total = 0;
    for (;;) {
      const count = await stream.read(into);
      if (count === 0) break;
      total += count;
      if (total % (8 * 1024 * 1024) < count) assert.ok(process.memoryUsage.rss() - before < 120 * 1024 * 1024);
    }
    await stream.close();
    assert.equal(total, length);
  });

  it("gives a FormatError or the same bytes for damaged files", async () => {
    const next = randomBytes(77);
    const some = samplePlain(20_000);
    const whole = Buffer.from(compress(some));
    for (let i = 0; i < cases.mutations; i++) {
      const damaged = Buffer.from(whole);
      for (let changes = 1 + (next() % 3); changes > 0; changes--) {
        const at =
          ((next() << 16) | (next() << 8) | next()) % (i % 2 === 0 ? Math.min(64, whole.length) : whole.length);
        damaged[at] = next();
      }
      try {
        const got = await readAll(codec.decode(new CountedInput(damaged), options));
        assert.ok(got.equals(some), "other bytes than were compressed");
      } catch (error) {
        if (!(error instanceof FormatError)) throw error;
        assert.ok(/^[\x20-\x7e]+$/.test(error.message), error.message);
      }
    }
  });
}
