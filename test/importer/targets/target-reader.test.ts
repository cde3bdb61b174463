import assert from "node:assert/strict";
import path from "node:path";
import { describe, it } from "node:test";
import { openTarget } from "../../../importer/targets/open-target.ts";
import { readTarget } from "../../../importer/targets/target-reader.ts";
import { withFolder } from "../../support/loop-device.ts";
import { assertSame } from "../../suites/target.ts";

const MIB = 1024 * 1024;

describe("readTarget", () => {
  for (const kernelCalls of [true, false]) {
    it(`gives the whole disk in order, kernel calls: ${kernelCalls}`, async () => {
      await withFolder((folder) => {
        const target = openTarget(path.join(folder, "disk.raw"), { kernelCalls });
        const size = 9 * MIB + 77;
        const expected = Buffer.alloc(size);
        target.begin(size);
        for (const [at, length] of [
          [3 * MIB + 5, 2 * MIB],
          [7 * MIB, 10],
        ] as const) {
          target.writeAt(expected.subarray(at, at + length).fill(at % 251), at);
        }
        const seen = Buffer.alloc(size, 0xff);
        let offset = 0;
        let holes = 0;
        for (const piece of readTarget(target, size)) {
          assert.equal(piece.offset, offset);
          assert.ok(piece.length > 0);
          if (piece.bytes === undefined) holes += piece.length;
          seen.fill(0, offset, offset + piece.length);
          if (piece.bytes !== undefined) seen.set(piece.bytes, offset);
          offset += piece.length;
        }
        assert.equal(offset, size);
        assertSame(seen, expected);
        // Filesystems round data to blocks, and a last hole may be read.
        if (kernelCalls) assert.ok(holes >= 4 * MIB, `${holes} bytes of holes`);
        target.abort();
      });
    });
  }

  it("reports a target that is too short", async () => {
    await withFolder((folder) => {
      const target = openTarget(path.join(folder, "disk.raw"), { kernelCalls: false });
      target.begin(MIB);
      assert.throws(() => [...readTarget(target, MIB + 1)], { code: "TARGET_IO" });
      target.abort();
    });
  });
});
