/** Archives that GNU tar writes, and GNU tar's reading of the ones that the tests build. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { after, before, describe, it } from "node:test";
import { tar } from "../../../../formats/archives/tar/tar.ts";
import { memberBytes, readMembers, walkArchive } from "../../../support/archive.ts";
import { buildTar, oldGnuSparse, paxEntry, tarHeader } from "../../../support/build-tar.ts";
import type { Range } from "../../../support/build-tar.ts";
import { requireTools } from "../../../support/tools.ts";

const GIB = 1024 ** 3;
const skip = requireTools("tar");

describe("tar as GNU tar writes it", { skip }, () => {
  let folder = "";
  before(() => {
    folder = fs.mkdtempSync(path.join(os.tmpdir(), "decant-tar-"));
  });
  after(() => fs.rmSync(folder, { recursive: true, force: true }));

  function write(name: string, bytes: Uint8Array): Buffer {
    fs.mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
    fs.writeFileSync(path.join(folder, name), bytes);
    return Buffer.from(bytes);
  }

  function pack(...args: string[]): Buffer {
    return execFileSync("tar", ["-C", folder, "-cf", "-", ...args], { maxBuffer: 2 ** 28 });
  }

  const deep = `${"d".repeat(90)}/${"e".repeat(60)}/disk.img`;
  const formats: [string, string[]][] = [
    ["v7", ["disk.img", "small"]],
    ["oldgnu", ["disk.img", "small", deep, "n".repeat(240), "Größe-磁盘.img"]],
    ["gnu", ["disk.img", "small", deep, "n".repeat(240), "Größe-磁盘.img"]],
    ["ustar", ["disk.img", "small", deep, "Größe-磁盘.img"]],
    ["pax", ["disk.img", "small", deep, "n".repeat(240), "Größe-磁盘.img"]],
  ];
  for (const [format, names] of formats) {
    it(`reads --format=${format}, with links, folders and pipes between`, () => {
      const contents = names.map((name, i) => write(name, Buffer.alloc(700 * i + 3, `${format}${i}`)));
      fs.rmSync(path.join(folder, "link"), { force: true });
      fs.symlinkSync("x".repeat(format === "v7" || format === "ustar" ? 90 : 300), path.join(folder, "link"));
      fs.rmSync(path.join(folder, "hard"), { force: true });
      fs.linkSync(path.join(folder, names[0] ?? ""), path.join(folder, "hard"));
      fs.rmSync(path.join(folder, "pipe"), { force: true });
      execFileSync("mkfifo", [path.join(folder, "pipe")]);
      fs.mkdirSync(path.join(folder, "empty-folder"), { recursive: true });
      const file = pack(
        `--format=${format}`,
        ...(format === "v7" ? [] : ["pipe"]),
        "link",
        "empty-folder",
        ...names,
        "hard",
      );
      assert.equal(tar.probe(file), true);
      const read = readMembers(tar, file);
      assert.deepEqual(
        read.map(([name]) => name),
        names,
      );
      for (const [index, [name, bytes]] of read.entries()) assert.ok(contents[index]?.equals(bytes), name);
    });
  }

  const sparse: [string, string[]][] = [
    ["oldgnu", ["--format=oldgnu"]],
    ["gnu", ["--format=gnu"]],
    ["pax 0.0", ["--format=pax", "--sparse-version=0.0"]],
    ["pax 0.1", ["--format=pax", "--sparse-version=0.1"]],
    ["pax 1.0", ["--format=pax", "--sparse-version=1.0"]],
  ];
  for (const [title, args] of sparse) {
    it(`reads --sparse in ${title}, of many ranges and of 9 GiB`, () => {
      const content = Buffer.alloc(60 * 65_536 + 12_345);
      for (let i = 0; i < 60; i++) content.fill(i + 1, i * 65_536 + (i % 3) * 4096, i * 65_536 + (i % 3) * 4096 + 4096);
      writeSparse("holes", content.length, (fd) => {
        for (let at = 0; at < content.length; at += 4096) {
          const block = content.subarray(at, at + 4096);
          if (!block.equals(Buffer.alloc(block.length))) fs.writeSync(fd, block, 0, block.length, at);
        }
      });
      writeSparse("nothing", 5 * 1024 * 1024 + 1, () => {});
      writeSparse("big", 9 * GIB + 5, (fd) => fs.writeSync(fd, Buffer.from("end"), 0, 3, 9 * GIB + 2));
      const small = write("small", Buffer.alloc(700, "s"));
      const file = pack("--sparse", ...args, "holes", "nothing", "big", "small");
      const { members } = walkArchive(tar, file);
      assert.deepEqual(
        members.map(({ name, size }) => [name, size]),
        [
          ["holes", content.length],
          ["nothing", 5 * 1024 * 1024 + 1],
          ["big", 9 * GIB + 5],
          ["small", 700],
        ],
      );
      const [holes, nothing, big, last] = members;
      assert.ok(holes !== undefined && nothing !== undefined && big !== undefined && last !== undefined);
      assert.ok(content.equals(memberBytes(holes, file)));
      assert.deepEqual(nothing.extents, []);
      assert.equal(Buffer.from(memberBytes(big, file, 9 * GIB + 1)).toString("latin1"), "\0end");
      assert.ok(small.equals(memberBytes(last, file)));
      assert.ok(file.length < 1024 * 1024);
    });
  }

  function writeSparse(name: string, size: number, fill: (fd: number) => void): void {
    const fd = fs.openSync(path.join(folder, name), "w");
    fs.ftruncateSync(fd, size);
    fill(fd);
    fs.closeSync(fd);
  }

  it("reads the sparse archives of the builder as tar does, odd ranges in the middle too", () => {
    const content = Buffer.alloc(70_000);
    const odd: Range[] = [
      [0, 612],
      [1024, 512],
      [60_000, 9716],
    ];
    const many: Range[] = Array.from({ length: 50 }, (_, i): Range => [i * 1024, 512]);
    for (const stored of [odd, many]) {
      const ranges: Range[] = [...stored, [content.length, 0]]; // the mark of the end, as tar writes it
      content.fill(0);
      for (const [offset, length] of ranges) content.fill((offset % 250) + 1, offset, offset + length);
      const file = Buffer.concat([oldGnuSparse("disk", content, ranges), buildTar([{ name: "after" }])]);
      const extracted = execFileSync("tar", ["-xOf", "-", "disk"], { input: file });
      assert.ok(extracted.equals(content), "tar reads it");
      const [disk, next] = walkArchive(tar, file).members;
      assert.ok(disk !== undefined && content.equals(memberBytes(disk, file)));
      assert.equal(next?.name, "after");
    }
  });

  it("agrees with tar on where the member after one of 20 GiB is", () => {
    const size = 20 * GIB + 1;
    for (const header of [
      tarHeader({ name: "disk", magic: "gnu", size }),
      buildTar(
        [
          paxEntry([
            ["size", "1"],
            ["size", String(size)],
          ]),
          { name: "disk", size: 0 },
        ],
        false,
      ),
    ]) {
      const name = path.join(folder, "huge.tar");
      const fd = fs.openSync(name, "w");
      fs.writeSync(fd, header, 0, header.length, 0);
      const end = buildTar([{ name: "after", content: Buffer.from("!") }]);
      const at = header.length + 20 * GIB + 512;
      fs.writeSync(fd, end, 0, end.length, at);
      fs.closeSync(fd);
      const listed = execFileSync("tar", ["-tvf", name], { encoding: "utf8" });
      assert.match(listed, /\s21474836481 .* disk\n.*\s1 .* after\n$/);
      const pieces = [
        { offset: 0, bytes: header },
        { offset: at, bytes: end },
      ];
      const { members } = walkArchive(tar, { length: at + end.length, pieces });
      assert.deepEqual(
        members.map((member) => [member.name, member.size]),
        [
          ["disk", size],
          ["after", 1],
        ],
      );
    }
  });

  it("passes over labels, and the listings of incremental archives", () => {
    const content = write("dump/disk.img", Buffer.alloc(5000, "d"));
    const snapshot = path.join(folder, "snapshot");
    const file = pack("--format=gnu", "-V", "label", `--listed-incremental=${snapshot}`, "dump");
    const read = readMembers(tar, file);
    assert.deepEqual(
      read.map(([name]) => name),
      ["dump/disk.img"],
    );
    assert.ok(content.equals(read[0]?.[1] ?? new Uint8Array(0)));
  });

  it("reads global pax headers, and refuses the second volume of several", () => {
    write("disk.img", Buffer.alloc(30_000, "d"));
    const file = pack("--format=pax", "--pax-option=globexthdr.name=g,path=renamed.img", "disk.img");
    const listed = execFileSync("tar", ["-tf", "-"], { input: file, encoding: "utf8" });
    assert.deepEqual(
      walkArchive(tar, file).members.map(({ name }) => `${name}\n`),
      [listed],
    );
    const volumes = ["one.tar", "two.tar"].map((name) => path.join(folder, name));
    const names = volumes.flatMap((name) => ["-f", name]);
    execFileSync("tar", ["-C", folder, "-c", "-M", "-L", "20", "--format=gnu", ...names, "disk.img"]);
    const [first, second] = volumes.map((name) => fs.readFileSync(name));
    assert.ok(first !== undefined && second !== undefined);
    assert.throws(() => walkArchive(tar, first), /ends at 20480, inside a member/);
    assert.throws(() => walkArchive(tar, second), /continued from another volume/);
  });

  it("reads what 7-Zip writes", { skip: requireTools("7zz") }, () => {
    const contents = ["disk.img", "Größe.img"].map((name) => write(name, Buffer.alloc(3000, name)));
    const file = path.join(folder, "seven.tar");
    execFileSync("7zz", ["a", "-ttar", file, "disk.img", "Größe.img"], { cwd: folder });
    const read = new Map(readMembers(tar, fs.readFileSync(file)));
    assert.deepEqual([...read.keys()].sort(), ["Größe.img", "disk.img"]);
    assert.ok(contents[0]?.equals(read.get("disk.img") ?? new Uint8Array(0)));
    assert.ok(contents[1]?.equals(read.get("Größe.img") ?? new Uint8Array(0)));
  });

  it("writes headers that tar and 7-Zip read", { skip: requireTools("7zz") }, () => {
    const names = ["a", "vm/disk.img"];
    const file = path.join(folder, "built.tar");
    fs.writeFileSync(file, buildTar(names.map((name) => ({ name, content: Buffer.from(name) }))));
    assert.equal(execFileSync("tar", ["-tf", file], { encoding: "utf8" }), names.join("\n") + "\n");
    assert.equal(execFileSync("7zz", ["e", "-so", file, "vm/disk.img"], { encoding: "utf8" }), "vm/disk.img");
  });
});
