import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { CountedStream } from "../../importer/counted-stream.ts";
import { CountedInput, readAll } from "../suites/codec.ts";

const bytes = Buffer.from("what is counted");

describe("CountedStream", () => {
  it("counts what came, at once or later", async () => {
    for (const later of [false, true]) {
      const input = new CountedInput(bytes, 4, later);
      const stream = new CountedStream(input);
      assert.equal(typeof stream.read(new Uint8Array(3)), later ? "object" : "number");
      assert.ok((await readAll(stream)).equals(bytes.subarray(3)));
      assert.equal(stream.bytes, bytes.length);
      assert.ok(input.closes > 0);
    }
  });

  it("measures how long it waited", async () => {
    const slow = {
      async read(): Promise<number> {
        await sleep(30);
        return 1;
      },
      close: () => undefined,
    };
    const stream = new CountedStream(slow);
    await stream.read(new Uint8Array(1));
    assert.ok(stream.waitedMs >= 25, `${stream.waitedMs} ms`);
  });
});
