import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ByteStream } from "../../../formats/byte-stream.ts";
import { ReadAhead } from "../../../importer/unpack/read-ahead.ts";
import { streamOf } from "../../support/streams.ts";

const KIB = 1024;

/** Counts the reads of its source; answers at once, or later. */
function counted(bytes: Uint8Array, later: boolean): { readonly stream: ByteStream; reads: number } {
  const source = streamOf(bytes, () => 100 * KIB);
  const counter = {
    reads: 0,
    stream: {
      read(into: Uint8Array): number | Promise<number> {
        counter.reads += 1;
        return later ? Promise.resolve(source.read(into)) : source.read(into);
      },
      close: () => undefined,
    },
  };
  return counter;
}

describe("read ahead", () => {
  const bytes = Uint8Array.from({ length: 1000 * KIB }, (_, at) => (at * 7) % 251);
  for (const later of [false, true]) {
    it(`gives every byte in order, in few reads of its source, which answers ${later ? "later" : "at once"}`, async () => {
      const source = counted(bytes, later);
      const stream = new ReadAhead(source.stream);
      const seen: Buffer[] = [];
      for (let length = 1; ; length = (length * 5) % 600_011) {
        const into = Buffer.alloc(length);
        const count = await stream.read(into);
        if (count === 0) break;
        seen.push(into.subarray(0, count));
      }
      assert.ok(Buffer.concat(seen).equals(bytes));
      assert.ok(source.reads <= 13, `${source.reads} reads`);
      assert.equal(await stream.read(Buffer.alloc(1)), 0);
    });
  }
});
