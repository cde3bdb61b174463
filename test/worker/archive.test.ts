/**
 * The worker unpacks an archive, as the user that an importer pod has.
 */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { describe, it } from "node:test";
import zlib from "node:zlib";
import { buildTar } from "../support/build-tar.ts";
import { sampleBytes } from "../support/images.ts";
import { withServer } from "../support/misbehaving-server.ts";
import type { Misdeed } from "../support/misbehaving-server.ts";
import { withProjectFor } from "../support/start-decant.ts";
import { withTemporaryFolder } from "../support/temporary-folder.ts";
import { requireRoot, requireTools } from "../support/tools.ts";
import { treeOf } from "../support/tree.ts";
import { leftIn, runWorker, workerPlace } from "../support/worker.ts";
import type { WorkerPlace, WorkerResult, WorkerStart } from "../support/worker.ts";

const COMPLETE = '{"scratchSpaceRequired":false,"preallocationApplied":false,"message":"Import Complete"}';
const UNTAR =
  "Unable to process data: Unable to transfer source data to target directory: unable to untar files from endpoint: ";

/** The importer's user and group. */
const QEMU = 107;

const archive = Buffer.from(
  buildTar([
    { name: "folder/", type: "5" },
    { name: "folder/file", content: Buffer.from("the content\n") },
    { name: "disk.img", content: Buffer.alloc(100_000, 7) },
  ]),
);

async function withPlace<T>(use: (place: WorkerPlace) => Promise<T>): Promise<T> {
  return await withTemporaryFolder(async (folder) => await use(workerPlace(folder)));
}

async function unpackFrom(
  place: WorkerPlace,
  bytes: Buffer,
  env: Readonly<Record<string, string>> = {},
  { misdeed, start }: { readonly misdeed?: (number: number) => Misdeed | undefined; readonly start?: WorkerStart } = {},
): Promise<WorkerResult> {
  return await withServer(
    { bytes, etag: '"v1"', ...(misdeed === undefined ? {} : { misdeed }) },
    async ({ origin }) => {
      const source = { IMPORTER_SOURCE: "http", IMPORTER_ENDPOINT: `${origin}/x`, IMPORTER_CONTENTTYPE: "archive" };
      return await runWorker(place, { ...start, env: { ...source, ...env } });
    },
  );
}

