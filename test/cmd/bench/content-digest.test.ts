import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { describe, it } from "node:test";
import { digestContent } from "../../../cmd/bench/content-digest.ts";
import { baseDisk } from "../../support/base-disk.ts";
import { withTemporaryFolder } from "../../support/temporary-folder.ts";

const MIB = 1024 * 1024;
const disk = baseDisk(4 * MIB);

/** @param pieces what is written where, in a file of `size` bytes */
async function digestOf(
  pieces: readonly (readonly [Uint8Array, number])[],
  size: number,
  length = size,
): Promise<string> {
  return await withTemporaryFolder(async (folder) => {
    const file = path.join(folder, "disk.raw");
    const fd = fs.openSync(file, "w");
    for (const [bytes, offset] of pieces) fs.writeSync(fd, bytes, 0, bytes.length, offset);
    fs.ftruncateSync(fd, size);
    fs.closeSync(fd);
    return await digestContent(file, length);
  });
}

/** What is not zero, in blocks of so many bytes. */
function sparse(grain: number): [Uint8Array, number][] {
  const blocks = Array.from({ length: disk.length / grain }, (_, at) => at * grain);
  return blocks
    .map((at): [Uint8Array, number] => [disk.subarray(at, at + grain), at])
    .filter(([bytes]) => bytes.some((byte) => byte !== 0));
}

describe("digestContent", () => {
  it("is the same however zeros are kept", async () => {
    const whole = await digestOf([[disk, 0]], disk.length);
    for (const grain of [4096, 65536]) assert.equal(await digestOf(sparse(grain), disk.length), whole);
    assert.equal(await digestOf([[disk, 0]], disk.length + MIB), whole, "zeros behind the end");
    assert.equal(
      await digestOf(
        [
          [disk, 0],
          [Buffer.alloc(MIB, 1), disk.length],
        ],
        disk.length + MIB,
        disk.length,
      ),
      whole,
    );
  });

  it("differs with every bit, its place, and what is missing", async () => {
    const whole = await digestOf([[disk, 0]], disk.length);
    const changed = Buffer.from(disk);
    changed[3 * MIB - 1] = (changed[3 * MIB - 1] ?? 0) ^ 1;
    assert.notEqual(await digestOf([[changed, 0]], disk.length), whole);
    assert.notEqual(await digestOf([[disk, 512]], disk.length + 512), whole);
    assert.notEqual(await digestOf([[disk.subarray(0, -512), 0]], disk.length), whole);
    const one = Buffer.alloc(512, 7);
    assert.notEqual(await digestOf([[one, 0]], MIB), await digestOf([[one, 4096]], MIB));
  });

  it("knows a disk of zeros, of any size", async () => {
    assert.equal(await digestOf([], MIB), await digestOf([[Buffer.alloc(MIB), 0]], 4 * MIB));
  });
});
