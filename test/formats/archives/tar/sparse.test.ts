import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { tar } from "../../../../formats/archives/tar/tar.ts";
import { FormatError } from "../../../../formats/errors.ts";
import type { FormatErrorCode } from "../../../../formats/errors.ts";
import { memberBytes, walkArchive } from "../../../support/archive.ts";
import { buildTar, octal, oldGnuSparse, paxEntry, setChecksum, storedRanges } from "../../../support/build-tar.ts";
import type { Range } from "../../../support/build-tar.ts";

const END = new Uint8Array(1024);

/** Zeros with a pattern in the given ranges. */
function sparse(size: number, ranges: readonly Range[]): Uint8Array {
  const bytes = new Uint8Array(size);
  for (const [offset, length] of ranges) for (let i = 0; i < length; i++) bytes[offset + i] = 1 + ((offset + i) % 251);
  return bytes;
}

/** Every second block stored, `count` of them, and the mark at the end that GNU tar writes. */
function everySecond(count: number): readonly Range[] {
  return [...Array.from({ length: count }, (_, i): Range => [i * 1024, 512]), [count * 1024 + 100, 0]];
}

type Layout = (content: Uint8Array, ranges: readonly Range[]) => Uint8Array;

const pairs = (ranges: readonly Range[]): string => ranges.map(([offset, length]) => `${offset},${length}`).join(",");

/** A member whose pax header holds `records` and whose content is `map` and the ranges. */
function paxSparse(
  records: [string, string][],
  map: Uint8Array,
  content: Uint8Array,
  ranges: readonly Range[],
): Uint8Array {
  return buildTar([
    paxEntry(records),
    { name: "GNUSparseFile.1/disk", content: Buffer.concat([map, storedRanges(content, ranges)]) },
  ]);
}

const layouts: Record<string, Layout> = {
  "old GNU": (content, ranges) => Buffer.concat([oldGnuSparse("disk", content, ranges), END]),
  "pax 0.0": (content, ranges) => {
    const records: [string, string][] = [
      ["path", "disk"],
      ["GNU.sparse.size", String(content.length)],
      ["GNU.sparse.numblocks", String(ranges.length)],
    ];
    for (const [offset, length] of ranges) {
      records.push(["GNU.sparse.offset", String(offset)], ["GNU.sparse.numbytes", String(length)]);
    }
    return paxSparse(records, new Uint8Array(0), content, ranges);
  },
  "pax 0.1": (content, ranges) => {
    const records: [string, string][] = [
      ["GNU.sparse.size", String(content.length)],
      ["GNU.sparse.numblocks", String(ranges.length)],
      ["GNU.sparse.map", pairs(ranges)],
      ["GNU.sparse.name", "disk"],
    ];
    return paxSparse(records, new Uint8Array(0), content, ranges);
  },
  "pax 1.0": (content, ranges) => {
    const records: [string, string][] = [
      ["GNU.sparse.major", "1"],
      ["GNU.sparse.minor", "0"],
      ["GNU.sparse.name", "disk"],
      ["GNU.sparse.realsize", String(content.length)],
    ];
    return paxSparse(records, mapBlocks([ranges.length, ...ranges.flat()]), content, ranges);
  },
};

/** Lines of numbers, padded to a block. */
function mapBlocks(numbers: readonly number[]): Uint8Array {
  const text = numbers.map((number) => `${number}\n`).join("");
  return Buffer.from(text.padEnd(Math.ceil(text.length / 512) * 512, "\0"));
}

function assertRefused(file: Uint8Array, code: FormatErrorCode, message: RegExp): void {
  assert.throws(
    () => walkArchive(tar, file),
    (error) => error instanceof FormatError && error.code === code && message.test(error.message),
  );
}

