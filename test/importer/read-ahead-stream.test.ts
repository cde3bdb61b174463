import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Interrupted, SourceError } from "../../importer/errors.ts";
import type { RandomAccess } from "../../importer/random-access.ts";
import { ReadAheadStream } from "../../importer/read-ahead-stream.ts";
import { baseDisk } from "../support/base-disk.ts";
import { readAll } from "../support/http-client.ts";

const MIB = 1024 * 1024;
const BYTES = baseDisk(20 * MIB + 12_345);

interface Watched {
  readonly file: RandomAccess;
  /** Offsets that were asked for, in order. */
  readonly asked: number[];
  readonly most: () => number;
}

/** Answers in any order, and fails for what begins at `failsAt`. */
function late(failsAt?: number): Watched {
  const asked: number[] = [];
  let [underway, most, isClosed] = [0, 0, false];
  const readAt = async (into: Uint8Array, offset: number): Promise<number> => {
    asked.push(offset);
    underway += 1;
    most = Math.max(most, underway);
    await new Promise((resolve) => setTimeout(resolve, (offset / MIB) % 3));
    underway -= 1;
    if (isClosed) throw new Interrupted();
    if (offset === failsAt) throw new SourceError("SOURCE_TRUNCATED", "broke off");
    const bytes = BYTES.subarray(offset, offset + into.length);
    into.set(bytes);
    return bytes.length;
  };
  const file = {
    size: BYTES.length,
    spec: { fd: -1, name: "late", size: BYTES.length },
    readAt,
    close: () => (isClosed = true),
  };
  return { file, asked, most: () => most };
}

describe("ReadAheadStream", () => {
  it("gives all bytes in order, each asked for once, six ranges at a time", async () => {
    const { file, asked, most } = late();
    assert.ok((await readAll(new ReadAheadStream(file))).equals(BYTES));
    assert.deepEqual(
      asked,
      Array.from({ length: 21 }, (_, i) => i * MIB),
    );
    assert.equal(most(), 6);
  });

  it("ends, and stays at its end", async () => {
    const { file } = late();
    const stream = new ReadAheadStream(file);
    await readAll(stream);
    assert.equal(await stream.read(new Uint8Array(10)), 0);
    assert.equal(await stream.read(new Uint8Array(10)), 0);
  });

  it("asks for nothing before somebody reads", () => {
    const { file, asked } = late();
    new ReadAheadStream(file).close();
    assert.deepEqual(asked, []);
  });

  it("gives what came before a range that failed, and then why", async () => {
    const { file } = late(3 * MIB);
    const stream = new ReadAheadStream(file);
    const into = Buffer.alloc(MIB);
    for (let at = 0; at < 3 * MIB;) {
      const count = await stream.read(into);
      assert.ok(into.subarray(0, count).equals(BYTES.subarray(at, at + count)));
      at += count;
    }
    await assert.rejects(async () => await stream.read(into), SourceError);
  });

  it("gives up what is on its way when it is closed", async () => {
    const { file, asked } = late();
    const stream = new ReadAheadStream(file);
    await stream.read(new Uint8Array(1));
    stream.close();
    const ahead = asked.length;
    await assert.rejects(async () => await readAll(stream), Interrupted);
    assert.ok(asked.length <= ahead + 1);
  });
});
