/**
 * The whole program on a URL: one pass, resumed after cuts, refused in one sentence, and no secret told.
 */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import path from "node:path";
import { describe, it } from "node:test";
import zlib from "node:zlib";
import type { ConvertResult } from "../../cmd/convert.ts";
import type { Inspection } from "../../cmd/inspect.ts";
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
    it(`${name}: no HEAD, no byte twice, the same disk`, async () => {
      await withFolder(async (folder) => {
        await withServer({ bytes, etag: '"v1"' }, async (server) => {
          const target = path.join(folder, "disk.raw");
          const { status, stdout } = await runDecant(["convert", "--json", `${server.origin}/${name}`, target]);
          assert.equal(status, 0);
          assert.ok(readFileSync(target).equals(disk));
          assert.ok(server.requests.every(({ method }) => method === "GET"));
          if (name !== "raw") assert.equal(server.requests.length, 1, "what is compressed passes once");
          const result = JSON.parse(stdout) as { bytesRead: number; spilled: boolean };
          assert.deepEqual([result.bytesRead, result.spilled], [bytes.length, false]);
        });
      });
    });
  }

  it("goes on where a connection broke off, and says how often", async () => {
    for (const bytes of [disk, zlib.gzipSync(disk, { level: 0 })]) {
      await withFolder(async (folder) => {
        let cuts = 0;
        const misdeed = (number: number, { headers }: IncomingMessage): { cutAfter: number } | undefined => {
          const [, start = 0, end = Infinity] = (/(\d+)-(\d+)/.exec(headers.range ?? "") ?? []).map(Number);
          // The first GET is given up when ranges are proved.
          if (number > 4 || end - start < 500_000 || end === Infinity) return undefined;
          cuts += 1;
          return { cutAfter: 500_000 };
        };
        await withServer({ bytes, etag: '"v1"', misdeed }, async (server) => {
          const target = path.join(folder, "disk.raw");
          const url = `${server.origin}/disk`;
          const { status, stdout, stderr } = await runDecant(["convert", "--json", url, target]);
          assert.equal(status, 0, stderr);
          assert.ok(readFileSync(target).equals(disk));
          assert.equal((JSON.parse(stdout) as ConvertResult).resumes, cuts);
        });
      });
    }
  });

  it("leaves nothing where the image changes again and again", async () => {
    await withFolder(async (folder) => {
      const misdeed = (number: number): object => ({ headers: { etag: `"v${number}"` }, cutAfter: 1_500_000 });
      await withServer({ bytes: disk, misdeed }, async (server) => {
        const target = path.join(folder, "disk.raw");
        const { status, stderr } = await runDecant(["convert", `${server.origin}/disk.raw`, target]);
        assert.equal(status, 5);
        assert.match(stderr, /\[SOURCE_CHANGED\]\n$/);
        assert.deepEqual(readdirSync(folder), []);
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
    const sample = sampleBytes("qcow2/plain.qcow2");
    const large = Buffer.alloc(300 * 1024 * 1024);
    sample.copy(large);
    const packed = zlib.gzipSync(Buffer.concat([sample, randomBytes(8 * 1024 * 1024)]), { level: 1 });
    for (const bytes of [large, packed]) {
      await withServer({ bytes, etag: '"v1"' }, async (server) => {
        const { status, stdout } = await runDecant(["inspect", "--json", `${server.origin}/disk.qcow2`]);
        assert.equal(status, 0);
        const { format, storedSize } = JSON.parse(stdout) as Inspection;
        assert.deepEqual([format, storedSize], ["qcow2", bytes.length]);
        assert.ok(server.served() < 1_000_000, `${server.served()} bytes`);
      });
    }
  });
});
