import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { describe, it } from "node:test";
import zlib from "node:zlib";
import fc from "fast-check";
import * as compare from "../../cmd/compare.ts";
import { firstDifference } from "../../cmd/compare.ts";
import type { DiskPiece } from "../../importer/disk-reader.ts";
import { runCommand } from "../support/command-io.ts";
import { sampleBytes, samples } from "../support/images.ts";
import { withFolder } from "../support/loop-device.ts";

async function compared(
  a: Uint8Array,
  b: Uint8Array,
  ...options: string[]
): Promise<{ status: number; stdout: string; stderr: string }> {
  return await withFolder(async (folder) => {
    const names = [path.join(folder, "a"), path.join(folder, "b")] as const;
    fs.writeFileSync(names[0], a);
    fs.writeFileSync(names[1], b);
    return await runCommand(compare, [...options, ...names]);
  });
}

const disk = sampleBytes("raw/patterned.raw");

describe("decant compare", () => {
  for (const { name } of samples()
    .filter(({ contentSha256 }) => contentSha256?.startsWith("0f611f20"))
    .filter((_, i) => i % 3 === 0)) {
    it(`finds the disk of ${name} the same as the raw one`, async () => {
      const result = await compared(sampleBytes(name), disk);
      // bzip2, lzma and zip are known and not read.
      if (result.status === 2) assert.match(result.stderr, /FORMAT_UNSUPPORTED/);
      else assert.deepEqual([result.status, result.stdout], [0, "disks are the same\n"]);
    });
  }

  it("says where disks differ first", async () => {
    for (const at of [0, 511, 1_048_576, disk.length - 1]) {
      const other = Buffer.from(disk);
      other[at] = (other[at] ?? 0) ^ 0x80;
      for (const [a, b] of [
        [disk, other],
        [other, disk],
        [zlib.gzipSync(other), sampleBytes("qcow2/zlib.qcow2")],
      ] as const) {
        const { status, stdout } = await compared(a, b);
        assert.deepEqual([status, stdout], [1, `disks differ at offset ${at}\n`]);
      }
    }
  });

  it("takes zeros at the end for nothing, unless sizes matter", async () => {
    const longer = Buffer.concat([disk, Buffer.alloc(1_000_448)]);
    for (const [a, b] of [
      [disk, longer],
      [longer, disk],
    ] as const) {
      const loose = await compared(a, b);
      assert.deepEqual(
        [loose.status, loose.stdout],
        [0, `disks are the same; the longer one (${longer.length} bytes) ends in zeros\n`],
      );
      const strict = await compared(a, b, "--strict");
      assert.deepEqual([strict.status, strict.stdout], [1, `sizes differ: ${a.length} and ${b.length} bytes\n`]);
    }
    longer[longer.length - 1] = 1;
    assert.equal((await compared(disk, longer)).stdout, `disks differ at offset ${longer.length - 1}\n`);
  });

  it("cannot tell of images that are missing, damaged or refused", async () => {
    for (const bad of [
      sampleBytes("qcow2/encrypted.qcow2"),
      sampleBytes("qcow2/zlib.qcow2").subarray(0, 200_000 >> 2),
    ]) {
      const { status, stdout, stderr } = await compared(disk, bad);
      assert.deepEqual([status, stdout], [2, ""]);
      assert.match(stderr, /^decant: .*\[FORMAT_/);
    }
    const missing = await runCommand(compare, ["no such image", "nor this"]);
    assert.equal(missing.status, 2);
  });
});

describe("firstDifference", () => {
  const piece = fc.record({ length: fc.integer({ min: 1, max: 5 }), fill: fc.constantFrom(undefined, 0, 0, 1) });

  it("is where the bytes differ first, however they are cut", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(piece, { maxLength: 8 }), fc.array(piece, { maxLength: 8 }), async (a, b) => {
        const [left, right] = [a, b].map((list) =>
          list.flatMap(({ length, fill }) => Array.from({ length }, () => fill ?? 0)),
        ) as [number[], number[]];
        const length = Math.max(left.length, right.length);
        const at = Array.from({ length }, (_, i) => i).find((i) => (left[i] ?? 0) !== (right[i] ?? 0));
        assert.equal(await firstDifference(lent(a), lent(b)), at);
      }),
      { seed: 4, numRuns: 500 },
    );
  });
});

/** Pieces whose memory is used again for the next. */
async function* lent(
  list: readonly { readonly length: number; readonly fill: number | undefined }[],
): AsyncGenerator<DiskPiece> {
  const memory = new Uint8Array(16);
  let offset = 0;
  for (const { length, fill } of list) {
    yield { offset, length, bytes: fill === undefined ? undefined : memory.subarray(0, length).fill(fill) };
    memory.fill(0xa5);
    offset += length;
  }
}
