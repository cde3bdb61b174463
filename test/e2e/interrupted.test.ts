/**
 * Ctrl-C and other signals at any moment: exit 130 with nothing left, or exit 0 with the whole disk, and nothing between.
 */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { baseDisk } from "../support/base-disk.ts";
import { withFolder, withLoopDevice } from "../support/loop-device.ts";
import { imageOf } from "../support/qemu-images.ts";
import { startDecant, until } from "../support/start-decant.ts";
import type { StartedDecant } from "../support/start-decant.ts";
import { requireLoopDevices, requireTools } from "../support/tools.ts";

const MIB = 1024 * 1024;
const PARTIAL = ".disk.raw.decant-partial";

const disk = baseDisk(16 * MIB);

/** Where a run stands still when the signal comes, given an image that is fed in parts. */
const moments: readonly { readonly name: string; readonly fed: (image: Buffer) => Buffer }[] = [
  { name: "before the first byte", fed: () => Buffer.alloc(0) },
  { name: "within the header", fed: (image) => image.subarray(0, 100) },
  { name: "in the middle", fed: (image) => image.subarray(0, image.length / 2) },
  { name: "one byte before the end", fed: (image) => image.subarray(0, -1) },
  { name: "at the end, before it is known that it is one", fed: (image) => image },
];

describe("a signal", { skip: requireTools("qemu-img") }, () => {
  const image = imageOf(disk, "qcow2");

  for (const { name, fed } of moments) {
    it(`${name} of standard input: exit 130, nothing left, the old file untouched`, async () => {
      await withFolder(async (folder) => {
        writeFileSync(path.join(folder, "disk.raw"), "the old disk");
        const decant = startDecant(["convert", "--force", "-", "disk.raw"], { cwd: folder, stdin: "pipe" });
        await decant.feed(fed(image));
        await atWork(decant, () => readdirSync(folder).includes(PARTIAL));
        const started = Date.now();
        decant.child.kill("SIGINT");
        const { status, stderr } = await decant.ended;
        assert.equal(status, 130, stderr);
        assert.equal(stderr, "decant: interrupted [INTERRUPTED]\n");
        assert.ok(Date.now() - started < 1800, "does not wait for bytes that never come");
        assert.deepEqual(readdirSync(folder), ["disk.raw"]);
        assert.equal(readFileSync(path.join(folder, "disk.raw"), "utf8"), "the old disk");
      });
    });
  }

  for (const signal of ["SIGTERM", "SIGHUP"] as const) {
    it(`${signal} is like Ctrl-C`, async () => {
      await withFolder(async (folder) => {
        const decant = startDecant(["convert", "-", "disk.raw"], { cwd: folder, stdin: "pipe" });
        await decant.feed(image.subarray(0, image.length / 2));
        await atWork(decant, () => readdirSync(folder).includes(PARTIAL));
        decant.child.kill(signal);
        assert.equal((await decant.ended).status, 130);
        assert.deepEqual(readdirSync(folder), []);
      });
    });
  }

  for (const threads of ["1", "2"]) {
    it(`at any time of a run from a file, ${threads} thread(s): all or nothing`, async () => {
      await withFolder(async (folder) => {
        const source = path.join(folder, "image.qcow2");
        writeFileSync(source, imageOf(disk, "qcow2", ["-c"]));
        const whole = createHash("sha256").update(disk).digest("hex");
        for (const ms of [0, 20, 60, 150, 400, 1000]) {
          const args = ["convert", "--threads", threads, "--digest", "--verify", source, "disk.raw"];
          const decant = startDecant([...args, "--force"], { cwd: folder });
          const before = readdirSync(folder).includes("disk.raw");
          await until(() => readdirSync(folder).includes(PARTIAL) || decant.child.exitCode !== null);
          await sleep(ms);
          decant.child.kill("SIGINT");
          const { status, signal, stdout, stderr } = await decant.ended;
          assert.equal(signal, null, "it has begun, and ends by itself");
          assert.ok(status === 0 || status === 130, `after ${ms} ms: ${status} ${stderr}`);
          assert.equal(readdirSync(folder).includes(PARTIAL), false, `after ${ms} ms`);
          assert.equal(stdout.startsWith(whole), status === 0, `after ${ms} ms`);
          if (status === 130) assert.equal(readdirSync(folder).includes("disk.raw"), before, `after ${ms} ms`);
          else assert.ok(readFileSync(path.join(folder, "disk.raw")).equals(disk), `after ${ms} ms`);
        }
      });
    });
  }
});

describe("a signal while a device is written", { skip: requireLoopDevices() || requireTools("qemu-img") }, () => {
  it("leaves its first and its last MiB zeroed", async () => {
    const image = imageOf(disk, "qcow2");
    await withLoopDevice({ size: 20 * MIB }, async (device, backing) => {
      const decant = startDecant(["convert", "-", device], { stdin: "pipe" });
      await decant.feed(image.subarray(0, image.length - 1));
      await atWork(decant, () =>
        readFileSync(backing)
          .subarray(0, MIB)
          .every((byte) => byte === 0),
      );
      decant.child.kill("SIGINT");
      const { status, stderr } = await decant.ended;
      assert.equal(status, 130, stderr);
      const left = readFileSync(backing);
      const nothing = Buffer.alloc(MIB);
      assert.ok(left.subarray(0, MIB).equals(nothing), "the first MiB");
      assert.ok(left.subarray(-MIB).equals(nothing), "the device's last MiB");
      assert.ok(left.subarray(15 * MIB, 16 * MIB).equals(nothing), "the disk's last MiB");
    });
  });
});

/** Waits until the program has begun, and for a while more: it is now waiting for input. */
async function atWork(decant: StartedDecant, begun: () => boolean): Promise<void> {
  await until(() => begun() || decant.child.exitCode !== null);
  await sleep(400);
  assert.equal(decant.child.exitCode, null, "still at work");
}
