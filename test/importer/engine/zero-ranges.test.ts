import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { ZeroRanges } from "../../../importer/engine/zero-ranges.ts";
import { Interrupted } from "../../../importer/errors.ts";
import { recordingTarget } from "../../support/recording-target.ts";

const MIB = 1024 * 1024;

describe("ZeroRanges", () => {
  it("merges neighbours, in whatever order they come", async () => {
    const target = recordingTarget();
    const zeros = new ZeroRanges(target);
    for (const [offset, length] of [
      [4096, 512],
      [0, 512],
      [4608, 512],
      [512, 512],
      [9000, 10],
    ] as const) {
      zeros.add(offset, length);
    }
    assert.deepEqual(target.calls, [], "gathered first");
    await zeros.apply();
    assert.deepEqual(target.calls, [
      ["zero", 0, 1024],
      ["zero", 4096, 1024],
      ["zero", 9000, 10],
    ]);
    assert.equal(zeros.zeroed, 2058);
    await zeros.apply();
    assert.equal(target.calls.length, 3, "once");
  });

  it("ends between two pieces once it is told to", async () => {
    for (const declines of [false, true]) {
      const stop = new AbortController();
      const calls: number[] = [];
      const noted = (offset: number): boolean => {
        calls.push(offset);
        if (calls.length === 2) stop.abort();
        return !declines;
      };
      const target = {
        ...recordingTarget(),
        zeroAt: declines ? () => false : noted,
        writeAt: (_: unknown, at: number) => void noted(at),
      };
      const zeros = new ZeroRanges(target, stop.signal);
      zeros.add(0, 1024 * MIB);
      await assert.rejects(zeros.apply(), Interrupted);
      assert.deepEqual(calls, declines ? [0, MIB] : [0, 64 * MIB]);
    }
  });

  it("asks for no more than 64 MiB at once", async () => {
    const target = recordingTarget();
    const zeros = new ZeroRanges(target);
    zeros.add(MIB, 130 * MIB);
    await zeros.apply();
    assert.deepEqual(target.calls, [
      ["zero", MIB, 64 * MIB],
      ["zero", 65 * MIB, 64 * MIB],
      ["zero", 129 * MIB, 2 * MIB],
    ]);
  });

  it("writes zeros where the target declines", async () => {
    const target = recordingTarget({ size: 3 * MIB, declines: true });
    const zeros = new ZeroRanges(target);
    zeros.add(100, 2 * MIB + 7);
    await zeros.apply();
    const expected = Buffer.alloc(3 * MIB, 0xee);
    expected.fill(0, 100, 100 + 2 * MIB + 7);
    assert.ok(target.disk.equals(expected));
    assert.deepEqual([zeros.zeroed, zeros.writtenZeros], [0, 2 * MIB + 7]);
  });

  it("does nothing on a target that starts zeroed", async () => {
    const target = recordingTarget({ startsZeroed: true });
    const zeros = new ZeroRanges(target);
    zeros.add(0, MIB);
    await zeros.zeroFirst(MIB);
    await zeros.apply();
    assert.deepEqual(target.calls, []);
  });

  it("zeroes in between only once much was gathered", async () => {
    const target = recordingTarget();
    const zeros = new ZeroRanges(target);
    for (let i = 0; i < 16_384; i++) {
      await zeros.settle();
      zeros.add(i * 1024, 512);
    }
    assert.equal(target.calls.length, 0);
    await zeros.settle();
    assert.equal(target.calls.length, 16_384);
  });

  it("zeroes the whole disk first where that was asked, and nothing of it again", async () => {
    const target = recordingTarget();
    const zeros = new ZeroRanges(target);
    await zeros.zeroFirst(MIB);
    zeros.add(512, 4096);
    zeros.add(MIB - 512, 1024);
    await zeros.apply();
    assert.deepEqual(target.calls, [
      ["zero", 0, MIB],
      ["zero", MIB, 512],
    ]);
  });

  it("zeroes exactly what was added", async () => {
    const pieces = fc.array(fc.record({ gap: fc.nat(3), length: fc.integer({ min: 1, max: 4 }), key: fc.nat() }), {
      maxLength: 30,
    });
    await fc.assert(
      fc.asyncProperty(pieces, fc.boolean(), async (list, declines) => {
        const expected = Buffer.alloc(256, 0xee);
        let at = 0;
        const ranges = list.map(({ gap, length, key }) => {
          const offset = at + gap;
          at = offset + length;
          expected.fill(0, offset, at);
          return { offset, length, key };
        });
        const target = recordingTarget({ size: 256, declines });
        const zeros = new ZeroRanges(target);
        for (const { offset, length } of ranges.sort((a, b) => a.key - b.key)) zeros.add(offset, length);
        await zeros.apply();
        assert.ok(target.disk.equals(expected));
      }),
      { seed: 3, numRuns: 100 },
    );
  });
});