describe("sparse members", () => {
  for (const [title, build] of Object.entries(layouts)) {
    describe(title, () => {
      for (const count of [0, 1, 3, 4, 5, 24, 25, 26, 200]) {
        it(`reads ${count} ranges`, () => {
          const ranges = everySecond(count);
          const content = sparse(count * 1024 + 100, ranges);
          const file = build(content, ranges);
          const { members } = walkArchive(tar, file);
          assert.equal(members.length, 1);
          const member = members[0];
          assert.ok(member !== undefined);
          assert.equal(member.name, "disk");
          assert.equal(member.extents.length, count);
          assert.ok(Buffer.from(memberBytes(member, file)).equals(content));
        });
      }

      it("merges ranges that are neighbours, and reads a last one of odd length", () => {
        const ranges: Range[] = [
          [0, 512],
          [512, 1024],
          [4096, 700],
        ];
        const content = sparse(4796, ranges);
        const file = build(content, ranges);
        const member = walkArchive(tar, file).members[0];
        assert.ok(member !== undefined && Buffer.from(memberBytes(member, file)).equals(content));
        assert.deepEqual(
          member.extents.map(({ offset, length }) => [offset, length]),
          [
            [0, 1536],
            [4096, 700],
          ],
        );
      });

      it("refuses ranges that overlap, leave the member, or are not all stored", () => {
        assertRefused(
          build(new Uint8Array(4096), [
            [512, 1024],
            [1024, 512],
          ]),
          "FORMAT_CORRUPT",
          /before the end 1536/,
        );
        assertRefused(build(new Uint8Array(1000), [[512, 1024]]), "FORMAT_CORRUPT", /ends at 1536, the member at 1000/);
        // Two odd ranges whose sum takes fewer blocks than they do: no two programs read it alike.
        const odd = Buffer.from(
          build(
            sparse(4096, [
              [0, 100],
              [1024, 100],
            ]),
            [
              [0, 100],
              [1024, 100],
            ],
          ),
        );
        if (title === "old GNU") assertRefused(odd, "FORMAT_CORRUPT", /takes 612 stored bytes, the header says 200/);
      });

      it("gives the same member or one error for every prefix", () => {
        const ranges = everySecond(30);
        const content = sparse(30 * 1024 + 100, ranges);
        const file = build(content, ranges);
        for (let length = 1; length < file.length; length += 101) {
          try {
            for (const member of walkArchive(tar, file.subarray(0, length)).members) {
              assert.ok(Buffer.from(memberBytes(member, file)).equals(content));
            }
          } catch (error) {
            assert.ok(error instanceof FormatError && error.code === "FORMAT_CORRUPT", String(error));
          }
        }
      });
    });
  }

  for (const title of ["pax 0.1", "pax 1.0"]) {
    it(`reads a map of 100,000 entries in few needs and refuses one of 300,000, in ${title}`, () => {
      const many = Array.from({ length: 100_000 }, (_, i): Range => [i * 1024, 0]);
      const { members, needs } = walkArchive(tar, layouts[title]?.(new Uint8Array(2 ** 27), many) ?? END);
      assert.deepEqual(
        members.map((member) => member.extents.length),
        [0],
      );
      assert.ok(needs.length < 60, `${needs.length} needs`);
      const tooMany = Array.from({ length: 300_000 }, (_, i): Range => [i, 0]);
      assertRefused(
        layouts[title]?.(new Uint8Array(2 ** 19), tooMany) ?? END,
        "FORMAT_OUT_OF_BOUNDS",
        /more than 262144/,
      );
    });
  }

  it("refuses an old GNU map that goes on for ever", () => {
    const header = oldGnuSparse("disk", new Uint8Array(1024), []).subarray(0, 512);
    const endless = Buffer.alloc(512 * 13_000);
    for (let block = 0; block < endless.length; block += 512) {
      for (let at = block; at < block + 504; at += 24) endless.set(Buffer.concat([octal(0, 12), octal(0, 12)]), at);
      endless[block + 504] = 1;
    }
    header[482] = 1;
    setChecksum(header);
    assertRefused(Buffer.concat([header, endless]), "FORMAT_OUT_OF_BOUNDS", /more than 262144 entries/);
  });

  it("refuses a count of entries that is not true", () => {
    const build = (key: string, value: string): Uint8Array =>
      paxSparse(
        [
          ["GNU.sparse.size", "1024"],
          ["GNU.sparse.map", "0,512"],
          [key, value],
        ],
        END.subarray(0, 0),
        sparse(1024, [[0, 512]]),
        [[0, 512]],
      );
    assert.equal(walkArchive(tar, build("GNU.sparse.numblocks", "1")).members.length, 1);
    assertRefused(build("GNU.sparse.numblocks", "2"), "FORMAT_CORRUPT", /1 entries, GNU.sparse.numblocks is 2/);
    assertRefused(build("GNU.sparse.map", "0,512,3"), "FORMAT_CORRUPT", /odd count/);
    assertRefused(build("GNU.sparse.map", "0,,512"), "FORMAT_CORRUPT", /not a decimal/);
    assertRefused(build("GNU.sparse.offset", "7"), "FORMAT_CORRUPT", /take turns/);
    assertRefused(build("GNU.sparse.major", "2"), "FORMAT_UNSUPPORTED", /2\.0/);
  });

  it("refuses a 1.0 map that is no list of numbers or longer than the member", () => {
    const records: [string, string][] = [
      ["GNU.sparse.major", "1"],
      ["GNU.sparse.minor", "0"],
      ["GNU.sparse.realsize", "4096"],
    ];
    const withMap = (map: Uint8Array): Uint8Array => paxSparse(records, map, new Uint8Array(0), []);
    assertRefused(withMap(mapBlocks([2, 0, 512])), "FORMAT_CORRUPT", /no number/);
    assertRefused(withMap(Buffer.from("2\n0\n512\n")), "FORMAT_CORRUPT", /longer than the 8 bytes/);
    assertRefused(withMap(Buffer.alloc(512, "x\n")), "FORMAT_CORRUPT", /not a decimal/);
    assertRefused(withMap(Buffer.alloc(1024, "0")), "FORMAT_CORRUPT", /no number/);
    assertRefused(withMap(mapBlocks([999_999_999])), "FORMAT_OUT_OF_BOUNDS", /more than 262144/);
  });
});
