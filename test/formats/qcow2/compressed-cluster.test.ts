import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Extent } from "../../../formats/disk-format.ts";
import { MAX_NEED_LENGTH } from "../../../formats/disk-format.ts";
import { addCompressed } from "../../../formats/qcow2/compressed-cluster.ts";
import { ExtentList } from "../../../formats/extent-list.ts";
import { someGeometry } from "./geometries.ts";

/** The extent of an entry with a host offset and a count of additional sectors, at a width that follows from cluster_bits. */
function decode(clusterBits: number, host: bigint, sectors: bigint, hostSize?: number): Extent | undefined {
  const entry = (1n << 62n) | (sectors << BigInt(62 - (clusterBits - 8))) | host;
  const geometry = someGeometry({ clusterBits, size: 2 ** 20, l1TableOffset: 2 ** 21 }, hostSize);
  const list = new ExtentList({ start: 0, end: geometry.virtualSize, holes: true });
  addCompressed(Number(entry >> 32n), Number(entry & 0xffff_ffffn), 0, geometry, list);
  return list.finish()[0];
}

describe("qcow2 compressed cluster", () => {
  for (const clusterBits of [9, 10, 12, 16, 20, 21]) {
    it(`Q04: counts sectors with ${clusterBits - 8} bits where clusters are of 2^${clusterBits}`, () => {
      const most = 2n ** BigInt(clusterBits - 8) - 1n;
      for (const sectors of [0n, 1n, most]) {
        for (const host of [0x30000n, 0x30001n, 0x301ffn, 2n ** 45n + 5n]) {
          const extent = decode(clusterBits, host, sectors);
          assert.ok(extent?.kind === "data");
          const length = (Number(sectors) + 1) * 512 - Number(host % 512n);
          assert.ok(length <= MAX_NEED_LENGTH);
          const decodedLength = 2 ** clusterBits;
          assert.deepEqual(extent.stored, {
            encoding: "deflate",
            offset: Number(host),
            length,
            decodedLength,
            skip: 0,
          });
          assert.equal(extent.length, Math.min(decodedLength, 2 ** 20));
        }
      }
    });
  }

  it("starts in the file, and may end beyond it", () => {
    const end = 2 ** 21 + 8192;
    assert.ok(decode(16, BigInt(end - 1), 7n, end) !== undefined);
    assert.throws(() => decode(16, BigInt(end), 0n, end), { code: "FORMAT_CORRUPT" });
    assert.throws(() => decode(9, 2n ** 53n, 0n), { code: "FORMAT_OUT_OF_BOUNDS" });
  });
});
