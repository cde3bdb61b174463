/**
 * Unpacking beside GNU tar: the same archive, the same tree; and hostile archives, which must leave nothing outside.
 */
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { describe, it } from "node:test";
import { FormatError } from "../../../formats/errors.ts";
import { Interrupted, TargetError } from "../../../importer/errors.ts";
import { loadKernel } from "../../../importer/kernel.ts";
import { unpackArchive } from "../../../importer/unpack/unpack-archive.ts";
import type { Unpacked } from "../../../importer/unpack/unpack-archive.ts";
import { buildTar, longName, oldGnuSparse, paxEntry } from "../../support/build-tar.ts";
import type { TarEntry } from "../../support/build-tar.ts";
import { withExt4, withFolder } from "../../support/loop-device.ts";
import { streamOf } from "../../support/streams.ts";
import { requireLoopDevices, requireTools } from "../../support/tools.ts";
import { treeOf } from "../../support/tree.ts";

const MIB = 1024 * 1024;
const NEVER = new AbortController().signal;
const skip = requireTools("tar");

async function unpack(archive: Uint8Array, folder: string, kernelCalls = true): Promise<Unpacked> {
  const kernel = kernelCalls ? loadKernel() : undefined;
  return await unpackArchive(streamOf(archive), { folder, kernel, signal: NEVER });
}

/** As the contract's tar is called. @returns its exit status */
function unpackWithTar(archive: Uint8Array, folder: string): number | null {
  const args = ["--preserve-permissions", "--no-same-owner", "-xC", folder];
  return spawnSync("tar", args, { input: archive, stdio: ["pipe", "ignore", "ignore"] }).status;
}

/** A folder inside another, so that what leads out of it is seen; `before` fills it. */
async function withPlaces(
  use: (place: { readonly ours: string; readonly theirs: string; readonly outside: string }) => Promise<void>,
  before: (folder: string) => void = () => undefined,
): Promise<void> {
  await withFolder(async (outside) => {
    const [ours, theirs] = [path.join(outside, "ours"), path.join(outside, "theirs")];
    for (const folder of [ours, theirs]) {
      fs.mkdirSync(folder);
      before(folder);
    }
    await use({ ours, theirs, outside });
  });
}

/** Asserts that tar and we make the same tree of it, each in a folder with the same things in it before. */
async function assertSame(archive: Uint8Array, before?: (folder: string) => void): Promise<readonly string[]> {
  let tree: readonly string[] = [];
  for (const kernelCalls of [true, false]) {
    await withPlaces(async ({ ours, theirs }) => {
      assert.equal(unpackWithTar(archive, theirs), 0);
      await unpack(archive, ours, kernelCalls);
      tree = treeOf(ours);
      // Folders that no entry is of have the present time in both.
      assert.deepEqual(withoutRecent(tree), withoutRecent(treeOf(theirs)));
    }, before);
  }
  return tree;
}

function withoutRecent(tree: readonly string[]): readonly string[] {
  const recent = Date.now() / 1000 - 600;
  return tree.map((line) => line.replace(/ \d{9,}\.\d+/, (time) => (Number(time) > recent ? " now" : time)));
}

/** Asserts that it is refused, and that nothing came to be or changed outside of the folder. */
async function assertRefused(
  archive: Uint8Array,
  error: Partial<Record<"code" | "message", string | RegExp>>,
  before?: (folder: string) => void,
): Promise<void> {
  await withPlaces(async ({ ours, outside }) => {
    fs.writeFileSync(path.join(outside, "victim"), "untouched", { mode: 0o640 });
    const others = (): string[] => treeOf(outside).filter((line) => !line.startsWith("./ours"));
    const seen = others();
    await assert.rejects(unpack(archive, ours), { name: "FormatError", ...error });
    assert.deepEqual(others(), seen);
  }, before);
}

const content = Buffer.from("the content\n");
const mode = (text: string) => (block: Uint8Array) => block.set(Buffer.from(text.padStart(7, "0")), 100);

