/**
 * What is refused before anything is written: one sentence, the right exit code, and everything left as it was.
 */
import assert from "node:assert/strict";
import {
  closeSync,
  linkSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { execFileSync } from "node:child_process";
import path from "node:path";
import { before, describe, it } from "node:test";
import { baseDisk } from "../support/base-disk.ts";
import { withExt4, withFolder, withLoopDevice } from "../support/loop-device.ts";
import { imageOf } from "../support/qemu-images.ts";
import type { RunResult } from "../support/run-decant.ts";
import { NOBODY, runDecantAs, startDecant, until } from "../support/start-decant.ts";
import { requireLoopDevices, requireRoot, requireTools } from "../support/tools.ts";

const MIB = 1024 * 1024;
const disk = baseDisk(8 * MIB);
let image: Buffer = Buffer.alloc(0);

describe("a target or source that cannot be meant", { skip: requireTools("qemu-img") }, () => {
  before(() => {
    image = imageOf(disk, "qcow2");
  });

  interface Refusal {
    readonly name: string;
    readonly args: readonly string[];
    readonly exit: number;
    readonly says: RegExp;
    readonly prepare?: (folder: string) => void;
  }

  const refusals: readonly Refusal[] = [
    {
      name: "a source that is not there",
      args: ["nope", "disk.raw"],
      exit: 5,
      says: /^decant: there is no file nope \[/,
    },
    {
      name: "a source that is a directory",
      args: [".", "disk.raw"],
      exit: 5,
      says: /^decant: \. is a directory, not an image/,
    },
    { name: "a target that is a directory", args: ["image", "."], exit: 2, says: /is a directory\. Name a file in it/ },
    {
      name: "a target in no directory",
      args: ["image", "no/disk.raw"],
      exit: 2,
      says: /there is no directory \/.*\/no \[/,
    },
    {
      name: "a target under a file",
      args: ["image", "image/disk.raw"],
      exit: 2,
      says: /there is no directory|is no directory/,
    },
    {
      name: "a target that exists",
      args: ["image", "old"],
      exit: 2,
      says: /^decant: old exists\. Use --force to replace it/,
    },
    {
      name: "a target that is a character device",
      args: ["image", "/dev/null"],
      exit: 2,
      says: /neither a file nor a block device.*null:/,
    },
    { name: "the source as target", args: ["--force", "image", "image"], exit: 2, says: /image is the source itself/ },
    {
      name: "a link to the source as target",
      args: ["--force", "image", "link"],
      exit: 2,
      says: /link is the source itself/,
      prepare: (folder) => symlinkSync("image", path.join(folder, "link")),
    },
    {
      name: "another name of the source as target",
      args: ["--force", "image", "hard"],
      exit: 2,
      says: /hard is the source itself/,
      prepare: (folder) => linkSync(path.join(folder, "image"), path.join(folder, "hard")),
    },
    {
      name: "a size that would cut the disk",
      args: ["--size", "7Mi", "image", "disk.raw"],
      exit: 2,
      says: /--size .*smaller than the disk.*can only grow/,
    },
    {
      name: "a size that is no quantity",
      args: ["--size", "lots", "image", "disk.raw"],
      exit: 2,
      says: /"lots" is not a quantity/,
    },
    {
      name: "a checksum that is none",
      args: ["--checksum", "md5:12", "image", "disk.raw"],
      exit: 2,
      says: /md5 checksum has 32 hexadecimal digits/,
    },
    { name: "an option that is none", args: ["--quick", "image", "disk.raw"], exit: 2, says: /--quick.*--help/ },
    { name: "no target", args: ["image"], exit: 2, says: /target/ },
    { name: "a URL of an unknown kind", args: ["gopher://x/y", "disk.raw"], exit: 2, says: /gopher:\/\// },
  ];
  for (const { name, args, exit, says, prepare } of refusals) {
    it(`${name}: exit ${exit}`, async () => {
      await inFolder(async (folder) => {
        prepare?.(folder);
        const files = contents(folder);
        const result = await startDecant(["convert", ...args], { cwd: folder }).ended;
        assertRefused(result, exit, says);
        assert.deepEqual(contents(folder), files);
      });
    });
  }

  it("--verify and --digest of a stream, before it has passed", async () => {
    for (const [option, target] of [
      ["--verify", "disk.raw"],
      ["--digest", "null:"],
    ] as const) {
      await inFolder(async (folder) => {
        const decant = startDecant(["convert", option, "-", target], { cwd: folder, stdin: "pipe" });
        await decant.feed(image.subarray(0, 1.5 * MIB)); // and no end
        assertRefused(await decant.ended, 2, /read twice/);
        assert.ok(!readdirSync(folder).includes("disk.raw"));
      });
    }
  });

  it("the source as standard input and as target", { skip: requireLoopDevices() }, async () => {
    await withLoopDevice({ size: 4 * MIB }, async (device, backing) => {
      for (const name of [device, backing]) {
        const stdin = openSync(name, "r");
        const old = readFileSync(backing);
        const result = await startDecant(["convert", "--force", "-", device], { stdin }).ended;
        closeSync(stdin);
        assertRefused(result, 2, /is the source itself/);
        assert.ok(readFileSync(backing).equals(old));
      }
    });
  });

  it("a loop device over the source, and the file under it", { skip: requireLoopDevices() }, async () => {
    await withLoopDevice({ size: 4 * MIB }, async (device, backing) => {
      const old = readFileSync(backing);
      for (const [source, target] of [
        [backing, device],
        [device, backing],
        [device, device],
      ] as const) {
        const result = await startDecant(["convert", "--force", source, target]).ended;
        assertRefused(result, 2, /is the source itself/);
        assert.ok(readFileSync(backing).equals(old), `${source} to ${target}`);
      }
    });
  });

  it(
    "a mounted device: exit 1, and it says where",
    { skip: requireLoopDevices() || requireTools("mke2fs") },
    async () => {
      await withExt4(16 * MIB, async (mount, device) => {
        await inFolder(async (folder) => {
          writeFileSync(path.join(mount, "precious"), "still here");
          const result = await startDecant(["convert", "--force", "image", device], { cwd: folder }).ended;
          assertRefused(result, 1, new RegExp(`${device} is mounted at ${mount}\\. Unmount it`));
          assert.equal(readFileSync(path.join(mount, "precious"), "utf8"), "still here");
        });
        execFileSync("sync");
      });
    },
  );

  it(
    "a disk larger than the device: exit 4 with both figures, nothing written",
    { skip: requireLoopDevices() },
    async () => {
      await withLoopDevice({ size: MIB }, async (device, backing) => {
        const old = readFileSync(backing);
        for (const stdin of ["ignore", "pipe"] as const) {
          await inFolder(async (folder) => {
            const decant = startDecant(["convert", stdin === "pipe" ? "-" : "image", device], { cwd: folder, stdin });
            decant.child.stdin?.end(image);
            assertRefused(
              await decant.ended,
              4,
              new RegExp(`disk has 8388608 bytes and ${device} holds 1048576\\. Choose a larger`),
            );
            assert.ok(readFileSync(backing).equals(old));
          });
        }
      });
    },
  );

  it("a disk of many TiB from a few kilobytes, whose holes nobody walks", { skip: requireLoopDevices() }, async () => {
    const large = await withFolder((folder) => {
      execFileSync("qemu-img", ["create", "-q", "-f", "qcow2", "large", "16T"], { cwd: folder });
      return readFileSync(path.join(folder, "large"));
    });
    await withLoopDevice({ size: MIB }, async (device, backing) => {
      const old = readFileSync(backing);
      const decant = startDecant(["convert", "-", device], { stdin: "pipe" });
      decant.child.stdin?.end(large);
      assertRefused(await decant.ended, 4, /disk has 17592186044416 bytes/);
      assert.ok(readFileSync(backing).equals(old));
    });
  });
});

describe("permissions", { skip: requireRoot() || requireTools("qemu-img") }, () => {
  const cases: readonly (readonly [name: string, args: readonly string[], exit: number, says: RegExp])[] = [
    ["a source that may not be read", ["private", "own/disk.raw"], 5, /no permission to read private \[/],
    [
      "a directory that may not be written",
      ["image", "theirs/disk.raw"],
      1,
      /cannot create .*theirs\/disk\.raw: permission is denied\. Run as/,
    ],
    [
      "a directory that may not be searched",
      ["image", "hidden/disk.raw"],
      1,
      /hidden\/disk\.raw: permission is denied\. Run as/,
    ],
    ["a file in such a directory, with --force", ["--force", "image", "theirs/old"], 1, /permission is denied/],
  ];
  for (const [name, args, exit, says] of cases) {
    it(`${name}: exit ${exit}`, async () => {
      await inFolder(async (folder) => {
        execFileSync("chmod", ["755", folder]);
        writeFileSync(path.join(folder, "private"), image, { mode: 0o600 });
        mkdirSync(path.join(folder, "theirs"), { mode: 0o755 });
        writeFileSync(path.join(folder, "theirs", "old"), "the old disk");
        mkdirSync(path.join(folder, "hidden"), { mode: 0o700 });
        mkdirSync(path.join(folder, "own"));
        execFileSync("chown", [String(NOBODY), path.join(folder, "own")]);
        assertRefused(await runDecantAs(NOBODY, ["convert", ...args], { cwd: folder }), exit, says);
        assert.equal(readFileSync(path.join(folder, "theirs", "old"), "utf8"), "the old disk");
        assert.deepEqual([...readdirSync(path.join(folder, "own")), ...readdirSync(path.join(folder, "hidden"))], []);
        assert.deepEqual(readdirSync(path.join(folder, "theirs")), ["old"]);
      });
    });
  }
});

describe("two runs on one target", { skip: requireTools("qemu-img") }, () => {
  it("a file: the second is told, the first goes on", async () => {
    await inFolder(async (folder) => {
      const first = startDecant(["convert", "-", "disk.raw"], { cwd: folder, stdin: "pipe" });
      await first.feed(image.subarray(0, 1.5 * MIB));
      await until(() => readdirSync(folder).includes(".disk.raw.decant-partial"));
      for (const force of [[], ["--force"]]) {
        const second = await startDecant(["convert", ...force, "image", "disk.raw"], { cwd: folder }).ended;
        assertRefused(
          second,
          1,
          /another process is writing .*\. Wait for it, or choose another target\. \[TARGET_BUSY\]/,
        );
      }
      first.child.stdin?.end(image.subarray(1.5 * MIB));
      assert.equal((await first.ended).status, 0);
      assert.ok(readFileSync(path.join(folder, "disk.raw")).equals(disk));
    });
  });

  it("a device: the second is told, the first goes on", { skip: requireLoopDevices() }, async () => {
    await withLoopDevice({ size: 8 * MIB }, async (device, backing) => {
      await inFolder(async (folder) => {
        const first = startDecant(["convert", "-", device], { stdin: "pipe" });
        await first.feed(image.subarray(0, 1.5 * MIB));
        await until(() =>
          readFileSync(backing)
            .subarray(0, 4096)
            .every((byte) => byte === 0),
        );
        const second = await startDecant(["convert", "image", device], { cwd: folder }).ended;
        assertRefused(second, 1, /in use .*\[TARGET_BUSY\]/);
        first.child.stdin?.end(image.subarray(1.5 * MIB));
        assert.equal((await first.ended).status, 0);
        assert.ok(readFileSync(backing).equals(disk));
      });
    });
  });
});

/** A folder with an image, and a file that is in the way. */
async function inFolder(body: (folder: string) => Promise<void>): Promise<void> {
  await withFolder(async (folder) => {
    writeFileSync(path.join(folder, "image"), image);
    writeFileSync(path.join(folder, "old"), "the old disk");
    await body(folder);
  });
}

function contents(folder: string): [name: string, content: Buffer][] {
  return readdirSync(folder)
    .sort()
    .map((name) => [name, readFileSync(path.join(folder, name))]);
}

/** One line, for a person. */
function assertRefused({ status, stderr, stdout }: RunResult, exit: number, says: RegExp): void {
  assert.equal(status, exit, stderr);
  assert.match(stderr, says);
  assert.equal(stderr.trimEnd().split("\n").length, 1, stderr);
  assert.doesNotMatch(stderr, /undefined|\[object|NaN|E[A-Z]{3,}:/);
  assert.equal(stdout, "");
}
