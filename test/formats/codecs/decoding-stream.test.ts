import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { DecodingStream } from "../../../formats/codecs/decoding-stream.ts";
import type { Decoder } from "../../../formats/codecs/decoding-stream.ts";
import type { InputWindow } from "../../../formats/codecs/input-window.ts";
import { CountedInput, readAll, samplePlain } from "../../suites/codec.ts";

/** Gives its input as it is, at once or later. */
class Copy implements Decoder {
  finished = false;
  closes = 0;
  readonly #later: boolean;

  constructor(later: boolean) {
    this.#later = later;
  }

  run(window: InputWindow, into: Uint8Array): number | Promise<number> {
    const part = window.bytes().subarray(0, into.length);
    into.set(part);
    window.consume(part.length);
    this.finished = part.length === 0 && window.ended;
    return this.#later ? Promise.resolve(part.length) : part.length;
  }

  close(): void {
    this.closes++;
  }
}

describe("DecodingStream", () => {
  for (const inputLater of [false, true]) {
    for (const decoderLater of [false, true]) {
      it(`reads from ${inputLater ? "a slow" : "an"} input with ${decoderLater ? "a slow" : "a"} decoder`, async () => {
        const plain = samplePlain(300_000);
        const stream = new DecodingStream(new CountedInput(plain, 7000, inputLater), new Copy(decoderLater));
        assert.ok((await readAll(stream, 1000)).equals(plain));
      });
    }
  }

  it("answers without a promise where nothing waits", () => {
    const stream = new DecodingStream(new CountedInput(samplePlain(100)), new Copy(false));
    assert.equal(stream.read(new Uint8Array(60)), 60);
    assert.equal(stream.read(new Uint8Array(60)), 40);
    assert.equal(stream.read(new Uint8Array(60)), 0);
  });

  it("gives a decoder that works ahead more input before it asks for what is ready", async () => {
    const reads: Record<string, number> = {};
    for (const worksAhead of [true, false]) {
      const input = new CountedInput(samplePlain(30), 10);
      const taken: number[] = [];
      const decoder: Decoder = {
        finished: false,
        worksAhead,
        run(window, into) {
          taken.push(...window.bytes());
          window.consume(window.length);
          into[0] = taken.shift() ?? 0;
          return 1;
        },
        close: () => undefined,
      };
      const stream = new DecodingStream(input, decoder);
      for (let i = 0; i < 3; i++) assert.equal(stream.read(new Uint8Array(10)), 1);
      reads[String(worksAhead)] = input.reads;
    }
    assert.deepEqual(reads, { true: 3, false: 1 });
  });

  it("frees the decoder at the end, at a failure and when it is closed", async () => {
    const decoder = new Copy(false);
    await readAll(new DecodingStream(new CountedInput(samplePlain(10)), decoder));
    assert.ok(decoder.closes > 0);

    const failing = new Copy(false);
    failing.run = () => {
      throw new RangeError("no");
    };
    const failed = new DecodingStream(new CountedInput(samplePlain(10)), failing);
    assert.throws(() => failed.read(new Uint8Array(5)), /no/);
    assert.equal(failing.closes, 1);

    const unread = new Copy(false);
    const input = new CountedInput(samplePlain(10));
    await new DecodingStream(input, unread).close();
    assert.deepEqual([unread.closes, input.closes, input.reads], [1, 1, 0]);
  });

  it("does not ask a decoder again that neither decodes nor ends", () => {
    const stuck = new Copy(false);
    stuck.run = () => 0;
    const stream = new DecodingStream(new CountedInput(samplePlain(10)), stuck);
    assert.throws(() => stream.read(new Uint8Array(5)), /after the end/);
  });
});
