/**
 * tar-stream, which nothing else here has to do with, as a second writer and a second reader of tars: what it writes, our
 * parser reads; and both read the same in what the tests' own builder writes.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { buffer } from "node:stream/consumers";
import { describe, it } from "node:test";
import { extract, pack } from "tar-stream";
import type { Header } from "tar-stream";
import { tar, tarEntries } from "../../formats/archives/tar/tar.ts";
import type { TarEntry as ReadEntry } from "../../formats/archives/tar/tar.ts";
import { readAttributes } from "../../formats/archives/tar/attributes.ts";
import { memberBytes, walkArchive } from "../support/archive.ts";
import { buildTar, longName, paxEntry } from "../support/build-tar.ts";

const GIB = 1024 ** 3;
const MODE = 0o750;
const TIME = 1_700_000_000;

/** What both readers tell of an entry. */
interface Told {
  readonly name: string;
  readonly kind: string;
  readonly link: string;
  readonly content: string;
}

const KINDS: Readonly<Record<string, string>> = {
  file: "file",
  "contiguous-file": "file",
  link: "hard-link",
  symlink: "symbolic-link",
  directory: "folder",
};

const long = (length: number, end: string): string => `${"folder/".repeat(length / 7)}${end}`;

const ENTRIES: readonly (Partial<Header> & {
  readonly name: string;
  readonly content?: string;
  readonly shown?: string;
})[] = [
  { name: "folder/", type: "directory" },
  { name: "disk.img", content: "x".repeat(5000) },
  { name: "empty" },
  { name: long(140, "of-a-prefix"), content: "in two fields of the header" },
  { name: long(700, "of-pax"), content: "in a record of its own" },
  { name: "n".repeat(101), content: "no slash to cut it at" },
  { name: "Größe/磁盘.img", content: "no ASCII" },
  { name: "contiguous", type: "contiguous-file", content: "c" },
  { name: "hard", type: "link", linkname: "disk.img" },
  { name: "symbolic", type: "symlink", linkname: "../elsewhere/disk.img" },
  { name: "far", type: "symlink", linkname: long(280, "link") },
  { name: "pipe", type: "fifo" },
  { name: "device", type: "block-device", devmajor: 7, devminor: 1 },
  { name: "renamed", pax: { path: "other name", comment: "no concern" }, shown: "other name", content: "by pax" },
];

async function packed(entries: typeof ENTRIES): Promise<Buffer> {
  const writer = pack();
  for (const { content, shown: _, ...header } of entries) {
    writer.entry({ ...header, mode: MODE, mtime: new Date(TIME * 1000) }, content ?? "");
  }
  writer.finalize();
  return await buffer(writer);
}

function entriesOf(file: Parameters<typeof walkArchive>[1]): ReadEntry[] {
  return walkArchive({ ...tar, members: tarEntries }, file).members.map((member) => {
    assert.ok("kind" in member);
    return member as ReadEntry;
  });
}

function toldByUs(file: Uint8Array): Told[] {
  return entriesOf(file).map((entry) => {
    const { name, kind, link } = entry;
    return { name, kind, link, content: Buffer.from(memberBytes(entry, file)).toString() };
  });
}

async function toldByTarStream(file: Uint8Array): Promise<Told[]> {
  const reader = extract();
  reader.end(file);
  const told: Told[] = [];
  for await (const entry of reader) {
    const { name, type, linkname } = entry.header;
    const content = (await buffer(entry)).toString();
    told.push({ name, kind: KINDS[type ?? "file"] ?? "other", link: linkname ?? "", content });
  }
  return told;
}

describe("tar-stream", () => {
  it("writes what the parser reads: names and links of any length, contents, modes, times", async () => {
    const file = await packed(ENTRIES);
    const expected = ENTRIES.map(({ name, type = "file", linkname = "", content = "", shown = name }): Told => {
      return { name: shown, kind: KINDS[type] ?? "other", link: linkname, content };
    });
    assert.deepEqual(toldByUs(file), expected);
    for (const entry of entriesOf(file)) assert.deepEqual(readAttributes(entry), { mode: MODE, modifiedAt: TIME });
  });

  it("writes sizes of 8 GiB and more in a way of its own, which the parser reads", async () => {
    for (const size of [8 * GIB - 1, 8 * GIB, 2 ** 50 + 513]) {
      const writer = pack();
      writer.entry({ name: "disk.img", size }).on("error", () => undefined);
      const [header] = (await once(writer, "data")) as [Buffer];
      writer.destroy();
      assert.equal(header.length, 512);
      const length = 512 + Math.ceil(size / 512) * 512 + 1024;
      const [entry] = entriesOf({ length, pieces: [{ offset: 0, bytes: header }] });
      assert.deepEqual([entry?.name, entry?.size], ["disk.img", size]);
    }
  });

  it("reads in the archives of the tests' builder what the parser reads in them", async () => {
    const content = Buffer.from("x".repeat(700));
    const file = buildTar([
      { name: "folder/", type: "5" },
      { name: "file", content },
      { name: "of-gnu", magic: "gnu", content },
      { name: "in-two", prefix: "a/prefix", content },
      longName("n".repeat(300)),
      { name: "cut", magic: "gnu", content },
      { name: "long", type: "K", content: Buffer.from(`${"l".repeat(200)}\0`) },
      { name: "symbolic", type: "2", link: "cut" },
      paxEntry([
        ["path", "by/päx"],
        ["linkpath", "to/päx"],
      ]),
      { name: "cut", type: "1", link: "cut" },
      { name: "binary", content, patch: (block) => block.set([0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0xbc], 124) },
    ]);
    const told = await toldByTarStream(file);
    assert.equal(told.length, 8);
    assert.deepEqual(toldByUs(file), told);
  });
});
