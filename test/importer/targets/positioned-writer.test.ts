import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { describe, it } from "node:test";
import fc from "fast-check";
import { canAlignBuffers } from "../../../importer/direct-io.ts";
import { PositionedWriter } from "../../../importer/targets/positioned-writer.ts";
import type { WriterSpec } from "../../../importer/targets/positioned-writer.ts";
import { allocateLocks } from "../../../importer/targets/shared-locks.ts";
import { withFolder } from "../../support/loop-device.ts";
import { assertSame } from "../../suites/target.ts";

const SIZE = 64 * 1024;

async function withWriter(
  options: Partial<WriterSpec>,
  body: (writer: PositionedWriter, read: () => Buffer) => void,
): Promise<void> {
  await withFolder((folder) => {
    const name = path.join(folder, "file");
    fs.writeFileSync(name, Buffer.alloc(SIZE, 0xee));
    const fd = fs.openSync(name, fs.constants.O_RDWR | (options.direct === true ? fs.constants.O_DIRECT : 0));
    try {
      const spec: WriterSpec = {
        fd,
        name,
        sectorSize: 1,
        capacity: undefined,
        direct: false,
        heldHead: undefined,
        locks: allocateLocks(),
        writeBehind: undefined,
        ...options,
      };
      body(new PositionedWriter(spec), () => fs.readFileSync(name));
    } finally {
      fs.closeSync(fd);
    }
  });
}

describe("PositionedWriter", () => {
  const variants = [
    { sectorSize: 1 },
    { sectorSize: 512 },
    { sectorSize: 4096 },
    { sectorSize: 4096, direct: true },
    { sectorSize: 512, heldHead: new SharedArrayBuffer(8192) },
    { sectorSize: 4096, heldHead: new SharedArrayBuffer(8192) },
  ] as const;
  for (const options of variants) {
    const held = "heldHead" in options ? new Uint8Array(options.heldHead) : new Uint8Array(0);
    const direct = "direct" in options;
    const name = `sectors of ${options.sectorSize}, head of ${held.length}${direct ? ", O_DIRECT" : ""}`;
    const skip = direct && !canAlignBuffers() ? "needs @ronomon/direct-io" : false;
    it(`leaves what a plain write would, ${name}`, { skip }, async () => {
      const pieces = fc.array(fc.tuple(fc.nat(SIZE - 1), fc.integer({ min: 1, max: 20_000 }), fc.nat(255)), {
        maxLength: 8,
      });
      await fc.assert(
        fc.asyncProperty(pieces, async (writes) => {
          held.fill(0xee);
          await withWriter(options, (writer, read) => {
            const expected = Buffer.alloc(SIZE, 0xee);
            for (const [offset, length, value] of writes) {
              const end = Math.min(SIZE, offset + length);
              writer.write(Buffer.alloc(end - offset, value), offset);
              expected.fill(value, offset, end);
            }
            const seen = read();
            assertSame(seen.subarray(0, held.length), Buffer.alloc(held.length, 0xee));
            seen.set(held, 0);
            assertSame(seen, expected);
          });
        }),
        { numRuns: 30, seed: 1 },
      );
    });
  }

  it("writes zeros of any length", async () => {
    await withWriter({ sectorSize: 512 }, (writer, read) => {
      writer.zeroes(1000, 3 * 1024 * 1024 + 24);
      const seen = read();
      assertSame(seen.subarray(0, 1000), Buffer.alloc(1000, 0xee));
      assertSame(seen.subarray(1000, 1000 + 3 * 1024 * 1024 + 24), Buffer.alloc(3 * 1024 * 1024 + 24));
      writer.zeroes(0, 0);
      assert.equal(read()[0], 0xee);
    });
  });

  it("refuses a write past the capacity as a whole", async () => {
    await withWriter({ capacity: SIZE, sectorSize: 512 }, (writer, read) => {
      assert.throws(() => writer.write(new Uint8Array(513), SIZE - 512), { code: "TARGET_TOO_SMALL" });
      assertSame(read(), Buffer.alloc(SIZE, 0xee));
    });
  });

  it("names the place of a write that fails", async () => {
    await withFolder((folder) => {
      fs.writeFileSync(path.join(folder, "file"), "");
      const fd = fs.openSync(path.join(folder, "file"), "r");
      const spec = { fd, name: "the disk", sectorSize: 1, capacity: undefined, direct: false } as const;
      const writer = new PositionedWriter({
        ...spec,
        heldHead: undefined,
        locks: allocateLocks(),
        writeBehind: undefined,
      });
      assert.throws(() => writer.write(new Uint8Array(3), 4096), {
        code: "TARGET_IO",
        message: "cannot write 3 bytes at 4096 to the disk (EBADF)",
      });
      fs.closeSync(fd);
    });
  });
});