/** A tree with one of everything that an ordinary user can have. */
function makeTree(folder: string): void {
  fs.mkdirSync(path.join(folder, "sub", "deeper"), { recursive: true });
  fs.writeFileSync(path.join(folder, "sub", "file"), content);
  fs.writeFileSync(path.join(folder, "sub", "program"), "#!/bin/sh\n", { mode: 0o755 });
  fs.chmodSync(path.join(folder, "sub", "program"), 0o6755);
  fs.writeFileSync(path.join(folder, "unreadable"), "x");
  fs.chmodSync(path.join(folder, "unreadable"), 0);
  fs.writeFileSync(path.join(folder, "empty"), "");
  fs.writeFileSync(path.join(folder, "random"), Buffer.from(Array.from({ length: 70_001 }, (_, at) => (at * 7) % 251)));
  fs.linkSync(path.join(folder, "sub", "file"), path.join(folder, "hard"));
  fs.symlinkSync("sub/file", path.join(folder, "soft"));
  fs.symlinkSync("/etc/passwd", path.join(folder, "absolute"));
  fs.symlinkSync("../..", path.join(folder, "sub", "up"));
  fs.writeFileSync(Buffer.concat([Buffer.from(`${folder}/latin`), Buffer.of(0xe4, 0xff)]), "one");
  fs.writeFileSync(path.join(folder, "n".repeat(200)), "long");
  fs.mkdirSync(path.join(folder, ...Array.from({ length: 12 }, () => "d".repeat(60))), { recursive: true });
  const sparse = fs.openSync(path.join(folder, "sparse"), "w");
  fs.ftruncateSync(sparse, 8 * MIB);
  for (const at of [0, MIB, 3 * MIB, 5 * MIB, 6 * MIB, 7 * MIB]) fs.writeSync(sparse, content, 0, content.length, at);
  fs.closeSync(sparse);
  fs.utimesSync(path.join(folder, "sub", "file"), 1e9, 1_234_567_890.123_456);
  fs.utimesSync(path.join(folder, "empty"), 0, 0);
  fs.chmodSync(path.join(folder, "sub", "deeper"), 0o1555);
  fs.utimesSync(path.join(folder, "sub", "deeper"), 1e9, 1e9);
  fs.chmodSync(path.join(folder, "sub"), 0o2750);
  fs.utimesSync(path.join(folder, "sub"), 1e9, 1_100_000_000);
  fs.lutimesSync(path.join(folder, "soft"), 1e9, 1_200_000_000);
}

