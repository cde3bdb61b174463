import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { describe, it } from "node:test";
import { loadKernel } from "../../../importer/kernel.ts";
import { WRITE_BEHIND_WINDOW, WriteBehind, writeBehindSpec } from "../../../importer/targets/write-behind.ts";
import { withFolder } from "../../support/loop-device.ts";

const MIB = 1024 * 1024;
const skip = loadKernel() === undefined ? "needs koffi" : false;

/** Progress of a spec: bytes written and bytes sent. */
function progress(shared: SharedArrayBuffer): number[] {
  return Array.from(new BigInt64Array(shared), Number);
}

describe("WriteBehind", () => {
  for (const kernelCalls of [true, false]) {
    it(`sends what all threads wrote once it is a window, kernel calls: ${kernelCalls}`, { skip }, async () => {
      await withFolder((folder) => {
        const fd = fs.openSync(path.join(folder, "file"), "w+");
        const spec = writeBehindSpec(fd, kernelCalls);
        const threads = [new WriteBehind(spec), new WriteBehind(spec)];
        const half = WRITE_BEHIND_WINDOW / 2;
        threads[0]?.wrote(half);
        assert.deepEqual(progress(spec.progress), [half, 0]);
        threads[1]?.wrote(half - MIB);
        assert.deepEqual(progress(spec.progress), [2 * half - MIB, 0]);
        threads[1]?.wrote(1000); // small writes gather first
        assert.deepEqual(progress(spec.progress), [2 * half - MIB, 0]);
        threads[1]?.wrote(MIB);
        assert.deepEqual(progress(spec.progress), [2 * half + 1000, 2 * half + 1000]);
        fs.closeSync(fd);
      });
    });

    it(`reports what went wrong with the pages it sends, kernel calls: ${kernelCalls}`, { skip }, () => {
      const fd = fs.openSync("/dev/null", "r");
      fs.closeSync(fd);
      const writeBehind = new WriteBehind(writeBehindSpec(fd, kernelCalls));
      assert.throws(() => writeBehind.wrote(WRITE_BEHIND_WINDOW), { code: "EBADF" });
    });
  }

  it("keeps the cache that a long write leaves small", { skip }, async () => {
    await withFolder((folder) => {
      const fd = fs.openSync(path.join(folder, "file"), "w+");
      const writeBehind = new WriteBehind(writeBehindSpec(fd, true));
      const block = Buffer.alloc(4 * MIB, 1);
      const before = dirtyAndWriteback();
      let most = 0;
      for (let i = 0; i < 96; i++) {
        fs.writeSync(fd, block, 0, block.length, i * block.length);
        writeBehind.wrote(block.length);
        most = Math.max(most, dirtyAndWriteback() - before);
      }
      fs.closeSync(fd);
      // Other processes write too, so the bound is loose: 384 MiB were written.
      assert.ok(most < 256 * MIB, `${most / MIB} MiB were dirty`);
    });
  });
});

function dirtyAndWriteback(): number {
  const text = fs.readFileSync("/proc/meminfo", "latin1");
  const kib = (name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+)`, "m").exec(text)?.[1]);
  return (kib("Dirty") + kib("Writeback")) * 1024;
}
