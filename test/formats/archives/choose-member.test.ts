import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { MemberChoice } from "../../../formats/archives/choose-member.ts";
import { tar } from "../../../formats/archives/tar/tar.ts";
import { FormatError } from "../../../formats/errors.ts";
import type { FormatErrorCode } from "../../../formats/errors.ts";
import { buildTar } from "../../support/build-tar.ts";
import type { TarEntry } from "../../support/build-tar.ts";
import { hash, pourFile, pourStream } from "../../support/choose-member.ts";
import type { Poured } from "../../support/choose-member.ts";

const text = Buffer.from("Read me first.\n".repeat(80));
const disk = withBootSector(1);
const other = withBootSector(2);

function withBootSector(seed: number): Buffer {
  const bytes = Buffer.alloc(4096, seed);
  bytes.set([0x55, 0xaa], 510);
  return bytes;
}

/** Both ways to read must come to the same; answers the single pass. */
function pour(entries: readonly TarEntry[], member?: string): Poured {
  const file = buildTar(entries);
  const atRandom = pourFile(tar, file, member);
  const inOnePass = pourStream(tar, file, member);
  assert.equal(atRandom.chosen.name, inOnePass.chosen.name);
  assert.ok(Buffer.from(atRandom.content).equals(inOnePass.content));
  return inOnePass;
}

function assertRefused(entries: readonly TarEntry[], code: FormatErrorCode, message: RegExp, member?: string): void {
  const file = buildTar(entries);
  for (const way of [pourFile, pourStream]) {
    assert.throws(
      () => way(tar, file, member),
      (error) => error instanceof FormatError && error.code === code && message.test(error.message),
      way.name,
    );
  }
}

function contentIs(poured: Poured, content: Uint8Array): void {
  assert.ok(Buffer.from(content).equals(poured.content), `got ${poured.chosen.name}`);
}

describe("the member that is the disk", () => {
  it("is the only regular file, whatever it looks like", () => {
    const poured = pour([
      { name: "vm/", type: "5" },
      { name: "vm/data", content: text },
      { name: "link", type: "2" },
    ]);
    contentIs(poured, text);
    assert.deepEqual([poured.chosen.name, poured.verdicts], ["vm/data", ["maybe"]]);
    contentIs(pour([{ name: "empty" }]), new Uint8Array(0));
  });

  it("C14: is the only one that starts as a disk, wherever it comes", () => {
    const readme = { name: "README", content: text };
    const notes = { name: "notes.txt", content: text };
    const image = { name: "disk.raw", content: disk };
    const first = pour([image, readme, notes]);
    assert.deepEqual([first.verdicts, first.undone], [["take", "skip", "skip"], 0]);
    contentIs(first, disk);
    const last = pour([readme, notes, image]);
    assert.deepEqual([last.verdicts, last.undone], [["maybe", "skip", "take"], 1]);
    contentIs(last, disk);
    contentIs(pour([{ name: "program.mf", content: Buffer.from("Manifest-Version: 1.0") }, image]), disk);
  });

  it("C14: is none of several disks, and of none that looks like one", () => {
    const disks = [
      { name: "a.img", content: disk },
      { name: "b.img", content: other },
    ];
    assertRefused(disks, "FORMAT_UNSUPPORTED", /holds 2 disks: "a.img", "b.img"$/);
    const texts = Array.from({ length: 25 }, (_, i) => ({ name: `${i}\n`, content: text }));
    assertRefused(texts, "FORMAT_UNSUPPORTED", /none of the 25 files .*: "0\\n", "1\\n", .* and 5 more$/);
    assertRefused([{ name: "folder/", type: "5" }], "FORMAT_INVALID", /no regular file/);
  });

  it("is the later of two with the same name", () => {
    contentIs(
      pour([
        { name: "a", content: text },
        { name: "./a", content: disk },
      ]),
      disk,
    );
    contentIs(
      pour([
        { name: "a", content: disk },
        { name: "./a", content: other },
      ]),
      other,
    );
    contentIs(
      pour([
        { name: "a", content: disk },
        { name: "a", content: text },
      ]),
      text,
    );
  });

  it("is the one that was named, by its whole name before its base name", () => {
    const entries = [
      { name: "x/a.img", content: disk },
      { name: "a.img", content: other },
      { name: "y/a.img", content: text },
      { name: "x/b.img", content: text },
    ];
    const exact = pour(entries, "a.img");
    assert.deepEqual([exact.verdicts, exact.undone], [["maybe", "take", "skip", "skip"], 1]);
    contentIs(exact, other);
    contentIs(pour(entries, "./x/a.img"), disk);
    contentIs(pour(entries, "b.img"), text);
    assertRefused(
      [entries[0], entries[2]].filter((each) => each !== undefined),
      "FORMAT_UNSUPPORTED",
      /2 files are called "a.img": "x\/a.img", "y\/a.img"/,
      "a.img",
    );
    assertRefused(entries, "FORMAT_UNRECOGNISED", /no file "c.img", but "x\/a.img", .*"x\/b.img"$/, "c.img");
    assertRefused(
      Array.from({ length: 30 }, (_, i) => ({ name: `f${i}` })),
      "FORMAT_UNRECOGNISED",
      /"f19" and more/,
      "c",
    );
  });

  it("refuses more names than are kept", () => {
    const name = "n".repeat(1000);
    const considerMany = (member: string | undefined): void => {
      const choice = new MemberChoice({ member, startsAsDisk: () => false, hash });
      for (let i = 0; i < 10_000; i++) choice.consider({ name: `${name}${i}`, size: 0 }, new Uint8Array(0));
    };
    assert.throws(() => considerMany(undefined), /more than 8388608 characters/);
    considerMany("a");
  });
});
