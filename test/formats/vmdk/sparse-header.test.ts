import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { FormatError } from "../../../formats/errors.ts";
import { decodeSparseHeader, grainTableLength, longestStoredGrain } from "../../../formats/vmdk/sparse-header.ts";
import { buildHeader } from "../../support/build-vmdk.ts";
import type { HeaderFields } from "../../support/build-vmdk.ts";

const usual: HeaderFields = { capacity: 16384, directory: 21, overhead: 128 };

describe("the header of a sparse extent", () => {
  it("is decoded to bytes", () => {
    const header = decodeSparseHeader(buildHeader({ ...usual, version: 2, flags: 7, unclean: true }));
    assert.deepEqual(header, {
      version: 2,
      virtualSize: 8 * 1024 * 1024,
      grainSize: 65536,
      descriptorOffset: 512,
      descriptorLength: 1024,
      entriesPerTable: 512,
      directoryEntries: 1,
      directoryOffset: 21 * 512,
      overhead: 65536,
      uncleanShutdown: true,
      compressed: false,
      markers: false,
      zeroedGrains: true,
    });
    assert.equal(grainTableLength(header), 2048);
    assert.equal(longestStoredGrain(header), 65536);
  });

  it("counts the tables of a disk that does not fill its last one", () => {
    assert.equal(decodeSparseHeader(buildHeader({ ...usual, capacity: 65536 })).directoryEntries, 1);
    assert.equal(decodeSparseHeader(buildHeader({ ...usual, capacity: 65537 })).directoryEntries, 2);
  });

  it("leaves the directory's place to the footer only in a stream", () => {
    const streamed = buildHeader({ ...usual, version: 3, flags: 0x30001, compression: 1, directory: "at end" });
    assert.equal(decodeSparseHeader(streamed).directoryOffset, undefined);
    assert.throws(() => decodeSparseHeader(buildHeader({ ...usual, directory: "at end" })), { code: "FORMAT_INVALID" });
  });

  it("shows what a transfer in text mode did", () => {
    for (const newlines of ["\n \n\n", "\r\n \r", "\n \r\r"]) {
      const bytes = buildHeader(usual);
      bytes.write(newlines, 73, "latin1");
      assert.throws(() => decodeSparseHeader(bytes), {
        code: "FORMAT_INVALID",
        message: /text mode/,
        remedy: /binary/,
      });
    }
    const untested = buildHeader({ ...usual, flags: 0 });
    untested.fill(0, 73, 77);
    assert.equal(decodeSparseHeader(untested).version, 1);
  });

  for (const [name, fields, code, message] of [
    ["version 0", { version: 0 }, "FORMAT_UNSUPPORTED", /version 0/],
    ["version 4", { version: 4 }, "FORMAT_UNSUPPORTED", /version 4/],
    ["an unknown compression", { compression: 2 }, "FORMAT_UNSUPPORTED", /algorithm 2/],
    ["compression without algorithm", { flags: 0x10001 }, "FORMAT_INVALID", /no algorithm/],
    ["a grain of 0", { grainSize: 0 }, "FORMAT_OUT_OF_BOUNDS", /grain size 0/],
    ["a grain of 100 sectors", { grainSize: 100 }, "FORMAT_OUT_OF_BOUNDS", /grain size 51200/],
    ["a grain of 2 GiB", { grainSize: 4194304 }, "FORMAT_OUT_OF_BOUNDS", /grain size/],
    ["a compressed grain of 4 MiB", { grainSize: 8192, compression: 1 }, "FORMAT_OUT_OF_BOUNDS", /2097152/],
    ["no entries per table", { entriesPerTable: 0 }, "FORMAT_OUT_OF_BOUNDS", /0 entries/],
    ["513 entries per table", { entriesPerTable: 513 }, "FORMAT_OUT_OF_BOUNDS", /513 entries/],
    ["more than 64 TiB", { capacity: 2 ** 37 + 1 }, "FORMAT_OUT_OF_BOUNDS", /directory has 2097153 entries/],
    ["a capacity above 2^52 bytes", { capacity: 2 ** 44 }, "FORMAT_OUT_OF_BOUNDS", /capacity/],
    ["a directory in the header", { directory: 0 }, "FORMAT_INVALID", /directory cannot be at 0x0/],
    ["an offset above 2^52 bytes", { overhead: 2 ** 44 }, "FORMAT_OUT_OF_BOUNDS", /overhead/],
  ] as const) {
    it(`is refused with ${name}`, () => {
      assert.throws(
        () => decodeSparseHeader(buildHeader({ ...usual, ...fields })),
        (error: FormatError) => error.code === code && message.test(error.message),
      );
    });
  }
});
