import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { NOWHERE } from "../../../formats/extent-list.ts";
import { checkInFile, hostOffsetOf } from "../../../formats/qcow2/host-cluster.ts";
import { someGeometry } from "./geometries.ts";

describe("qcow2 host cluster", () => {
  it("is at bits 9 to 55 of an entry", () => {
    const geometry = someGeometry();
    assert.equal(hostOffsetOf(0, 0, 0, geometry), NOWHERE);
    assert.equal(hostOffsetOf(0xff00_0000, 0x1ff, 0, geometry), NOWHERE);
    assert.equal(hostOffsetOf(0x8000_0001, 0xffff_0001, 0, geometry), 0x1_ffff_0000);
    assert.equal(hostOffsetOf(0x001f_ffff, 0, 0, geometry), 0x1f_ffff * 2 ** 32);
    assert.throws(() => hostOffsetOf(0x0020_0000, 0, 0, geometry), { code: "FORMAT_OUT_OF_BOUNDS" });
    assert.throws(() => hostOffsetOf(0, 0x8000, 0, geometry), { code: "FORMAT_CORRUPT" });
    assert.equal(hostOffsetOf(0, 0x8000, 0, someGeometry({ clusterBits: 15 })), 0x8000);
  });

  it("lies in the file as far as the disk goes", () => {
    const geometry = someGeometry({ size: 100 * 512 }, 0x20000);
    checkInFile(0x1fe00, 0, 512, geometry);
    checkInFile(0x1fe00, 99 * 512, 65536, geometry);
    assert.throws(() => checkInFile(0x1fe00, 0, 513, geometry), { code: "FORMAT_CORRUPT" });
    checkInFile(2 ** 52, 0, 65536, someGeometry());
  });
});
