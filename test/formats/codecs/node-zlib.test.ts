import assert from "node:assert/strict";
import { describe, it } from "node:test";
import zlib from "node:zlib";
import { createZstdPump, NodePump } from "../../../formats/codecs/node-zlib.ts";
import { samplePlain } from "../../suites/codec.ts";

const plain = samplePlain(500_000);

async function drain(pump: NodePump): Promise<Buffer> {
  const pieces: Buffer[] = [];
  const into = new Uint8Array(50_000);
  for (;;) {
    const count = await pump.read(into);
    if (count === 0) return Buffer.concat(pieces);
    pieces.push(Buffer.from(into.subarray(0, count)));
  }
}

describe("NodePump", () => {
  it("knows the byte where deflate ends", async () => {
    const packed = zlib.deflateRawSync(plain);
    for (const behind of [1, 7, 5000]) {
      const pump = new NodePump(zlib.createInflateRaw());
      pump.write(Buffer.concat([packed, Buffer.alloc(behind, 0xff)]));
      assert.ok((await drain(pump)).equals(plain));
      assert.deepEqual([pump.ended, pump.consumed, pump.busy], [true, packed.length, false]);
      pump.close();
    }
  });

  it("learns of an end that was the input's with the next byte", async () => {
    const packed = zlib.deflateRawSync(plain);
    const pump = new NodePump(zlib.createInflateRaw());
    pump.write(packed);
    assert.ok((await drain(pump)).equals(plain));
    assert.deepEqual([pump.ended, pump.consumed], [false, packed.length]);
    pump.write(Buffer.from("x"));
    assert.equal((await drain(pump)).length, 0);
    assert.deepEqual([pump.ended, pump.consumed], [true, packed.length]);
    pump.close();
  });

  it("takes zstd frame after frame", async () => {
    const pump = createZstdPump();
    for (const length of [0, 1, 300_000, 5]) {
      pump.write(zlib.zstdCompressSync(plain.subarray(0, length)));
      assert.ok((await drain(pump)).equals(plain.subarray(0, length)));
    }
    assert.equal(pump.ended, false);
    pump.close();
  });

  it("throws what the decoder found, and wakes a reader when it is closed", async () => {
    const pump = new NodePump(zlib.createInflateRaw());
    pump.write(Buffer.alloc(100, 0xff));
    await assert.rejects(drain(pump), { code: "Z_DATA_ERROR" });
    const closed = new NodePump(zlib.createInflateRaw());
    closed.write(zlib.deflateRawSync(plain));
    const waiting = drain(closed);
    closed.close();
    await assert.rejects(waiting, /closed/);
  });
});
