import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { tar, tarEntries } from "../../../../formats/archives/tar/tar.ts";
import { FormatError } from "../../../../formats/errors.ts";
import type { FormatErrorCode } from "../../../../formats/errors.ts";
import { memberBytes, readMembers, walkArchive } from "../../../support/archive.ts";
import type { Pieces } from "../../../support/archive.ts";
import { buildTar, longName, oldGnuSparse, paxEntry, setChecksum, tarHeader } from "../../../support/build-tar.ts";
import type { Range, TarEntry } from "../../../support/build-tar.ts";

const GIB = 1024 ** 3;
const disk = Uint8Array.from({ length: 1300 }, (_, i) => (i * 31) & 0xff);

function names(entries: readonly TarEntry[]): string[] {
  return walkArchive(tar, buildTar(entries)).members.map((member) => member.name);
}

function assertRefused(file: Uint8Array, code: FormatErrorCode, message: RegExp): void {
  assert.throws(
    () => walkArchive(tar, file),
    (error) => error instanceof FormatError && error.code === code && message.test(error.message),
  );
}

describe("tar", () => {
  it("announces regular files only, with the bytes of each", () => {
    const file = buildTar([
      { name: "folder/", type: "5", size: 4096 },
      { name: "link", type: "2" },
      { name: "hard", type: "1", size: 700 },
      { name: "null", type: "3" },
      { name: "pipe", type: "6" },
      { name: "label", type: "V" },
      { name: "listing", type: "D", content: disk },
      { name: "a", content: disk },
      { name: "old", type: "\0", content: disk.subarray(3) },
      { name: "contiguous", type: "7", content: disk.subarray(0, 512) },
      { name: "empty" },
      { name: "old-folder/", magic: "v7", type: "\0" },
    ]);
    assert.deepEqual(readMembers(tar, file), [
      ["a", disk],
      ["old", disk.subarray(3)],
      ["contiguous", disk.subarray(0, 512)],
      ["empty", new Uint8Array(0)],
    ]);
  });

  it("announces everything else too where all entries are asked for", () => {
    const file = buildTar([
      { name: "folder/", type: "5" },
      { name: "file", content: disk },
      { name: "hard", type: "1", link: "file" },
      { name: "symbolic", type: "2", link: "../file" },
      { name: "null", type: "3" },
      { name: "long", type: "K", content: Buffer.from(`${"l".repeat(200)}\0`) },
      { name: "of-gnu", type: "2", link: "cut" },
      paxEntry([["linkpath", "päx"]]),
      { name: "of-pax", type: "2", link: "cut" },
      { name: "old-folder/", magic: "v7", type: "\0" },
    ]);
    const walk = { ...tar, members: tarEntries };
    const seen = walkArchive(walk, file).members.map((member) => {
      return "kind" in member
        ? [member.name, member.kind, "link" in member ? member.link : undefined, member.size]
        : [];
    });
    assert.deepEqual(seen, [
      ["folder/", "folder", "", 0],
      ["file", "file", "", disk.length],
      ["hard", "hard-link", "file", 0],
      ["symbolic", "symbolic-link", "../file", 0],
      ["null", "other", "", 0],
      ["of-gnu", "symbolic-link", "l".repeat(200), 0],
      ["of-pax", "symbolic-link", "päx", 0],
      ["old-folder/", "folder", "", 0],
    ]);
  });

  it("shows names without what leads them out of the folder", () => {
    const shown = names([".//a", "./b", "/c", "/./././d", ".e", "../f"].map((name) => ({ name })));
    assert.deepEqual(shown, ["a", "b", "c", "d", ".e", "../f"]);
  });

  it("joins the prefix of ustar, and not that of another layout", () => {
    assert.deepEqual(names([{ name: "disk", prefix: "vm/one" }]), ["vm/one/disk"]);
    assert.deepEqual(names([{ name: "disk", prefix: "vm/one", magic: "gnu" }]), ["disk"]);
  });

  it("takes the name of pax before GNU's before the header's", () => {
    assert.deepEqual(names([longName("long"), { name: "short" }, { name: "next" }]), ["long", "next"]);
    assert.deepEqual(names([longName("long"), paxEntry([["path", "päx"]]), { name: "short" }]), ["päx"]);
    assert.deepEqual(names([{ name: "k", type: "K", content: disk }, { name: "short" }]), ["short"]);
  });

  it("lets the last of repeated pax keys win, the file's own over the global, and an empty one take it back", () => {
    const global = paxEntry(
      [
        ["path", "global"],
        ["path", "later"],
      ],
      "g",
    );
    assert.deepEqual(names([global, { name: "a" }, paxEntry([["path", "own"]]), { name: "b" }, { name: "c" }]), [
      "later",
      "own",
      "later",
    ]);
    assert.deepEqual(names([global, paxEntry([["path", ""]]), { name: "a" }]), ["a"]);
  });

  it("takes either sum of bytes for a checksum", () => {
    for (const signedChecksum of [false, true]) assert.deepEqual(names([{ name: "dïsk", signedChecksum }]), ["dïsk"]);
  });

  describe("V10: a member above 8 GiB", () => {
    const size = 8 * GIB + 70_001;
    const after = buildTar([{ name: "after", content: disk }]);
    const headers: [string, Uint8Array][] = [
      ["base-256", tarHeader({ name: "disk", magic: "gnu", size })],
      ["pax size", buildTar([paxEntry([["size", String(size)]]), { name: "disk", size: 0 }], false)],
    ];
    for (const [title, header] of headers) {
      it(`has its size as ${title}`, () => {
        const next = header.length + Math.ceil(size / 512) * 512;
        const last = { offset: header.length + size - 4, bytes: Uint8Array.of(1, 2, 3, 4) };
        const pieces = [{ offset: 0, bytes: header }, last, { offset: next, bytes: after }];
        const file: Pieces = { length: next + after.length, pieces };
        const [member, second] = walkArchive(tar, file).members;
        assert.ok(member !== undefined && second !== undefined);
        assert.deepEqual([member.name, member.size, second.name], ["disk", size, "after"]);
        assert.deepEqual(memberBytes(member, file, size - 4), last.bytes);
        assert.deepEqual(memberBytes(second, file), disk);
      });
    }
  });

  describe("the end", () => {
    const one = buildTar([{ name: "a", content: disk }], false);
    const ends: [string, Uint8Array][] = [
      ["two blocks of zeros", new Uint8Array(1024)],
      ["a record of zeros", new Uint8Array(10_240)],
      ["one block of zeros", new Uint8Array(512)],
      ["no mark", new Uint8Array(0)],
      ["anything behind the mark", Buffer.concat([new Uint8Array(1024), Buffer.alloc(700, "x")])],
    ];
    for (const [title, end] of ends) {
      it(`is ${title}`, () => assert.deepEqual(readMembers(tar, Buffer.concat([one, end])), [["a", disk]]));
    }

    it("is not a single block of zeros before another member", () => {
      assertRefused(Buffer.concat([one, new Uint8Array(512), one]), "FORMAT_CORRUPT", /single block of zeros at 2048/);
    });

    it("may be missing with the last member's padding", () => {
      assert.deepEqual(readMembers(tar, one.subarray(0, 512 + disk.length)), [["a", disk]]);
    });
  });

  it("gives the same members or one error for every prefix", () => {
    const file = buildTar([
      longName("x".repeat(600)),
      { name: "a", content: disk },
      paxEntry([["path", "b"]]),
      { name: "-", content: disk },
    ]);
    const whole = readMembers(tar, file);
    const seen = new Set<number>();
    for (let length = 0; length < file.length; length++) {
      try {
        const part = readMembers(tar, file.subarray(0, length));
        assert.ok(part.every(([name, bytes], i) => name === whole[i]?.[0] && Buffer.compare(bytes, whole[i][1]) === 0));
        seen.add(part.length);
      } catch (error) {
        assert.ok(error instanceof FormatError && error.code === "FORMAT_CORRUPT", String(error));
      }
    }
    assert.deepEqual([...seen], [0, 1, 2]);
  });

  it("gives members or one error for 300 mutations", () => {
    const ranges: Range[] = [
      [0, 512],
      [1024, 512],
      [2048, 512],
      [4096, 512],
      [8192, 300],
    ];
    const content = new Uint8Array(8492).fill(3);
    const pax = paxEntry([
      ["GNU.sparse.size", "2048"],
      ["GNU.sparse.map", "0,512,1024,512"],
      ["size", "1024"],
    ]);
    const entries = [
      longName("long"),
      { name: "a", content: disk },
      pax,
      { name: "b", content: content.subarray(0, 1024) },
    ];
    const file = Buffer.concat([oldGnuSparse("c", content, ranges), buildTar(entries)]);
    assert.equal(walkArchive(tar, file).members.length, 3);
    let random = 1;
    const next = (limit: number): number => {
      random = (Math.imul(random, 1_103_515_245) + 12_345) >>> 0;
      return Math.floor((random / 2 ** 32) * limit);
    };
    for (let i = 0; i < 300; i++) {
      const copy = Buffer.from(file);
      const block = next(file.length / 512) * 512;
      for (let changes = 1 + next(6); changes > 0; changes--)
        copy[block + next(512)] = next(2) === 0 ? next(256) : 0x30 + next(10);
      setChecksum(copy.subarray(block, block + 512)); // else the checksum would catch nearly all
      try {
        for (const member of walkArchive(tar, copy).members) memberBytes(member, copy, 0, 65_536);
      } catch (error) {
        assert.ok(error instanceof FormatError, String(error));
      }
    }
  });

  it("refuses more entries than it counts", () => {
    const header = tarHeader({ name: "folder", type: "5" });
    const walk = tar.members();
    let entries = 0;
    walk.next();
    const walkOn = (): void => {
      for (; entries < 2 ** 20; entries++) walk.next(header);
    };
    assert.throws(walkOn, /more than 262144 entries/);
    assert.equal(entries, 262_143);
  });

  it("refuses by name what it does not read", () => {
    assertRefused(buildTar([{ name: "a", type: "M", magic: "gnu" }]), "FORMAT_UNSUPPORTED", /another volume/);
    assertRefused(buildTar([{ name: "a", type: "S" }]), "FORMAT_UNSUPPORTED", /star/);
  });

  it("refuses what is damaged or hostile", () => {
    const spoilt = buildTar([{ name: "a", content: disk }]);
    spoilt[0] = 0x62;
    assertRefused(spoilt, "FORMAT_CORRUPT", /header at 0 has a wrong checksum/);
    const withSize = (bytes: number[]): Uint8Array =>
      buildTar([{ name: "a", magic: "gnu", patch: (block) => block.set(bytes, 124) }]);
    assertRefused(withSize([0x39, 0x39]), "FORMAT_CORRUPT", /size in the tar header at 0 is not an octal number/);
    assertRefused(withSize(Array.from({ length: 12 }, () => 0xff)), "FORMAT_CORRUPT", /negative/);
    assertRefused(withSize([0x80, 0, 0, 1]), "FORMAT_OUT_OF_BOUNDS", /2\^53 - 1/);
    assertRefused(withSize([0x80, 0, 0, 0, 0, 0x20]), "FORMAT_OUT_OF_BOUNDS", /2\^53 - 1/);
    assertRefused(
      withSize([0x80, 0, 0, 0, 0, 0x1f, 255, 255, 255, 255, 255, 255]),
      "FORMAT_OUT_OF_BOUNDS",
      /ends above/,
    );
    assertRefused(
      buildTar([{ name: "a", type: "x", size: 2 ** 25 }]),
      "FORMAT_OUT_OF_BOUNDS",
      /33554432 bytes, above the limit of 16777216/,
    );
    assertRefused(buildTar([{ name: "a", type: "L", size: 2 ** 17 }]), "FORMAT_OUT_OF_BOUNDS", /long name has 131072/);
    assertRefused(buildTar([paxEntry([["size", "1e3"]]), { name: "a" }]), "FORMAT_CORRUPT", /not a decimal/);
    assertRefused(buildTar([paxEntry([["size", "9007199254740992"]]), { name: "a" }]), "FORMAT_OUT_OF_BOUNDS", /2\^53/);
    assertRefused(buildTar([paxEntry([["path", "a"]])], false), "FORMAT_CORRUPT", /extended header is the last/);
  });
});
