/**
 * The size detection as a process: exit statuses and the termination message, with qemu-img beside it.
 */
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { describe, it } from "node:test";
import { sampleBytes } from "../support/images.ts";
import { withLoopDevice } from "../support/loop-device.ts";
import { ROOT } from "../support/run-decant.ts";
import { withTemporaryFolder } from "../support/temporary-folder.ts";
import { requireLoopDevices, requireTools } from "../support/tools.ts";

interface Detected {
  readonly status: number | null;
  readonly message: string | undefined;
  readonly log: string;
}

async function detect(...args: readonly string[]): Promise<Detected> {
  return await withTemporaryFolder((folder) => Promise.resolve(detectInto(path.join(folder, "message"), args)));
}

function detectInto(terminationLog: string, args: readonly string[]): Detected {
  const { status, stderr } = spawnSync(process.execPath, [path.join(ROOT, "cmd", "size-detection.ts"), ...args], {
    encoding: "utf8",
    env: {
      ...process.env,
      NODE_COMPILE_CACHE: path.join(ROOT, "node_modules", ".cache", "decant"),
      DECANT_TERMINATION_LOG: terminationLog,
    },
  });
  const message =
    fs.statSync(terminationLog, { throwIfNoEntry: false })?.isFile() === true
      ? fs.readFileSync(terminationLog, "utf8")
      : undefined;
  return { status, message, log: stderr };
}

async function withFile(bytes: Uint8Array, use: (file: string) => void | Promise<void>): Promise<void> {
  await withTemporaryFolder(async (folder) => {
    const file = path.join(folder, "disk.img");
    fs.writeFileSync(file, bytes);
    await use(file);
  });
}

function qemuSize(file: string, ...args: readonly string[]): string {
  const info = execFileSync("qemu-img", ["info", "--output=json", ...args, file], { encoding: "utf8" });
  return String((JSON.parse(info) as { "virtual-size": number })["virtual-size"]);
}

describe("size detection", () => {
  it("says the size of an image as qemu-img does", { skip: requireTools("qemu-img") }, async () => {
    const chosen = ["qcow2/zlib.qcow2", "vhdx/dynamic.vhdx", "vdi/dynamic.vdi", "raw/patterned.raw"];
    for (const name of chosen) {
      await withFile(sampleBytes(name), async (file) => {
        const expected = qemuSize(file);
        for (const args of [["-image-path", file], [`--image-path=${file}`]]) {
          const { status, message } = await detect(...args);
          assert.deepEqual([status, message], [0, expected], name);
        }
      });
    }
  });

  it("rounds up to a sector, and unwraps nothing, as qemu-img does", { skip: requireTools("qemu-img") }, async () => {
    for (const bytes of [Buffer.alloc(1000, 1), Buffer.from("1f8b0800".padEnd(2048, "0"), "hex")]) {
      await withFile(bytes, async (file) => {
        const { status, message } = await detect("-image-path", file, "-scheme", "file://");
        assert.deepEqual([status, message], [0, qemuSize(file, "-f", "raw")]);
      });
    }
  });

  it("says the size of a device", { skip: requireLoopDevices() }, async () => {
    await withLoopDevice({ size: 5 * 1024 * 1024 }, async (device) => {
      assert.deepEqual((await detect("-image-path", device)).message, String(5 * 1024 * 1024));
    });
  });

  it("ends with 1 for wrong arguments", async () => {
    for (const args of [
      [],
      ["-image-path"],
      ["-image-path="],
      ["-fancy"],
      ["x"],
      ["-image-path=/x", "-scheme=nbd://"],
    ]) {
      const { status, message, log } = await detect(...args);
      assert.deepEqual([status, message], [1, undefined], args.join(" "));
      assert.match(log, /"code":"USAGE"/);
    }
  });

  it("ends with 2 for a file that is no image, a folder, or an image that is refused", async () => {
    await withFile(Buffer.from("QFI\xfb\0\0\0\x03".padEnd(600, "\xff"), "latin1"), async (file) => {
      assert.equal((await detect("-image-path", file)).status, 2);
      assert.equal((await detect("-image-path", path.dirname(file))).status, 2);
    });
  });

  it("ends with 3 for a path that is not there", async () => {
    assert.equal((await detect("-image-path", "/nowhere/disk.img")).status, 3);
  });

  it("ends with 4 where the message cannot be written", async () => {
    await withFile(Buffer.alloc(512), (file) => {
      assert.equal(detectInto(path.dirname(file), ["-image-path", file]).status, 4);
    });
  });
});
