/**
 * Preallocation through the worker, for every source that tests of CDI ask it of: the message says that the space is taken,
 * and it is. Nothing is said of what was not done.
 */
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { describe, it } from "node:test";
import { baseDisk } from "../support/base-disk.ts";
import { buildImage, buildLayer, file } from "../support/build-image.ts";
import { buildTar } from "../support/build-tar.ts";
import { sampleBytes } from "../support/images.ts";
import { withLoopDevice } from "../support/loop-device.ts";
import { withServer } from "../support/misbehaving-server.ts";
import { importEnvironment, withOvirt } from "../support/ovirt-engine.ts";
import { withStubRegistry } from "../support/stub-registry.ts";
import { withTemporaryFolder } from "../support/temporary-folder.ts";
import { requireLoopDevices } from "../support/tools.ts";
import { leftIn, runWorker, workerPlace } from "../support/worker.ts";
import type { WorkerPlace, WorkerResult } from "../support/worker.ts";

const MIB = 1024 * 1024;
const disk = baseDisk(4 * MIB);
const qcow2 = sampleBytes("qcow2/plain.qcow2");
const qcow2Disk = sampleBytes("raw/patterned.raw");
const iso = sampleBytes("raw/volume.iso");
const tar = Buffer.from(buildTar([file("disk.raw", disk)]));

type Env = Readonly<Record<string, string>>;

/** Runs `use` with the environment that leads to an image, while it is served. */
type Serve = (use: (env: Env) => Promise<void>) => Promise<void>;

interface Row {
  readonly name: string;
  readonly serve: Serve;
  /** The disk's first bytes. */
  readonly disk: Buffer;
  readonly onDevice?: true;
}

const web =
  (bytes: Buffer): Serve =>
  async (use) => {
    await withServer({ bytes, etag: '"v1"' }, async ({ origin }) => {
      await use({ IMPORTER_SOURCE: "http", IMPORTER_ENDPOINT: `${origin}/disk` });
    });
  };

const registry =
  (content: Buffer): Serve =>
  async (use) => {
    const images = {
      "disks/fedora:41": buildImage([buildLayer([file("disk/disk", content)])], { architecture: "amd64" }),
    };
    await withStubRegistry({ images }, async ({ host }) => {
      const endpoint = `docker://${host}/disks/fedora:41`;
      await use({ IMPORTER_SOURCE: "registry", IMPORTER_ENDPOINT: endpoint, INSECURE_TLS: "true" });
    });
  };

const node =
  (bytes: Buffer): Serve =>
  async (use) => {
    await withServer(
      { bytes, misdeed: (_, { url }) => (url === "/info" ? { status: 404 } : undefined) },
      async ({ origin }) => {
        const endpoint = `${origin}/disk.img`;
        await use({ IMPORTER_SOURCE: "http", IMPORTER_ENDPOINT: endpoint, IMPORTER_PULL_METHOD: "node" });
      },
    );
  };

const ovirt: Serve = async (use) => {
  await withOvirt({ disk }, async ({ endpoint }) => {
    await use(importEnvironment(endpoint));
  });
};

const bucket: Serve = async (use) => {
  await withServer({ bytes: qcow2, etag: '"v1"' }, async ({ origin }) => {
    await use({ IMPORTER_SOURCE: "s3", IMPORTER_ENDPOINT: `${origin}/bucket/disk` });
  });
};

const ROWS: readonly Row[] = [
  { name: "an ISO", serve: web(iso), disk: iso, onDevice: true },
  { name: "a qcow2", serve: web(qcow2), disk: qcow2Disk, onDevice: true },
  { name: "a tar as a disk", serve: web(tar), disk: tar, onDevice: true },
  { name: "a container image with a raw disk", serve: registry(disk), disk, onDevice: true },
  { name: "a container image with a qcow2", serve: registry(qcow2), disk: qcow2Disk, onDevice: true },
  { name: "a container beside the worker with a raw disk", serve: node(disk), disk },
  { name: "a container beside the worker with a qcow2", serve: node(qcow2), disk: qcow2Disk },
  { name: "an object", serve: bucket, disk: qcow2Disk },
  { name: "a disk of oVirt", serve: ovirt, disk, onDevice: true },
];

