/**
 * What a run says of itself: the summary, --json, --digest, --checksum and --verify, against other programs' words.
 */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { before, describe, it } from "node:test";
import { gzipSync } from "node:zlib";
import type { Stages } from "../../cmd/stages.ts";
import { baseDisk } from "../support/base-disk.ts";
import { withFolder, withLoopDevice } from "../support/loop-device.ts";
import { imageOf } from "../support/qemu-images.ts";
import type { RunResult } from "../support/run-decant.ts";
import { startDecant } from "../support/start-decant.ts";
import { requireLoopDevices, requireTools } from "../support/tools.ts";

const MIB = 1024 * 1024;
const disk = baseDisk(8 * MIB);
let image: Buffer = Buffer.alloc(0);

before(() => {
  if (requireTools("qemu-img") === false) image = imageOf(disk, "qcow2");
});

describe("--digest", { skip: requireTools("qemu-img") }, () => {
  it("is sha256sum's of the file, by path and by standard input", async () => {
    for (const source of ["image", "-", "image.gz"]) {
      await inFolder(async (folder) => {
        const { status, stdout, stderr } = await convert(folder, ["--digest", source, "disk.raw"]);
        assert.equal(status, 0, stderr);
        assert.equal(stdout, execFileSync("sha256sum", ["disk.raw"], { cwd: folder, encoding: "utf8" }));
        assert.equal(stdout.slice(0, 64), sha256(disk));
      });
    }
  });

  it("is of the whole disk, what --size added too", async () => {
    await inFolder(async (folder) => {
      const { stdout } = await convert(folder, ["--digest", "--size", "9Mi", "image", "disk.raw"]);
      assert.equal(stdout.slice(0, 64), sha256(Buffer.concat([disk, Buffer.alloc(MIB)])));
      assert.equal(stdout, execFileSync("sha256sum", ["disk.raw"], { cwd: folder, encoding: "utf8" }));
    });
  });

  it("is of the source's disk where the target is null:", async () => {
    await inFolder(async (folder) => {
      const { stdout } = await convert(folder, ["--digest", "image", "null:"]);
      assert.equal(stdout, `${sha256(disk)}  null:\n`);
      assert.deepEqual(readdirSync(folder).sort(), ["image", "image.gz"]);
    });
  });

  for (const direct of [[], ["--direct"]]) {
    it(
      `is of the disk on a device, and of nothing behind it ${direct.join("")}`,
      { skip: requireLoopDevices() },
      async () => {
        await withLoopDevice({ size: 10 * MIB, sectorSize: 4096 }, async (device) => {
          await inFolder(async (folder) => {
            for (const source of ["image", "-"]) {
              const { stdout, stderr } = await convert(folder, [...direct, "--digest", source, device]);
              assert.equal(stdout, `${sha256(disk)}  ${device}\n`, stderr);
            }
          });
        });
      },
    );
  }
});

describe("--checksum", { skip: requireTools("qemu-img") }, () => {
  for (const algorithm of ["md5", "sha1", "sha256", "sha512"]) {
    for (const source of ["image", "image.gz", "-"]) {
      it(`${algorithm} of ${source === "-" ? "standard input" : source}, right and wrong`, async () => {
        await inFolder(async (folder) => {
          const file = path.join(folder, source === "-" ? "image" : source);
          const right = execFileSync(`${algorithm}sum`, [file], { encoding: "utf8" }).split(" ")[0] ?? "";
          const wrong = right.replace(/^./, (digit) => (digit === "0" ? "1" : "0"));
          const good = await convert(folder, ["--checksum", `${algorithm}:${right.toUpperCase()}`, source, "good.raw"]);
          assert.equal(good.status, 0, good.stderr);
          assert.ok(readFileSync(path.join(folder, "good.raw")).equals(disk));
          const bad = await convert(folder, ["--checksum", `${algorithm}:${wrong}`, source, "bad.raw"]);
          assert.equal(bad.status, 6, bad.stderr);
          assert.match(bad.stderr, new RegExp(`${algorithm} is ${right}, not ${wrong}`));
          assert.deepEqual(readdirSync(folder).sort(), ["good.raw", "image", "image.gz"]);
        });
      });
    }
  }
});

describe("--verify", { skip: requireTools("qemu-img", "strace") }, () => {
  it(
    "reads the target again, a file and a device, also with --checksum and --direct",
    { skip: requireLoopDevices() },
    async () => {
      await withLoopDevice({ size: 10 * MIB }, async (device) => {
        await inFolder(async (folder) => {
          const checksum = `sha256:${sha256(image)}`;
          for (const options of [[], ["--direct"], ["--checksum", checksum]]) {
            for (const target of ["disk.raw", device]) {
              const { status, stderr } = await convert(folder, [...options, "--force", "--verify", "image", target]);
              assert.equal(status, 0, stderr);
            }
          }
        });
      });
    },
  );

  it("sees what the target lost", { skip: requireTools("strace") }, async () => {
    await inFolder(async (folder) => {
      // strace makes the kernel say that a write was done which was not.
      const log = path.join(folder, "strace.log");
      const under = ["strace", "-f", "-o", log, "-e", "trace=pwrite64", "-e", "inject=pwrite64:retval=65536:when=2"];
      const decant = startDecant(["convert", "--threads", "1", "--verify", "image", "disk.raw"], {
        cwd: folder,
        under,
      });
      const { status, stderr } = await decant.ended;
      assert.equal(status, 1, stderr + readFileSync(log, "utf8"));
      assert.match(stderr, /disk\.raw does not hold what was written to it: it differs at 0x[0-9a-f]+ \[TARGET_IO\]/);
      assert.ok(!readdirSync(folder).some((name) => name.includes("disk.raw")));
    });
  });
});

