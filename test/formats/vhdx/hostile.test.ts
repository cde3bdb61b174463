import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { vhdx } from "../../../formats/vhdx/vhdx.ts";
import { baseDisk } from "../../support/base-disk.ts";
import * as build from "../../support/build-vhdx.ts";
import { mutations, survive } from "../../support/hostile.ts";

const KIB = 1024;
const MIB = 1024 * KIB;

/** A small file with a log to replay, and the ranges of it that structures use. */
function small(): Buffer {
  const file = build.buildVhdx({ disk: baseDisk(MIB + 64 * KIB).fill(0, 0, MIB) });
  const page = Buffer.from(file.subarray(build.BAT, build.BAT + 4096));
  const next = build.writeLog(file, [
    { position: 0, sequenceNumber: 1n, changes: [{ offset: build.BAT, bytes: page }] },
  ]);
  const changes = [{ offset: build.METADATA + 128 * KIB, zeros: 8192 }];
  build.writeLog(file, [{ position: next, sequenceNumber: 2n, tail: 0, changes }]);
  return file;
}

const USED = [
  [0, 64],
  [build.HEADER_1, build.HEADER_1 + 80],
  [build.HEADER_2, build.HEADER_2 + 80],
  [build.REGION_TABLE_1, build.REGION_TABLE_1 + 80],
  [build.REGION_TABLE_2, build.REGION_TABLE_2 + 80],
  [build.LOG, build.LOG + 96],
  [build.LOG + 8192, build.LOG + 8192 + 96],
  [build.BAT, build.BAT + 16],
  [build.METADATA, build.METADATA + 192],
  [build.METADATA_ITEMS, build.METADATA_ITEMS + 40],
] as const;

describe("vhdx, damaged", () => {
  it("survives every prefix that ends in a structure, and others", () => {
    const file = small();
    assert.equal(survive(vhdx, file), undefined);
    const lengths = new Set<number>();
    for (const [start, end] of USED) for (let at = start; at <= end; at++) lengths.add(at);
    for (let at = 0; at < file.length; at += 64 * KIB - 1) lengths.add(at);
    for (const length of lengths) {
      if (length < file.length)
        assert.notEqual(survive(vhdx, file.subarray(0, length)), undefined, `prefix of ${length}`);
    }
  });

  it("survives 300 changes of its structures, with right checksums half of the time", () => {
    const codes = new Map<string, number>();
    let i = 0;
    for (const damaged of mutations(small(), USED, 300, 20_261)) {
      const file = Buffer.from(damaged.buffer);
      if (i++ % 2 === 0) {
        build.sealVhdx(file);
        for (const entry of [0, 8192]) {
          const bytes = file.subarray(build.LOG + entry, build.LOG + entry + (entry === 0 ? 8192 : 4096));
          bytes.writeUInt32LE(0, 4);
          bytes.writeUInt32LE(build.slowCrc32c(bytes), 4);
        }
      }
      const code = survive(vhdx, file) ?? "read";
      codes.set(code, (codes.get(code) ?? 0) + 1);
    }
    // Each way to fail was met, so the changes do reach the checks.
    for (const code of ["read", "FORMAT_CORRUPT", "FORMAT_INVALID", "FORMAT_UNSUPPORTED", "FORMAT_OUT_OF_BOUNDS"]) {
      assert.ok((codes.get(code) ?? 0) > 0, `${code} among ${JSON.stringify([...codes])}`);
    }
  });
});
