import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Need, Parsing } from "../../../formats/disk-format.ts";
import { FormatError } from "../../../formats/errors.ts";
import { Bat, BAT_PAGE_LENGTH } from "../../../formats/vhdx/bat.ts";
import { HostFile } from "../../../formats/vhdx/host-file.ts";
import { vhdx } from "../../../formats/vhdx/vhdx.ts";
import * as build from "../../support/build-vhdx.ts";
import { openImage, readDisk } from "../../support/parse.ts";

const MIB = 1024 * 1024;
const TIB = 1024 * 1024 * MIB;
const region = { name: "BAT", offset: 2 * MIB, length: 600 * MIB };

/** Answers every Need with bytes that `fill` made, and keeps the needs. */
function drive<T>(
  parsing: Parsing<T>,
  needs: Need[],
  fill: (need: Need, bytes: DataView) => void = () => undefined,
): T {
  let step = parsing.next();
  while (step.done !== true) {
    needs.push(step.value);
    const bytes = new Uint8Array(step.value.length);
    fill(step.value, new DataView(bytes.buffer));
    step = parsing.next(bytes);
  }
  return step.value;
}

function batOf(virtualSize: number, blockSize: number, logicalSectorSize: 512 | 4096 = 512): Bat {
  const disk = { virtualSize, blockSize, logicalSectorSize, leaveBlocksAllocated: false };
  return new Bat(new HostFile(undefined, undefined), region, disk, undefined);
}

describe("vhdx BAT", () => {
  it("is read in pages: 64 TiB in blocks of 1 MiB never as a whole", () => {
    const bat = batOf(64 * TIB, MIB);
    assert.equal(bat.blockCount, 64 * 1024 * 1024);
    const needs: Need[] = [];
    const last = bat.blockCount - 1;
    const page = drive(bat.pageOf(last), needs, (need, bytes) => {
      // The entry of the last block is the last of the table: a bitmap's entry follows only a full chunk that is not last.
      bytes.setUint32(need.length - 8, 6, true);
      bytes.setUint32(need.length - 4, 1, true);
    });
    assert.equal(needs.length, 1);
    assert.ok((needs[0]?.length ?? 0) <= BAT_PAGE_LENGTH);
    const lastIndex = last + Math.floor(last / 4096);
    assert.equal((needs[0]?.offset ?? 0) + (needs[0]?.length ?? 0), region.offset + (lastIndex + 1) * 8);
    assert.equal(page.kindOf(last), "data");
    assert.equal(page.hostOffsetOf(last), 2 ** 32);
    assert.equal(page.endBlock, bat.blockCount);
  });

  it("keeps the last pages, and asks again for older ones", () => {
    const bat = batOf(64 * TIB, MIB);
    const needs: Need[] = [];
    const starts = Array.from({ length: 5 }, (_, i) => i * 200_000);
    for (const block of [...starts.slice(0, 4), ...starts.slice(0, 4)]) drive(bat.pageOf(block), needs);
    assert.equal(needs.length, 4);
    drive(bat.pageOf(starts[4] ?? 0), needs);
    drive(bat.pageOf(starts[0] ?? 0), needs);
    assert.equal(needs.length, 6);
  });

  it("visits each block once, from page to page", () => {
    for (const [blockSize, sectorSize] of [
      [MIB, 512],
      [256 * MIB, 512],
      [256 * MIB, 4096],
    ] as const) {
      const bat = batOf(blockSize * 300_001, blockSize, sectorSize);
      const needs: Need[] = [];
      const ratio = (2 ** 23 * sectorSize) / blockSize;
      for (let block = 0; block < bat.blockCount;) {
        const page = drive(bat.pageOf(block), needs, (need, bytes) => {
          for (let at = 0; at < need.length; at += 8) {
            const index = (need.offset - region.offset + at) / 8;
            bytes.setUint32(at, index % (ratio + 1) === ratio ? 7 : 2, true); // a bitmap's entry would be refused
          }
        });
        assert.equal(page.endOfRun(block, bat.blockCount), page.endBlock);
        assert.ok(page.endBlock > block);
        block = page.endBlock;
      }
      assert.equal(needs.length, Math.ceil(((300_001 + Math.floor(300_000 / ratio)) * 8) / BAT_PAGE_LENGTH));
    }
  });

  it("refuses a region that is too short for the disk", () => {
    const file = build.buildVhdx({ disk: new Uint8Array(MIB) });
    file.writeBigUInt64LE(BigInt(131_072 * MIB), build.VIRTUAL_DISK_SIZE);
    assert.throws(
      () => openImage(vhdx, file),
      (e) => e instanceof FormatError && e.code === "FORMAT_CORRUPT" && /131072 blocks need 1048824/.test(e.message),
    );
    file.writeBigUInt64LE(BigInt(131_041 * MIB), build.VIRTUAL_DISK_SIZE);
    assert.equal(openImage(vhdx, file).virtualSize, 131_041 * MIB);
  });

  for (const state of [4, 7]) {
    it(`refuses state ${state} of a disk without a parent`, () => {
      const file = build.buildVhdx({ disk: new Uint8Array(2 * MIB), stateOf: (block) => (block === 1 ? state : 0) });
      assert.throws(
        () => readDisk(vhdx, file),
        (e) =>
          e instanceof FormatError && e.code === "FORMAT_CORRUPT" && e.message.includes(`block 1 is in state ${state}`),
      );
    });
  }

  it("refuses a host offset beyond 2^53", () => {
    const file = build.buildVhdx({ disk: new Uint8Array(MIB).fill(1) });
    file.writeBigUInt64LE(0xffff_ffff_fff0_0006n, build.BAT);
    assert.throws(
      () => readDisk(vhdx, file),
      (e) =>
        e instanceof FormatError && /block 0 lies at host offset 0xfffffffffff00006, outside any file/.test(e.message),
    );
  });
});
