import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LOG_SECTOR, LogOverlay } from "../../../formats/vhdx/overlay.ts";
import { randomBytes } from "../../support/base-disk.ts";

describe("vhdx log overlay", () => {
  it("equals writing the updates in order, for many random updates", () => {
    const next = randomBytes(11);
    for (let round = 0; round < 60; round++) {
      const updates = Array.from({ length: 1 + (next() % 40) }, (_, i) => ({
        offset: (next() % 24) * LOG_SECTOR,
        length: next() % 2 === 0 ? 0 : (next() % 8) * LOG_SECTOR, // of zeros; 0 for a sector of bytes
        value: i + 1,
      }));
      const file = new Uint8Array(40 * LOG_SECTOR).fill(0xff);
      const expected = file.slice();
      for (const { offset, length, value } of updates) {
        if (length > 0) expected.fill(0, offset, offset + length);
        else expected.fill(value, offset, offset + LOG_SECTOR);
      }
      const overlay = new LogOverlay();
      for (const { offset, length, value } of updates.toReversed()) {
        if (length > 0) overlay.addOlderZeros(offset, offset + length);
        else overlay.addOlderSector(offset, new Uint8Array(LOG_SECTOR).fill(value));
      }
      overlay.seal();
      overlay.patch(file, 0);
      assert.equal(Buffer.compare(file, expected), 0, `round ${round}`);
      const part = new Uint8Array(20_000).fill(0xff);
      overlay.patch(part, 5001);
      assert.equal(Buffer.compare(part, expected.subarray(5001, 25_001)), 0, `part of round ${round}`);
      assert.ok(overlay.fileSize <= file.length);
    }
  });

  it("knows the length to which the updates extend the file", () => {
    const overlay = new LogOverlay();
    overlay.addOlderSector(8192, new Uint8Array(LOG_SECTOR));
    assert.equal(overlay.fileSize, 12_288);
    overlay.addOlderZeros(0, 4096);
    assert.equal(overlay.fileSize, 12_288);
    overlay.growTo(20_000);
    assert.equal(overlay.fileSize, 20_000);
  });
});
