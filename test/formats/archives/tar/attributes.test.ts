import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { otherKind, readAttributes } from "../../../../formats/archives/tar/attributes.ts";
import type { TarAttributes } from "../../../../formats/archives/tar/attributes.ts";
import { tar, tarEntries } from "../../../../formats/archives/tar/tar.ts";
import type { TarEntry } from "../../../../formats/archives/tar/tar.ts";
import { FormatError } from "../../../../formats/errors.ts";
import { walkArchive } from "../../../support/archive.ts";
import { buildTar, paxEntry } from "../../../support/build-tar.ts";
import type { TarEntry as BuiltEntry } from "../../../support/build-tar.ts";

function entriesOf(...built: BuiltEntry[]): TarEntry[] {
  return walkArchive({ ...tar, members: () => tarEntries() }, buildTar(built)).members as TarEntry[];
}

function attributes(field: Partial<Record<"mode" | "time", string>>, ...before: BuiltEntry[]): TarAttributes {
  const patch = (block: Uint8Array): void => {
    if (field.mode !== undefined) block.set(Buffer.from(field.mode, "latin1"), 100);
    if (field.time !== undefined) block.set(Buffer.from(field.time, "latin1"), 136);
  };
  const [entry] = entriesOf(...before, { name: "file", patch });
  assert.ok(entry !== undefined);
  return readAttributes(entry);
}

describe("tar attributes", () => {
  it("are permissions without the type that old tars put above them", () => {
    assert.equal(attributes({ mode: "0000644\0" }).mode, 0o644);
    assert.equal(attributes({ mode: "0104755\0" }).mode, 0o4755);
    assert.equal(attributes({ mode: "0007777\0" }).mode, 0o7777);
    assert.equal(attributes({ mode: "\0\0\0\0\0\0\0\0" }).mode, 0);
  });

  it("refuse a mode that is no number", () => {
    assert.throws(() => attributes({ mode: "rw-r--r-" }), FormatError);
  });

  it("have the time of the header, or the finer one of pax", () => {
    assert.equal(attributes({ time: "14371147650\0" }).modifiedAt, 0o14371147650);
    const pax = (time: string): BuiltEntry => paxEntry([["mtime", time]]);
    assert.equal(attributes({ time: "14371147650\0" }, pax("12.5")).modifiedAt, 12.5);
    assert.equal(attributes({}, pax("-3.25")).modifiedAt, -3.25);
    assert.equal(attributes({}, pax("7.")).modifiedAt, 7);
  });

  it("have no time where it makes no sense", () => {
    for (const time of ["1e9", "Infinity", "9999999999999", "yesterday", "0x10"]) {
      assert.equal(attributes({}, paxEntry([["mtime", time]])).modifiedAt, undefined, time);
    }
    assert.equal(attributes({ time: "\xff".repeat(12) }).modifiedAt, undefined, "base-256, before 1970");
    assert.equal(attributes({ time: "12 o'clock\0\0" }).modifiedAt, undefined);
  });

  it("say what is neither file nor link", () => {
    const kinds = entriesOf(...["3", "4", "6", "V", "D", "Q", "5"].map((type) => ({ name: "x", type }))).map(otherKind);
    assert.deepEqual(kinds, ["character-device", "block-device", "pipe", "label", "folder", undefined, undefined]);
  });
});