async function imported({ serve }: Pick<Row, "serve">, place: WorkerPlace, more: Env): Promise<WorkerResult> {
  let result: WorkerResult | undefined;
  await serve(async (env) => {
    result = await runWorker(place, { env: { HOME: place.folder, ...env, ...more } });
  });
  if (result === undefined) throw new Error("nothing was served");
  return result;
}

function messageFor(applied: boolean): string {
  return `{"scratchSpaceRequired":false,"preallocationApplied":${applied},"message":"Import Complete"}`;
}

describe("preallocation in a file", { concurrency: 2 }, () => {
  for (const row of ROWS) {
    it(`of ${row.name}`, async () => {
      await withTemporaryFolder(async (folder) => {
        const place = workerPlace(folder);
        const { status, message, log } = await imported(row, place, {
          PREALLOCATION: "true",
          IMPORTER_IMAGE_SIZE: "20Mi",
        });
        assert.deepEqual([status, message], [0, messageFor(true)], log);
        const name = path.join(place.data, "disk.img");
        const { size, blocks } = fs.statSync(name);
        assert.equal(size, 18 * MIB);
        assert.ok(blocks * 512 >= size, `${blocks} blocks`);
        assert.ok(fs.readFileSync(name).subarray(0, row.disk.length).equals(row.disk), "the disk is another");
      });
    });
  }

  it("of no image", async () => {
    await withTemporaryFolder(async (folder) => {
      const place = workerPlace(folder);
      const env = { IMPORTER_SOURCE: "none", PREALLOCATION: "true", IMPORTER_IMAGE_SIZE: "20Mi" };
      const { status, message, log } = await runWorker(place, { env });
      assert.deepEqual([status, message], [0, '{"preallocationApplied":true,"message":"Import Complete"}'], log);
      const { size, blocks } = fs.statSync(path.join(place.data, "disk.img"));
      assert.deepEqual([size, blocks * 512 >= size], [18 * MIB, true]);
    });
  });

  it("of an archive is not claimed", async () => {
    await withTemporaryFolder(async (folder) => {
      const place = workerPlace(folder);
      const env = { PREALLOCATION: "true", IMPORTER_CONTENTTYPE: "archive" };
      const { status, message, log } = await imported({ serve: web(tar) }, place, env);
      assert.deepEqual([status, message], [0, messageFor(false)], log);
      assert.deepEqual(leftIn(place), ["disk.raw"]);
    });
  });
});

describe("preallocation on a device", { skip: requireLoopDevices(), concurrency: 2 }, () => {
  for (const row of ROWS.filter(({ onDevice }) => onDevice)) {
    it(`of ${row.name}: zeros are written, and nothing is given back`, async () => {
      for (const preallocates of [true, false]) {
        await withLoopDevice({ size: 16 * MIB }, async (device, backing) => {
          await withTemporaryFolder(async (folder) => {
            const place = workerPlace(folder, { device });
            const env = { PREALLOCATION: String(preallocates), IMPORTER_IMAGE_SIZE: "16Mi" };
            const { status, message, log } = await imported(row, place, env);
            assert.deepEqual([status, message], [0, messageFor(preallocates)], log);
            assert.ok(fs.readFileSync(backing).subarray(0, row.disk.length).equals(row.disk), "the disk is another");
            const { size, blocks } = fs.statSync(backing);
            // The ISO has no hole that is worth a discard.
            if (preallocates || row.disk !== iso) assert.equal(blocks * 512 >= size, preallocates, `${blocks} blocks`);
          });
        });
      }
    });
  }
});
