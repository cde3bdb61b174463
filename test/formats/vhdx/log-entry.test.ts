import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LogRing } from "../../../formats/vhdx/log-entry.ts";
import { baseDisk } from "../../support/base-disk.ts";
import * as build from "../../support/build-vhdx.ts";

const RING = 64 * 1024;
const guid = build.guidBytes(build.LOG_GUID);
const sector = Buffer.from(baseDisk(64 * 1024).subarray(0, 4096)).fill(0x5a, 512);
const plan: build.LogEntryPlan = {
  position: 0,
  sequenceNumber: 0x1_0000_0003n,
  tail: 8192,
  changes: [
    { offset: 0x12_3456_7000, bytes: sector },
    { offset: 4096, zeros: 12_288 },
  ],
};

/** A ring that holds `entry` at `position`, around the end if need be. */
function ringWith(entry: Buffer, position: number): LogRing {
  const ring = Buffer.alloc(RING, 0x77);
  for (let at = 0; at < entry.length; at += 4096) entry.copy(ring, (position + at) % RING, at, at + 4096);
  return new LogRing(ring, guid);
}

describe("vhdx log entry", () => {
  for (const position of [0, 12_288, RING - 4096]) {
    it(`is read at ${position} of a ring of ${RING}`, () => {
      const ring = ringWith(build.logEntry(plan, 1 << 20), position);
      const entry = ring.entryAt(position);
      assert.deepEqual(entry, {
        position,
        length: 8192,
        tail: 8192,
        sequenceNumber: 0x1_0000_0003n,
        descriptorCount: 2,
        flushedFileOffset: 1 << 20,
        lastFileOffset: 1 << 20,
      });
      const [data, zero] = ring.updatesOf(entry);
      assert.deepEqual([data?.kind, data?.offset, data?.length], ["data", 0x12_3456_7000, 4096]);
      assert.equal(Buffer.compare(data?.bytes() ?? new Uint8Array(), sector), 0, "first and last bytes are restored");
      assert.deepEqual([zero?.kind, zero?.offset, zero?.length], ["zero", 4096, 12_288]);
      assert.equal(ring.entryAt((position + 4096) % RING), undefined);
    });
  }

  for (const [name, at, value] of [
    ["signature", 0, 0],
    ["entry length of 0", 9, 0],
    ["entry length that is not aligned", 8, 1],
    ["entry length above the log's", 10, 2],
    ["tail that is not aligned", 12, 1],
    ["tail outside the log", 14, 1],
    ["descriptor count", 27, 0xff],
    ["GUID", 32, 0xaa],
    ["descriptor's signature", 64, 0],
    ["descriptor's place", 64 + 16, 1],
    ["descriptor's sequence number", 64 + 24, 9],
    ["descriptor's sequence number above 2^32", 64 + 28, 9],
    ["length of zeros", 96 + 8, 1],
    ["data sector's signature", 4096, 0],
    ["data sector's high sequence number", 4096 + 4, 9],
    ["data sector's low sequence number", 8188, 9],
  ] as const) {
    it(`is invalid with a wrong ${name}, even if its checksum is right`, () => {
      const entry = build.logEntry(plan, 1 << 20);
      entry[at] = value;
      entry.writeUInt32LE(0, 4);
      entry.writeUInt32LE(build.slowCrc32c(entry.subarray(0, Math.min(entry.readUInt32LE(8), entry.length))), 4);
      assert.equal(ringWith(entry, 0).entryAt(0), undefined);
    });
  }

  it("is invalid with a sequence number of 0, with more data than fits, and with any byte changed", () => {
    assert.equal(ringWith(build.logEntry({ ...plan, sequenceNumber: 0n }, 0), 0).entryAt(0), undefined);
    const short = build.logEntry(plan, 0).subarray(0, 4096);
    short.writeUInt32LE(4096, 8);
    short.writeUInt32LE(0, 4);
    short.writeUInt32LE(build.slowCrc32c(short), 4);
    assert.equal(ringWith(short, 0).entryAt(0), undefined);
    for (let at = 0; at < 8192; at += 41) {
      const entry = build.logEntry(plan, 0);
      entry[at] = (entry[at] ?? 0) ^ 0x10;
      assert.equal(ringWith(entry, 0).entryAt(0), undefined, `byte ${at}`);
    }
  });
});