describe("an archive", { concurrency: 2 }, () => {
  it("is unpacked, and syncs its folder", async () => {
    await withPlace(async (place) => {
      const gzip = zlib.gzipSync(archive);
      const checksum = `sha256:${createHash("sha256").update(gzip).digest("hex")}`;
      const env = { IMPORTER_CHECKSUM: checksum, PREALLOCATION: "true", IMPORTER_IMAGE_SIZE: "1Gi" };
      const { status, message, lines } = await unpackFrom(place, gzip, env);
      assert.deepEqual([status, message], [0, COMPLETE]);
      assert.deepEqual(leftIn(place), ["disk.img", "folder"]);
      assert.equal(fs.readFileSync(path.join(place.data, "folder", "file"), "utf8"), "the content\n");
      assert.ok(lines.includes(`Successfully completed fsync(${place.data}) syscall, committed to disk`));
      assert.ok(lines.includes(`Checksum verification passed: ${checksum}`));
    });
  });

  it("goes on after a cut, and replaces what an attempt before has left", async () => {
    await withPlace(async (place) => {
      fs.mkdirSync(path.join(place.data, "folder"));
      fs.writeFileSync(path.join(place.data, "folder", "file"), "half");
      fs.writeFileSync(path.join(place.data, "disk.img"), "old");
      const { status } = await unpackFrom(
        place,
        archive,
        {},
        { misdeed: (number) => (number === 1 ? { cutAfter: 70_000 } : undefined) },
      );
      assert.equal(status, 0);
      assert.equal(fs.statSync(path.join(place.data, "disk.img")).size, 100_000);
      assert.equal(fs.readFileSync(path.join(place.data, "folder", "file"), "utf8"), "the content\n");
    });
  });

  it("with a wrong checksum leaves an empty folder, and ends for good", async () => {
    await withPlace(async (place) => {
      fs.writeFileSync(path.join(place.data, "old"), "old");
      const { status, message } = await unpackFrom(place, archive, { IMPORTER_CHECKSUM: `md5:${"0".repeat(32)}` });
      assert.equal(status, 0);
      assert.match(
        message ?? "",
        /^\{"message":"Unable to process data: .*target directory: .*checksum mismatch: expected md5:000/,
      );
      assert.deepEqual(leftIn(place), []);
    });
  });

  it("that is none fails in the contract's words", async () => {
    await withPlace(async (place) => {
      const { status, message } = await unpackFrom(place, sampleBytes("qcow2/zlib.qcow2"));
      assert.equal(status, 1);
      assert.ok(message?.startsWith(`${UNTAR}exit status 2: this does not look like a tar archive`), message);
      assert.ok(message?.endsWith(" [FORMAT_UNRECOGNISED]"), message);
      assert.deepEqual(leftIn(place), []);
    });
  });

  it("on a block volume has no folder to go to", async () => {
    await withTemporaryFolder(async (folder) => {
      const device = path.join(folder, "device");
      fs.writeFileSync(device, "");
      const { status, log } = await unpackFrom(workerPlace(folder, { device }), archive);
      assert.equal(status, 1);
      assert.match(log, /is no block device/);
    });
  });
});

describe("an archive, unpacked by the importer's user", { skip: requireRoot() || requireTools("tar") }, () => {
  it("is the tree that tar makes for that user, in a folder that is root's", async () => {
    const special = (mode: string) => (block: Uint8Array) => block.set(Buffer.from(mode), 100);
    const bytes = Buffer.from(
      buildTar([
        { name: "set-id", patch: special("0006755"), content: Buffer.from("x") },
        { name: "read-only/", type: "5", patch: special("0000555") },
        { name: "read-only/inside", patch: special("0000000"), content: Buffer.from("y") },
        { name: "sticky/", type: "5", patch: special("0003777") },
        { name: "of-root", patch: special("0000600"), content: Buffer.from("z") },
      ]),
    );
    await withTemporaryFolder(async (folder) => {
      fs.chmodSync(folder, 0o755);
      const places = ["ours", "theirs"].map((name) => workerPlace(path.join(folder, name)));
      for (const { folder: outer, data } of places) {
        fs.chownSync(outer, QEMU, QEMU);
        fs.chownSync(data, 0, QEMU);
        fs.chmodSync(data, 0o2775);
        fs.writeFileSync(path.join(data, "of-root"), "old");
        fs.utimesSync(data, 1e9, 1e9);
      }
      const [ours, theirs] = places as [WorkerPlace, WorkerPlace];
      const { status, log } = await withProjectFor(
        async (root) => await unpackFrom(ours, bytes, {}, { start: { user: QEMU, root } }),
      );
      assert.equal(status, 0, log);
      execFileSync("tar", ["--preserve-permissions", "--no-same-owner", "-xC", theirs.data], {
        input: bytes,
        uid: QEMU,
        gid: QEMU,
      });
      assert.deepEqual(treeOf(ours.data).slice(1), treeOf(theirs.data).slice(1));
      assert.equal(fs.statSync(path.join(ours.data, "set-id")).uid, QEMU);
      // An archive of `.` would change the volume's own folder, which is root's: tar fails at that.
      const withDot = Buffer.from(
        buildTar([
          { name: "./", type: "5" },
          { name: "./new", content: Buffer.from("n") },
        ]),
      );
      const again = await withProjectFor(
        async (root) => await unpackFrom(ours, withDot, {}, { start: { user: QEMU, root } }),
      );
      assert.equal(again.status, 0, again.log);
      assert.match(again.log, /belongs to somebody else/);
      assert.equal(fs.statSync(ours.data).mode & 0o7777, 0o2775);
    });
  });
});