describe("--json", { skip: requireTools("qemu-img") }, () => {
  it("says what was done, in one object on standard output and nothing elsewhere", async () => {
    await inFolder(async (folder) => {
      const { status, stdout, stderr } = await convert(folder, ["--json", "--digest", "image.gz", "disk.raw"]);
      assert.equal(status, 0, stderr);
      assert.equal(stderr, "");
      assert.equal(stdout.trimEnd().split("\n").length, 1);
      const result = JSON.parse(stdout) as Record<string, unknown>;
      const { seconds, stages, maxRssBytes, bytesWritten, bytesZeroed, ...rest } = result;
      assert.deepEqual(rest, {
        source: "image.gz",
        wrappers: ["gzip"],
        format: "qcow2",
        virtualSize: 8 * MIB,
        bytesRead: statSync(path.join(folder, "image.gz")).size,
        spilled: false,
        resumes: 0,
        warnings: [],
        target: "disk.raw",
        digest: sha256(disk),
      });
      assert.ok(typeof seconds === "number" && seconds > 0 && seconds < 60);
      const { unwrapMs, flushMs } = stages as Stages;
      assert.ok(unwrapMs > 0 && flushMs > 0 && unwrapMs + flushMs < 1000 * seconds, JSON.stringify(stages));
      assert.ok(typeof maxRssBytes === "number" && maxRssBytes > 30 * MIB && maxRssBytes < 1024 * MIB);
      assert.equal(Number(bytesWritten) + Number(bytesZeroed), 8 * MIB);
      // What is not zeros, in blocks of 4 KiB, is written, and it is all that the file takes.
      assert.equal(bytesWritten, blocksWithData(disk) * 4096);
    });
  });

  it("reports a failure there too, with its code, and the exit status is the same", async () => {
    await inFolder(async (folder) => {
      const { status, stdout, stderr } = await convert(folder, ["--json", "nope", "disk.raw"]);
      assert.equal(status, 5);
      assert.equal(stderr, "");
      assert.deepEqual(JSON.parse(stdout), {
        error: { code: "SOURCE_NOT_FOUND", message: "there is no file nope", retry: "transient" },
      });
    });
  });

  it("does not fail because nobody reads what it prints", async () => {
    await inFolder(async (folder) => {
      const decant = startDecant(["convert", "--json", "image", "disk.raw"], { cwd: folder });
      decant.child.stdout?.destroy();
      const { status, stderr } = await decant.ended;
      assert.equal(status, 0, stderr);
      assert.ok(readFileSync(path.join(folder, "disk.raw")).equals(disk));
    });
  });
});

describe("the summary", { skip: requireTools("qemu-img") }, () => {
  it("names source, format, bytes and phases, on standard error alone", async () => {
    await inFolder(async (folder) => {
      const { status, stdout, stderr } = await convert(folder, ["image.gz", "disk.raw"]);
      assert.equal(status, 0);
      assert.equal(stdout, "");
      assert.match(stderr, /^disk\.raw: 8 MiB disk from image\.gz \(gzip → qcow2\) in \d+\.\d\d s$/m);
      assert.match(stderr, /read .*, wrote .*, zeros .*, peak memory /);
      assert.match(stderr, /Info .* · Transfer .* · Resize .* · Complete/);
      assert.doesNotMatch(stderr, /undefined|NaN|\[object/);
    });
  });
});

async function inFolder(body: (folder: string) => Promise<void>): Promise<void> {
  await withFolder(async (folder) => {
    writeFileSync(path.join(folder, "image"), image);
    writeFileSync(path.join(folder, "image.gz"), gzipSync(image));
    await body(folder);
  });
}

/** Runs convert there; a source `-` is fed the image. */
async function convert(folder: string, args: readonly string[]): Promise<RunResult> {
  const decant = startDecant(["convert", ...args], { cwd: folder, stdin: args.includes("-") ? "pipe" : "ignore" });
  decant.child.stdin?.end(image);
  return await decant.ended;
}

function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

function blocksWithData(bytes: Buffer): number {
  const zeros = Buffer.alloc(4096);
  let count = 0;
  for (let at = 0; at < bytes.length; at += 4096) if (!bytes.subarray(at, at + 4096).equals(zeros)) count += 1;
  return count;
}
