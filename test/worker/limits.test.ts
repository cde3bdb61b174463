/**
 * What does not fit: disks larger than the volume from every kind of source, volumes that fill up, labels that make the
 * message too long; and a server that comes back. In the words by which controllers know each.
 */
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { describe, it } from "node:test";
import zlib from "node:zlib";
import { baseDisk } from "../support/base-disk.ts";
import { buildImage, buildLayer, file } from "../support/build-image.ts";
import { buildTar } from "../support/build-tar.ts";
import { sampleBytes } from "../support/images.ts";
import { withTmpfs } from "../support/loop-device.ts";
import { withServer } from "../support/misbehaving-server.ts";
import type { Misdeed } from "../support/misbehaving-server.ts";
import { withStubRegistry } from "../support/stub-registry.ts";
import { withTemporaryFolder } from "../support/temporary-folder.ts";
import { requireRoot } from "../support/tools.ts";
import { leftIn, runWorker, workerPlace } from "../support/worker.ts";
import type { WorkerPlace, WorkerResult } from "../support/worker.ts";

const MIB = 1024 * 1024;
const disk = baseDisk(8 * MIB);
const qcow2 = sampleBytes("qcow2/zlib.qcow2");

/** The importer's group. */
const QEMU = 107;

type Env = Readonly<Record<string, string>>;

async function withPlace(env: Env, check: (result: WorkerResult, place: WorkerPlace) => void): Promise<void> {
  await withTemporaryFolder(async (folder) => {
    const place = workerPlace(folder);
    check(await runWorker(place, { env: { HOME: folder, ...env } }), place);
  });
}

describe("a disk larger than its volume", { concurrency: 2 }, () => {
  for (const [name, bytes, source] of [
    ["raw.xz", sampleBytes("xz/patterned.raw.xz"), "http"],
    ["qcow2.gz", zlib.gzipSync(qcow2), "http"],
    ["raw in S3", disk, "s3"],
    ["raw.xz in S3", sampleBytes("xz/patterned.raw.xz"), "s3"],
    ["a qcow2 in Google's cloud", qcow2, "gcs"],
  ] as const) {
    for (const own of [false, true]) {
      it(`${name}${own ? ", for our own controller" : ""}: is refused, and nothing is left`, async () => {
        await withServer({ bytes, etag: '"v1"' }, async ({ origin }) => {
          const env = {
            IMPORTER_SOURCE: source,
            IMPORTER_ENDPOINT: `${origin}/bucket/disk`,
            IMPORTER_IMAGE_SIZE: "2Mi",
            ...(own ? { DECANT_CONTROLLER: "1" } : {}),
          };
          await withPlace(env, ({ status, message = "", log }, place) => {
            assert.equal(status, own ? 0 : 1, log);
            assert.match(
              message,
              /virtual image size .*\d is larger than the reported available storage 2097152\. A larger PVC is required/,
            );
            if (own) assert.match(message, /,"code":"TARGET_TOO_SMALL","terminal":true\}$/);
            else assert.match(message, / would work \[TARGET_TOO_SMALL\]$/);
            assert.deepEqual(leftIn(place), []);
          });
        });
      });
    }
  }
});

describe("a volume that fills up", { skip: requireRoot() }, () => {
  it("while an archive is unpacked is told by the kernel's words", async () => {
    const bytes = Buffer.from(buildTar([file("large", Buffer.alloc(8 * MIB, 1))]));
    await withServer({ bytes, etag: '"v1"' }, async ({ origin }) => {
      await withTmpfs(4 * MIB, async (data) => {
        await withTemporaryFolder(async (folder) => {
          const env = { IMPORTER_SOURCE: "http", IMPORTER_ENDPOINT: `${origin}/x`, IMPORTER_CONTENTTYPE: "archive" };
          const { status, message = "" } = await runWorker(workerPlace(folder, { data }), { env });
          assert.equal(status, 1);
          assert.match(message, /^Unable to process data: .*target directory: .*no space left on device/);
        });
      });
    });
  });

  it("belongs to its group: so does the disk", async () => {
    await withTemporaryFolder(async (folder) => {
      const place = workerPlace(folder);
      fs.chownSync(place.data, 0, QEMU);
      fs.chmodSync(place.data, 0o2775);
      const env = { IMPORTER_SOURCE: "none", IMPORTER_IMAGE_SIZE: "2Mi" };
      const { status, log } = await runWorker(place, { env });
      assert.equal(status, 0, log);
      const { gid, mode, blocks } = fs.statSync(path.join(place.data, "disk.img"));
      assert.deepEqual([gid, (mode & 0o777).toString(8), blocks], [QEMU, "660", 0]);
    });
  });
});

describe("labels that the message has no room for", () => {
  it("are left out from the end, and the log says so", async () => {
    const environment = Array.from(
      { length: 200 },
      (_, index) => `KUBEVIRT_IO_LABEL_${1000 + index}=${"x".repeat(40)}`,
    );
    const image = buildImage([buildLayer([file("disk/disk.qcow2", qcow2)])], { architecture: "amd64", environment });
    await withStubRegistry({ images: { "disk:1": image } }, async ({ host }) => {
      const env = { IMPORTER_SOURCE: "registry", IMPORTER_ENDPOINT: `docker://${host}/disk:1`, INSECURE_TLS: "true" };
      await withPlace(env, ({ status, message = "", lines }) => {
        assert.equal(status, 0);
        assert.ok(Buffer.byteLength(message) <= 4096);
        const { labels, message: text } = JSON.parse(message) as { labels: Record<string, string>; message: string };
        assert.equal(text, "Import Complete");
        assert.equal(Object.keys(labels)[0], "kubevirt.io/label-1000");
        assert.ok(Object.keys(labels).length > 50);
        assert.ok(lines.includes("labels do not fit the termination message"));
      });
    });
  });
});

describe("a file that is removed in the middle of its import, and restored", () => {
  it("fails one attempt, and the next one succeeds", async () => {
    let isGone = false;
    const misdeed = (number: number): Misdeed | undefined => {
      if (number === 1) return { cutAfter: MIB, ignoresRange: true };
      return isGone ? { status: 404 } : undefined;
    };
    await withServer({ bytes: zlib.gzipSync(disk, { level: 0 }), etag: '"v1"', misdeed }, async ({ origin }) => {
      await withTemporaryFolder(async (folder) => {
        const place = workerPlace(folder);
        const env = { IMPORTER_SOURCE: "http", IMPORTER_ENDPOINT: `${origin}/disk.raw.gz` };
        isGone = true;
        const failed = await runWorker(place, { env });
        assert.equal(failed.status, 1);
        assert.match(failed.message ?? "", /failed to pull image: .* answers 404 Not Found \[SOURCE_NOT_FOUND\]$/);
        assert.deepEqual(leftIn(place), []);
        isGone = false;
        const { status, log } = await runWorker(place, { env });
        assert.equal(status, 0, log);
        assert.ok(fs.readFileSync(path.join(place.data, "disk.img")).equals(disk));
      });
    });
  });
});