describe("unpacking beside GNU tar", { skip }, () => {
  const forms: readonly (readonly string[])[] = [
    ["--format=gnu"],
    ["--format=pax"],
    ["--format=gnu", "-S"],
    ["--format=pax", "-S", "--sparse-version=0.0"],
    ["--format=pax", "-S", "--sparse-version=0.1"],
    ["--format=pax", "-S", "--sparse-version=1.0"],
    ["--format=gnu", "-b", "2048"],
  ];
  for (const form of forms) {
    it(`makes the same tree of ${form.join(" ")}`, async () => {
      await withFolder(async (folder) => {
        makeTree(folder);
        const archive = execFileSync("tar", [...form, "-C", folder, "-c", "."], { maxBuffer: 64 * MIB });
        const tree = await assertSame(archive);
        assert.ok(
          tree.some((line) => / 6755 /.test(line)),
          "set-user-ID is kept",
        );
        assert.ok(tree.some((line) => / 1234567890\.1235 /.test(line)) || form[0] === "--format=gnu", "fractions too");
      });
    });
  }

  it("makes holes of zeros, whether the archive knows of them or not", async () => {
    await withFolder(async (folder) => {
      const zeros = Buffer.alloc(32 * MIB);
      zeros.write("end", zeros.length - 3);
      const sparse = Buffer.concat([oldGnuSparse("sparse", zeros, [[zeros.length - 512, 512]]), new Uint8Array(1024)]);
      for (const archive of [buildTar([{ name: "zeros", content: zeros }]), sparse]) {
        const { bytesWritten, contentLength } = await unpack(archive, folder);
        assert.ok(bytesWritten <= 4096, String(bytesWritten));
        assert.equal(contentLength, zeros.length);
      }
      for (const name of ["zeros", "sparse"]) {
        assert.ok(fs.readFileSync(path.join(folder, name)).equals(zeros), name);
        assert.ok(fs.statSync(path.join(folder, name)).blocks * 512 <= 64 * 1024, name);
      }
    });
  });

  const same: Readonly<Record<string, readonly TarEntry[]>> = {
    "absolute names": [
      { name: "/abs/file", content },
      { name: "//twice", content },
    ],
    "implied folders": [
      { name: "a/b/c", content },
      { name: "a/d", content },
      { name: "./a/./b//e", content },
    ],
    "a folder after its content": [
      { name: "a/b", content },
      { name: "a", type: "5", patch: mode("0500") },
    ],
    "the folder itself": [
      { name: "./", type: "5", patch: mode("0700") },
      { name: "./f", content },
    ],
    "a file twice": [
      { name: "f", content: Buffer.from("a longer one") },
      { name: "f", content },
    ],
    "a file in the place of an empty folder": [
      { name: "x", type: "5" },
      { name: "x", content },
    ],
    "a folder in the place of a file": [
      { name: "x", content },
      { name: "x", type: "5" },
      { name: "x/y", content },
    ],
    "a file in the place of a link": [
      { name: "x", type: "2", link: "nowhere" },
      { name: "x", content },
    ],
    "a folder in the place of a link": [
      { name: "x", type: "2", link: "nowhere" },
      { name: "x/", type: "5" },
    ],
    "a link to itself": [
      { name: "f", content },
      { name: "f", type: "1", link: "f" },
    ],
    "a hard link to a link": [
      { name: "s", type: "2", link: "/etc/passwd" },
      { name: "h", type: "1", link: "s" },
    ],
    "hard links across folders": [
      { name: "a/b/f", content },
      { name: "c/g", type: "1", link: "a/b/f" },
      { name: "a/h", type: "1", link: "/c/g" },
    ],
    "a link in the place of its own other name": [
      { name: "f", content },
      { name: "g", type: "1", link: "f" },
      { name: "f", type: "2", link: "g" },
    ],
    "old archives": [
      { name: "old/", magic: "v7", type: "\0" },
      { name: "old/f", magic: "v7", type: "\0", content },
    ],
    "long names and links": [
      longName(`${"l".repeat(150)}/file`),
      { name: "cut", content },
      paxEntry([
        ["path", "päx/file"],
        ["linkpath", "x".repeat(300)],
      ]),
      { name: "cut", type: "2", link: "cut" },
    ],
    "labels, listings and contiguous files": [
      { name: "label", type: "V" },
      { name: "listing/", type: "D", content },
      { name: "contiguous", type: "7", content },
    ],
  };
  for (const [what, entries] of Object.entries(same)) {
    it(`treats ${what} as it does`, async () => void (await assertSame(buildTar(entries))));
  }

  it("makes named pipes, where it can", { skip: loadKernel() === undefined ? "needs koffi" : false }, async () => {
    const archive = buildTar([
      { name: "d/pipe", type: "6", patch: mode("0642") },
      { name: "d/other", type: "1", link: "d/pipe" },
    ]);
    await withPlaces(async ({ ours, theirs }) => {
      assert.equal(unpackWithTar(archive, theirs), 0);
      await unpack(archive, ours);
      assert.deepEqual(withoutRecent(treeOf(ours)), withoutRecent(treeOf(theirs)));
      await assert.rejects(unpack(archive, ours, false), {
        code: "FORMAT_UNSUPPORTED",
        message: /named pipe "d\/pipe"/,
      });
    });
  });

  it("uses what is there as it does", async () => {
    const archive = buildTar([
      { name: "kept/new", content },
      { name: "changed", type: "5", patch: mode("0711") },
      { name: "changed/file", content },
      { name: "link-to-file", content },
      { name: "link-to-folder", type: "5" },
      { name: "link-to-folder/inside", content },
    ]);
    await assertSame(archive, (folder) => {
      fs.mkdirSync(path.join(folder, "kept"), { mode: 0o751 });
      fs.writeFileSync(path.join(folder, "kept", "old"), "old");
      fs.mkdirSync(path.join(folder, "changed"), { mode: 0o700 });
      fs.writeFileSync(path.join(folder, "changed", "file"), "old");
      fs.linkSync(path.join(folder, "changed", "file"), path.join(folder, "other-name"));
      fs.symlinkSync("kept/old", path.join(folder, "link-to-file"));
      fs.symlinkSync("kept", path.join(folder, "link-to-folder"));
    });
  });

  it("takes an archive without an end mark, one of zeros, and one with more behind its end", async () => {
    const archive = buildTar([{ name: "f", content }], false);
    await assertSame(archive);
    await assertSame(Buffer.alloc(10_240));
    await assertSame(Buffer.concat([archive, Buffer.alloc(1024), Buffer.from("more".repeat(5000))]));
  });
});

