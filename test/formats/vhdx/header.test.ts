import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { FormatError } from "../../../formats/errors.ts";
import { readHeader } from "../../../formats/vhdx/header.ts";
import type { Warning } from "../../../formats/disk-format.ts";
import * as build from "../../support/build-vhdx.ts";

const MIB = 1024 * 1024;

/** Reads the header of a built file after `change`; the checksums are made right if `seal`. */
function read(change: (file: Buffer) => void, seal = true) {
  const file = build.buildVhdx({ disk: new Uint8Array(512) });
  change(file);
  if (seal) build.sealVhdx(file);
  const warnings: Warning[] = [];
  return { ...readHeader(file, warnings), codes: warnings.map((w) => w.code) };
}

function fails(code: string, message: RegExp): (error: unknown) => boolean {
  return (error) => error instanceof FormatError && error.code === code && message.test(error.message);
}

describe("vhdx header", () => {
  it("takes the valid header with the greater sequence number, beyond 2^53 too", () => {
    for (const [first, second, expected] of [
      [1n, 2n, 20],
      [3n, 2n, 10],
      [2n ** 63n, 2n ** 63n + 1n, 20],
    ] as const) {
      const header = read((file) => {
        file.writeBigUInt64LE(first, build.HEADER_1 + 8);
        file.writeBigUInt64LE(second, build.HEADER_2 + 8);
        file.writeUInt32LE(10 * MIB, build.HEADER_1 + 68);
        file.writeUInt32LE(20 * MIB, build.HEADER_2 + 68);
      });
      assert.equal(header.logLength, expected * MIB);
      assert.deepEqual(header.codes, []);
    }
  });

  for (const [name, header, other] of [
    ["first", build.HEADER_1, build.HEADER_2],
    ["second", build.HEADER_2, build.HEADER_1],
  ] as const) {
    it(`uses the other if the ${name} is damaged, with a warning`, () => {
      for (const at of [0, 4, 100, 4095]) {
        const { logLength, codes } = read((file) => {
          file.writeUInt32LE(7 * MIB, other + 68);
          build.sealVhdx(file);
          file[header + at] = 0xee;
        }, false);
        assert.equal(logLength, 7 * MIB);
        assert.deepEqual(codes, ["VHDX_HEADER_DAMAGED"]);
      }
    });
  }

  it("refuses a file with both headers damaged", () => {
    const damage = (file: Buffer) => file.fill(1, build.HEADER_1 + 200, build.HEADER_2 + 200);
    assert.throws(() => read(damage, false), fails("FORMAT_CORRUPT", /neither of the two VHDX headers/));
  });

  it("refuses equal sequence numbers unless the headers are equal", () => {
    const equal = (file: Buffer) => file.writeBigUInt64LE(1n, build.HEADER_2 + 8);
    assert.deepEqual(read(equal).codes, []);
    const differing = (file: Buffer) => {
      equal(file);
      file[build.HEADER_2 + 20] = 1;
    };
    assert.throws(() => read(differing), fails("FORMAT_CORRUPT", /sequence number 1 and they differ/));
  });

  it("refuses another version of the file or of the log, by name", () => {
    const version = (file: Buffer) => file.writeUInt16LE(2, build.HEADER_2 + 66);
    assert.throws(() => read(version), fails("FORMAT_UNSUPPORTED", /VHDX file has version 2/));
    const logVersion = (file: Buffer) => file.writeUInt16LE(1, build.HEADER_2 + 64);
    assert.throws(() => read(logVersion), fails("FORMAT_UNSUPPORTED", /VHDX log has version 1/));
  });

  it("refuses a log that is not aligned or inside the header section", () => {
    for (const [at, value] of [
      [68, MIB + 4096],
      [72, MIB + 4096],
      [72, 0],
    ] as const) {
      const change = (file: Buffer) => file.writeUInt32LE(value, build.HEADER_2 + at);
      assert.throws(() => read(change), fails("FORMAT_INVALID", /the log lies at/));
    }
  });

  it("names a log only with a GUID and a length", () => {
    assert.equal(read(() => undefined).logGuid, undefined);
    const guid = (file: Buffer) => file.writeUInt8(1, build.HEADER_2 + 63);
    assert.equal(read(guid).logGuid?.[15], 1);
    const noLength = (file: Buffer) => {
      guid(file);
      file.writeUInt32LE(0, build.HEADER_2 + 68);
    };
    assert.equal(read(noLength).logGuid, undefined);
  });
});
