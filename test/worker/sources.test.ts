/**
 * The worker with every other source than http: that the configuration reaches it, how it succeeds, and in which words it
 * fails. What each source can do is tested with the source.
 */
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { describe, it } from "node:test";
import { baseDisk } from "../support/base-disk.ts";
import { buildImage, buildLayer } from "../support/build-image.ts";
import { sampleBytes } from "../support/images.ts";
import { withServer } from "../support/misbehaving-server.ts";
import { withStubRegistry } from "../support/stub-registry.ts";
import { withTemporaryFolder } from "../support/temporary-folder.ts";
import { leftIn, runWorker, workerPlace } from "../support/worker.ts";
import type { WorkerPlace, WorkerResult } from "../support/worker.ts";

const COMPLETE = '{"scratchSpaceRequired":false,"preallocationApplied":false,"message":"Import Complete"}';
const REGISTRY =
  "Unable to process data: Unable to transfer source data to scratch space: Failed to read registry image: ";

const disk = baseDisk(2 * 1024 * 1024);
const image = sampleBytes("qcow2/zlib.qcow2");
const containerDisk = buildImage([buildLayer([{ name: "disk/disk.qcow2", content: image }])], {
  architecture: "amd64",
  environment: ["INSTANCETYPE_KUBEVIRT_IO_DEFAULT_PREFERENCE=fedora", "KUBEVIRT_IO_TEST=x", "PATH=/bin"],
});

type Env = Readonly<Record<string, string>>;

async function imported(env: Env, check: (result: WorkerResult, place: WorkerPlace) => void): Promise<void> {
  await withTemporaryFolder(async (folder) => {
    const place = workerPlace(folder);
    check(await runWorker(place, { env: { HOME: folder, ...env } }), place);
  });
}

function checkFailure(text: RegExp): (result: WorkerResult, place: WorkerPlace) => void {
  return ({ status, message, log }, place) => {
    assert.equal(status, 1, log);
    assert.match(message ?? "", text);
    assert.deepEqual(leftIn(place), []);
    assert.doesNotMatch(log + (message ?? ""), /hunter2/);
  };
}

describe("a registry", { concurrency: 2 }, () => {
  const images = { images: { "disks/fedora:41": containerDisk } };

  it("gives the disk of a container image, and its labels", async () => {
    await withStubRegistry(images, async ({ host }) => {
      const env = {
        IMPORTER_SOURCE: "registry",
        IMPORTER_ENDPOINT: `docker://${host}/disks/fedora:41`,
        IMPORTER_REGISTRY_IMAGE_ARCHITECTURE: "amd64",
        INSECURE_TLS: "true",
        IMPORTER_IMAGE_SIZE: "1Gi",
      };
      await imported(env, ({ status, message, log }, place) => {
        assert.equal(status, 0, log);
        assert.equal(
          message,
          '{"scratchSpaceRequired":false,"preallocationApplied":false,' +
            '"labels":{"instancetype.kubevirt.io/default-preference":"fedora","kubevirt.io/test":"x"},"message":"Import Complete"}',
        );
        const file = path.join(place.data, "disk.img");
        assert.equal(fs.statSync(file).size, 1_012_924_416);
        const expected = sampleBytes("raw/patterned.raw");
        const start = Buffer.alloc(expected.length);
        const fd = fs.openSync(file, "r");
        fs.readSync(fd, start);
        fs.closeSync(fd);
        assert.ok(start.equals(expected));
      });
    });
  });

  it("fails in the contract's words", async () => {
    await withStubRegistry(images, async ({ host }) => {
      const source = { IMPORTER_SOURCE: "registry", INSECURE_TLS: "true" };
      const absent = { ...source, IMPORTER_ENDPOINT: `docker://${host}/disks/fedora:40` };
      await imported(absent, checkFailure(new RegExp(`^${REGISTRY}failed to pull image: .* \\[SOURCE_NOT_FOUND\\]$`)));
      const other = {
        ...source,
        IMPORTER_ENDPOINT: `docker://${host}/disks/fedora:41`,
        IMPORTER_REGISTRY_IMAGE_ARCHITECTURE: "arm64",
      };
      const words = `Error validating architecture: manifest image architecture: "amd64" doesn't match requested architecture: "arm64"`;
      await imported(other, checkFailure(new RegExp(`^${REGISTRY}${words}.* \\[[A-Z_]+\\]$`)));
    });
  });
});

