import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { MAX_NEED_LENGTH } from "../../../formats/disk-format.ts";
import type { Need } from "../../../formats/disk-format.ts";
import { FormatError } from "../../../formats/errors.ts";
import { HostFile } from "../../../formats/vhdx/host-file.ts";
import { LogOverlay } from "../../../formats/vhdx/overlay.ts";
import { parse } from "../../support/parse.ts";

describe("vhdx host file", () => {
  it("asks for no more than MAX_NEED_LENGTH at once", () => {
    const bytes = Uint8Array.from({ length: 2 * MAX_NEED_LENGTH + 7 }, (_, i) => i >> 12);
    const needs: Need[] = [];
    const read = parse(bytes, new HostFile(bytes.length, undefined).read(3, bytes.length - 3), needs);
    assert.equal(Buffer.compare(read, bytes.subarray(3)), 0);
    assert.deepEqual(
      needs.map((need) => need.length),
      [MAX_NEED_LENGTH, MAX_NEED_LENGTH, 4],
    );
  });

  it("refuses to read past the end", () => {
    const file = new HostFile(100, undefined);
    assert.throws(
      () => parse(new Uint8Array(100), file.read(90, 11)),
      (error) => error instanceof FormatError && error.code === "FORMAT_INVALID",
    );
  });

  for (const storedSize of [6000, undefined]) {
    it(`reads what a log appends behind a stored length of ${storedSize}`, () => {
      const stored = new Uint8Array(6000).fill(1);
      const overlay = new LogOverlay();
      overlay.addOlderSector(8192, new Uint8Array(4096).fill(2));
      if (storedSize !== undefined) overlay.addOlderZeros(storedSize, overlay.fileSize);
      overlay.seal();
      const expected = new Uint8Array(12_288);
      expected.fill(1, 0, 6000).fill(2, 8192);
      const file = new HostFile(storedSize, overlay);
      assert.equal(Buffer.compare(parse(stored, file.read(0, 12_288)), expected), 0);
      assert.equal(Buffer.compare(parse(stored, file.read(7000, 2000)), expected.subarray(7000, 9000)), 0);
    });
  }
});
