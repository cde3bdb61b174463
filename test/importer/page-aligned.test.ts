import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { loadKernel } from "../../importer/kernel.ts";
import { pageAligned, pageStart } from "../../importer/page-aligned.ts";

const PAGE = 4096n;

describe("page-aligned memory", { skip: loadKernel() === undefined ? "needs koffi" : false }, () => {
  const address = (bytes: Uint8Array): bigint => loadKernel()?.address(bytes) ?? 1n;

  for (const length of [1, 4096, 512 * 1024, 2 * 1024 * 1024, 2 * 1024 * 1024 + 17]) {
    it(`begins where a page begins: ${length} bytes`, () => {
      // Several, for the first large ones come straight from the kernel and later ones from memory that was freed.
      for (let round = 0; round < 5; round++) {
        const bytes = pageAligned(length);
        assert.equal(bytes.length, length);
        assert.equal(address(bytes) % PAGE, 0n);
      }
    });
  }

  it("finds the first page's start in shared memory", () => {
    const memory = new Uint8Array(new SharedArrayBuffer(64 * 1024));
    const start = pageStart(memory);
    assert.ok(start >= 0 && start < Number(PAGE));
    assert.equal(address(memory.subarray(start)) % PAGE, 0n);
  });
});