describe("S3", { concurrency: 2 }, () => {
  const keys = { IMPORTER_ACCESS_KEY_ID: "key", IMPORTER_SECRET_KEY: "hunter2", IMPORTER_SESSION_TOKEN: "hunter2-too" };

  it("gives an object to a lent key", async () => {
    await withServer({ bytes: disk, etag: '"v1"' }, async ({ origin, requests }) => {
      const env = { IMPORTER_SOURCE: "s3", IMPORTER_ENDPOINT: `${origin}/bucket/disk.raw`, ...keys };
      await imported(env, ({ status, message, log }, place) => {
        assert.deepEqual([status, message], [0, COMPLETE], log);
        assert.ok(fs.readFileSync(path.join(place.data, "disk.img")).equals(disk));
        const headers = requests[0]?.headers ?? {};
        assert.equal(requests[0]?.path, "/bucket/disk.raw");
        assert.match(String(headers["authorization"]), /^AWS4-HMAC-SHA256 Credential=key\//);
        assert.equal(headers["x-amz-security-token"], "hunter2-too");
        assert.doesNotMatch(log, /hunter2/);
      });
    });
  });

  it("fails in the contract's words", async () => {
    await withServer({ bytes: disk, misdeed: () => ({ status: 404 }) }, async ({ origin }) => {
      const env = { IMPORTER_SOURCE: "s3", IMPORTER_ENDPOINT: `${origin}/bucket/disk.raw`, ...keys };
      await imported(
        env,
        checkFailure(/^Unable to connect to s3 data source: could not get s3 object: .* \[SOURCE_NOT_FOUND\]$/),
      );
    });
  });
});

describe("Google Cloud Storage", { concurrency: 2 }, () => {
  it("gives an object to anybody", async () => {
    await withServer({ bytes: disk, etag: '"v1"' }, async ({ origin }) => {
      await imported(
        { IMPORTER_SOURCE: "gcs", IMPORTER_ENDPOINT: `${origin}/bucket/a/disk.raw` },
        ({ status, log }, place) => {
          assert.equal(status, 0, log);
          assert.ok(fs.readFileSync(path.join(place.data, "disk.img")).equals(disk));
        },
      );
    });
  });

  it("fails in the contract's words", async () => {
    await withServer({ bytes: disk, misdeed: () => ({ status: 404 }) }, async ({ origin }) => {
      const env = { IMPORTER_SOURCE: "gcs", IMPORTER_ENDPOINT: `${origin}/bucket/a/disk.raw` };
      await imported(
        env,
        checkFailure(/^Unable to connect to gcs data source: storage: object doesn't exist: .* \[SOURCE_NOT_FOUND\]$/),
      );
    });
  });
});

describe("a hypervisor", { concurrency: 2 }, () => {
  it("of oVirt is asked as the configuration says", async () => {
    await withServer({ bytes: disk, misdeed: () => ({ status: 401 }) }, async ({ origin }) => {
      const env = {
        IMPORTER_SOURCE: "imageio",
        IMPORTER_ENDPOINT: `${origin}/ovirt-engine/api`,
        IMPORTER_DISK_ID: "disk-1",
        IMPORTER_ACCESS_KEY_ID: "me",
        IMPORTER_SECRET_KEY: "hunter2",
      };
      await imported(env, checkFailure(/^Unable to connect to imageio data source: .* \[SOURCE_DENIED\]$/));
    });
  });

  it("of VMware says what is missing", async () => {
    const env = {
      IMPORTER_SOURCE: "vddk",
      IMPORTER_ENDPOINT: "https://vcenter.invalid",
      IMPORTER_UUID: "uuid",
      IMPORTER_BACKING_FILE: "[store] vm/disk.vmdk",
    };
    await imported(env, checkFailure(/^Unable to connect to vddk data source: .* \[USAGE\]$/));
  });
});
