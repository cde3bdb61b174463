/**
 * The whole program on a URL: one pass, resumed after cuts, refused in one sentence, and no secret told.
 */
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { describe, it } from "node:test";
import zlib from "node:zlib";
import { baseDisk } from "../support/base-disk.ts";
import { sampleBytes } from "../support/images.ts";
import { withFolder } from "../support/loop-device.ts";
import { withServer } from "../support/misbehaving-server.ts";
import { runDecant } from "../support/run-decant.ts";

const disk = baseDisk(8 * 1024 * 1024);

describe("a URL as a source", () => {
  for (const [name, bytes] of [
    ["raw", disk],
    ["raw.gz", zlib.gzipSync(disk)],
    ["raw.zst", zlib.zstdCompressSync(disk)],
  ] as const) {
    it(`${name}: one request, no HEAD, the same disk`, async () => {
      await withFolder(async (folder) => {
        await withServer({ bytes, etag: '"v1"' }, async (server) => {
          const target = path.join(folder, "disk.raw");
          const { status, stdout } = await runDecant(["convert", "--json", `${server.origin}/${name}`, target]);
          assert.equal(status, 0);
          assert.ok(readFileSync(target).equals(disk));
          assert.deepEqual([server.requests.length, server.requests[0]?.method], [1, "GET"]);
          const result = JSON.parse(stdout) as { bytesRead: number; spilled: boolean };
          assert.deepEqual([result.bytesRead, result.spilled], [bytes.length, false]);
        });
      });
    });
  }

  it("goes on where a connection broke off", async () => {
    await withFolder(async (folder) => {
      const misdeed = (number: number): { cutAfter: number } | undefined =>
        number <= 3 ? { cutAfter: 1_500_000 } : undefined;
      await withServer({ bytes: disk, etag: '"v1"', misdeed }, async (server) => {
        const target = path.join(folder, "disk.raw");
        const { status, stderr } = await runDecant(["convert", `${server.origin}/disk.raw`, target]);
        assert.equal(status, 0, stderr);
        assert.ok(readFileSync(target).equals(disk));
        assert.equal(server.requests.length, 4);
      });
    });
  });

  it("leaves nothing where the image changed meanwhile", async () => {
    await withFolder(async (folder) => {
      const misdeed = (number: number): object => {
        return number === 1 ? { cutAfter: 1_500_000 } : { headers: { etag: '"v2"' }, ignoresRange: true };
      };
      await withServer({ bytes: disk, etag: '"v1"', misdeed }, async (server) => {
        const target = path.join(folder, "disk.raw");
        const { status, stderr } = await runDecant(["convert", `${server.origin}/disk.raw`, target]);
        assert.equal(status, 5);
        assert.match(stderr, /\[SOURCE_CHANGED\]\n$/);
        assert.equal(existsSync(target), false);
      });
    });
  });

  it("says no more of a URL than its address", async () => {
    await withServer({ bytes: sampleBytes("qcow2/zlib.qcow2"), misdeed: () => ({ status: 404 }) }, async (server) => {
      const url = server.origin.replace("//", "//me:hunter2@");
      const { status, stdout, stderr } = await runDecant(["convert", `${url}/disk.qcow2?token=hunter3`, "null:"]);
      assert.equal(status, 5);
      assert.equal(stderr, `decant: ${server.origin}/disk.qcow2 answers 404 Not Found [SOURCE_NOT_FOUND]\n`);
      assert.doesNotMatch(stdout + stderr, /hunter/);
    });
  });

  it("is inspected by its first bytes", async () => {
    await withServer(
      { bytes: Buffer.concat([sampleBytes("qcow2/plain.qcow2"), Buffer.alloc(64 * 1024 * 1024)]) },
      async (server) => {
        const { status, stdout } = await runDecant(["inspect", "--json", `${server.origin}/disk.qcow2`]);
        assert.equal(status, 0);
        assert.equal((JSON.parse(stdout) as { format: string }).format, "qcow2");
        assert.ok(server.served() < 16 * 1024 * 1024, `${server.served()} bytes`);
      },
    );
  });
});
