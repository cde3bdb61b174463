import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Interrupted } from "../../../importer/errors.ts";
import { makeBlankDisk } from "../../../importer/worker/blank-disk.ts";
import { recordingTarget } from "../../support/recording-target.ts";

const MIB = 1024 * 1024;

describe("makeBlankDisk", () => {
  it("writes nothing to what starts zeroed", async () => {
    const target = recordingTarget({ size: 4 * MIB });
    await makeBlankDisk({ ...target, startsZeroed: true }, 4 * MIB, new AbortController().signal);
    assert.deepEqual(
      target.calls.filter(([name]) => name === "write" || name === "zero"),
      [],
    );
  });

  it("zeroes every byte of what does not, and no other", async () => {
    const target = recordingTarget({ size: 200 * MIB });
    await makeBlankDisk({ ...target, startsZeroed: false }, 130 * MIB, new AbortController().signal);
    const zeroed = target.calls.filter(([name]) => name === "zero").map(([, offset, length]) => [offset, length]);
    assert.deepEqual(zeroed, [
      [0, 64 * MIB],
      [64 * MIB, 64 * MIB],
      [128 * MIB, 2 * MIB],
    ]);
  });

  it("gives the target up when it is told to stop", async () => {
    const target = recordingTarget({ size: 4 * MIB });
    const calls: string[] = [];
    const watched = { ...target, abort: () => void calls.push("abort"), commit: () => void calls.push("commit") };
    await assert.rejects(makeBlankDisk(watched, 4 * MIB, AbortSignal.abort()), (error) => error instanceof Interrupted);
    assert.deepEqual(calls, ["abort"]);
  });
});