describe("unpacking what tar fails at", { skip }, () => {
  const refused: Readonly<Record<string, readonly [entries: readonly TarEntry[], code: string, message: RegExp]>> = {
    "a name that leads up": [[{ name: "../victim", content }], "FORMAT_UNSUPPORTED", /"\.\.\/victim" contains "\.\."/],
    "a name that leads up later": [[{ name: "a/../../victim", content }], "FORMAT_UNSUPPORTED", /contains/],
    "a folder that leads up": [[{ name: "..", type: "5", patch: mode("0777") }], "FORMAT_UNSUPPORTED", /contains/],
    "a pax name that leads up": [
      [paxEntry([["path", "/../victim"]]), { name: "x", content }],
      "FORMAT_UNSUPPORTED",
      /contains/,
    ],
    "a file below a link out": [
      [
        { name: "l", type: "2", link: ".." },
        { name: "l/victim", content },
      ],
      "FORMAT_UNSUPPORTED",
      /lies below "l", which is a link or a file/,
    ],
    "a folder below an absolute link": [
      [
        { name: "l", type: "2", link: "/tmp" },
        { name: "l/decant-evil", type: "5" },
      ],
      "FORMAT_UNSUPPORTED",
      /lies below "l"/,
    ],
    "a file below a file": [
      [
        { name: "f", content },
        { name: "f/x", content },
      ],
      "FORMAT_UNSUPPORTED",
      /lies below "f"/,
    ],
    "a hard link out": [[{ name: "h", type: "1", link: "../victim" }], "FORMAT_UNSUPPORTED", /contains/],
    "a hard link through a link out": [
      [
        { name: "l", type: "2", link: ".." },
        { name: "h", type: "1", link: "l/victim" },
      ],
      "FORMAT_UNSUPPORTED",
      /lies below "l"/,
    ],
    "a hard link to nothing": [
      [{ name: "h", type: "1", link: "gone" }],
      "FORMAT_CORRUPT",
      /"gone", which is no file here/,
    ],
    "a hard link to a folder": [
      [
        { name: "d", type: "5" },
        { name: "h", type: "1", link: "d" },
      ],
      "FORMAT_CORRUPT",
      /no file/,
    ],
    "a device": [[{ name: "n", type: "3" }], "FORMAT_UNSUPPORTED", /holds the device "n"/],
    "a block device": [[{ name: "n", type: "4" }], "FORMAT_UNSUPPORTED", /holds the device "n"/],
    "a part of another volume": [[{ name: "m", type: "M", content }], "FORMAT_UNSUPPORTED", /continued from another/],
    "a mode that is none": [[{ name: "m", patch: mode("rwxr-xr") }], "FORMAT_CORRUPT", /mode of "m"/],
  };
  for (const [what, [entries, code, message]] of Object.entries(refused)) {
    it(`refuses ${what}`, async () => {
      const archive = buildTar(entries);
      await assertRefused(archive, { code, message });
      await withFolder((folder) => {
        fs.mkdirSync(path.join(folder, "x"));
        // Root makes devices.
        if (!what.includes("device")) assert.notEqual(unpackWithTar(archive, path.join(folder, "x")), 0);
      });
      fs.rmSync("/tmp/decant-evil", { force: true, recursive: true });
    });
  }

  it("refuses what tar follows: links of the archive, and those that are there", async () => {
    const below: TarEntry[] = [{ name: "l/file", content }];
    const through = { code: "FORMAT_UNSUPPORTED", message: /lies below "l"/ };
    await assertRefused(buildTar([{ name: "d", type: "5" }, { name: "l", type: "2", link: "d" }, ...below]), through);
    await assertRefused(buildTar(below), through, (folder) => fs.symlinkSync("..", path.join(folder, "l")));
    await assertRefused(buildTar(below), through, (folder) => fs.symlinkSync("/tmp", path.join(folder, "l")));
  });

  it("writes into no file outside through a link or a second name that is there", async () => {
    await withPlaces(async ({ ours, outside }) => {
      const victim = path.join(outside, "victim");
      fs.writeFileSync(victim, "untouched");
      fs.symlinkSync("../victim", path.join(ours, "soft"));
      fs.linkSync(victim, path.join(ours, "hard"));
      await unpack(buildTar(["soft", "hard"].map((name) => ({ name, content, patch: mode("0777") }))), ours);
      assert.equal(fs.readFileSync(victim, "utf8"), "untouched");
      assert.equal(fs.readFileSync(path.join(ours, "soft"), "utf8"), String(content));
      assert.equal(fs.lstatSync(path.join(ours, "soft")).isFile(), true);
    });
  });

  it("refuses what is no tar, and one that is cut off anywhere", async () => {
    await assertRefused(Buffer.from("QFI\xfb".repeat(500), "latin1"), {
      code: "FORMAT_UNRECOGNISED",
      message: /not look like/,
    });
    await assertRefused(Buffer.from("short"), { code: "FORMAT_UNRECOGNISED" });
    const whole = buildTar(
      [
        { name: "d/", type: "5" },
        { name: "f", content: Buffer.alloc(1300, 1) },
      ],
      false,
    );
    for (const length of [700, 1024 + 100, 1024 + 512, whole.length - 400]) {
      await assertRefused(whole.subarray(0, length), { code: "FORMAT_CORRUPT" });
    }
  });

  it("refuses names with a NUL, links that lead nowhere, and trees that are too deep", async () => {
    const named = (path: string): TarEntry[] => [paxEntry([["path", path]]), { name: "x", content }];
    await assertRefused(buildTar(named("a\0b")), { code: "FORMAT_INVALID" });
    await assertRefused(buildTar(named("/")), { code: "FORMAT_CORRUPT" });
    await assertRefused(buildTar([{ name: "l", type: "2" }]), { code: "FORMAT_CORRUPT" });
    await assertRefused(buildTar([paxEntry([["linkpath", "a\0b"]]), { name: "l", type: "2" }]), {
      code: "FORMAT_CORRUPT",
    });
    await assertRefused(buildTar(named("d/".repeat(1100))), { code: "FORMAT_OUT_OF_BOUNDS" });
    const deep = buildTar([...named(`${"d/".repeat(1000)}f`), ...named("g")]);
    await withFolder(async (folder) => assert.equal((await unpack(deep, folder)).entries, 2));
  });

  it("passes over what nobody knows, with a warning", async () => {
    await withFolder(async (folder) => {
      const { warnings, entries } = await unpack(
        buildTar([
          { name: "q\n", type: "Q", content },
          { name: "f", content },
        ]),
        folder,
      );
      assert.deepEqual(fs.readdirSync(folder), ["f"]);
      assert.equal(entries, 2);
      assert.match(warnings[0]?.message ?? "", /"q\\n" is of no known kind/);
    });
  });

  it("replaces no folder that is not empty", async () => {
    await withFolder(async (folder) => {
      const archive = buildTar([
        { name: "d/f", content },
        { name: "d", content },
      ]);
      await assert.rejects(
        unpack(archive, folder),
        (error) => error instanceof TargetError && /"d"/.test(error.message),
      );
      assert.equal(fs.readFileSync(path.join(folder, "d", "f"), "utf8"), String(content));
    });
  });

  it("stops when it is told to", async () => {
    await withFolder(async (folder) => {
      const stop = new AbortController();
      stop.abort();
      const work = unpackArchive(streamOf(buildTar([{ name: "f", content }])), {
        folder,
        kernel: loadKernel(),
        signal: stop.signal,
      });
      await assert.rejects(work, Interrupted);
    });
  });

  it("leaves no descriptor open, however it ends", async () => {
    await withFolder(async (folder) => {
      const open = (): number => fs.readdirSync("/proc/self/fd").length;
      const before = open();
      await unpack(
        buildTar([
          { name: "a/b/c/d", content },
          { name: "e/f", content },
        ]),
        folder,
      );
      await assert.rejects(
        unpack(
          buildTar([
            { name: "a/b/x", content },
            { name: "../x", content },
          ]),
          folder,
        ),
        FormatError,
      );
      assert.equal(open(), before);
    });
  });
});

describe("unpacking onto a full volume", { skip: requireLoopDevices() }, () => {
  it("says that there is no space", async () => {
    await withExt4(16 * MIB, async (folder) => {
      const archive = buildTar([{ name: "large", content: Buffer.alloc(24 * MIB, 1) }]);
      await assert.rejects(unpack(archive, folder), { code: "TARGET_NO_SPACE", message: /"large"/ });
      const sparse = Buffer.concat([oldGnuSparse("huge", Buffer.alloc(512), []), new Uint8Array(1024)]);
      await unpack(sparse, folder);
    });
  });
});
