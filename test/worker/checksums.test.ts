/**
 * Checksums of every source that the worker has: what they are of, what is left where one is wrong, and that it is said where
 * one is right. A wrong one is found when the whole image has passed, and has been written: nothing of it may boot.
 */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { describe, it } from "node:test";
import zlib from "node:zlib";
import { baseDisk } from "../support/base-disk.ts";
import { buildArtifact, buildImage, buildLayer, digestOf, file } from "../support/build-image.ts";
import type { BuiltImage } from "../support/build-image.ts";
import { withLoopDevice } from "../support/loop-device.ts";
import { withServer } from "../support/misbehaving-server.ts";
import type { MisbehavingServer, Misdeed } from "../support/misbehaving-server.ts";
import { withNbdServer } from "../support/nbd-server.ts";
import { importEnvironment, withOvirt } from "../support/ovirt-engine.ts";
import { runDecant } from "../support/run-decant.ts";
import { withStubRegistry } from "../support/stub-registry.ts";
import { withTemporaryFolder } from "../support/temporary-folder.ts";
import { requireLoopDevices, requireTools } from "../support/tools.ts";
import { leftIn, runWorker, workerPlace } from "../support/worker.ts";

const MIB = 1024 * 1024;
const COMPLETE = '{"scratchSpaceRequired":false,"preallocationApplied":false,"message":"Import Complete"}';
const MISMATCH = "Unable to transfer source data to scratch space: checksum validation failed: checksum mismatch: ";
const ALGORITHMS = ["md5", "sha1", "sha256", "sha512"] as const;

type Algorithm = (typeof ALGORITHMS)[number];
type Env = Readonly<Record<string, string>>;

/** Long enough for ranges, where a server has them. */
const disk = baseDisk(8 * MIB);
const gz = zlib.gzipSync(disk);

/** A source of `disk`, in some wrapper or none. */
interface Row {
  readonly name: string;
  /** What the checksum is of. */
  readonly stored: Buffer;
  readonly algorithms: readonly Algorithm[];
  readonly serve: (use: (env: Env) => Promise<void>) => Promise<void>;
  readonly skip?: false | string;
  /** Whose ending is like no other's. */
  readonly onDevice?: true;
}

/** @param check looks at what the server was asked */
function web(env: (origin: string) => Env, bytes: Buffer, misdeed: Misdeed = {}, check = assertOneGet): Row["serve"] {
  return async (use) => {
    await withServer({ bytes, etag: '"v1"', misdeed: () => misdeed }, async (server) => {
      await use(env(server.origin));
      check(server);
    });
  };
}

/** Of each run: one GET for all of it, and perhaps ranges in order. */
function assertOneGet({ requests }: MisbehavingServer): void {
  assert.ok(requests.every(({ method }) => method === "GET"));
  assert.ok(requests.some(({ headers }) => headers.range === undefined));
}

function registry(image: BuiltImage): Row["serve"] {
  return async (use) => {
    await withStubRegistry({ images: { "disks/a:v1": image } }, async ({ host }) => {
      await use({
        IMPORTER_SOURCE: "registry",
        IMPORTER_ENDPOINT: `docker://${host}/disks/a:v1`,
        INSECURE_TLS: "true",
      });
    });
  };
}

const ROWS: readonly Row[] = [
  {
    name: "http, as a stream",
    onDevice: true,
    stored: gz,
    algorithms: ALGORITHMS,
    serve: web((origin) => ({ IMPORTER_SOURCE: "http", IMPORTER_ENDPOINT: `${origin}/disk.gz` }), gz, {
      ignoresRange: true,
      headers: { "accept-ranges": "none" },
    }),
  },
  {
    name: "http, from a server that has ranges",
    onDevice: true,
    stored: disk,
    algorithms: ["sha1"],
    serve: web((origin) => ({ IMPORTER_SOURCE: "http", IMPORTER_ENDPOINT: `${origin}/disk` }), disk),
  },
  {
    name: "a container beside the worker",
    stored: gz,
    algorithms: ["sha256"],
    serve: web(
      (origin) => ({
        IMPORTER_SOURCE: "http",
        IMPORTER_ENDPOINT: `${origin}/disk.gz`,
        IMPORTER_PULL_METHOD: "node",
      }),
      gz,
    ),
  },
  {
    name: "S3",
    stored: disk,
    algorithms: ["md5"],
    serve: web((origin) => ({ IMPORTER_SOURCE: "s3", IMPORTER_ENDPOINT: `${origin}/bucket/disk` }), disk),
  },
  {
    name: "Google Cloud Storage",
    stored: gz,
    algorithms: ["sha512"],
    serve: web((origin) => ({ IMPORTER_SOURCE: "gcs", IMPORTER_ENDPOINT: `${origin}/bucket/disk.gz` }), gz),
  },
  {
    name: "a container image: the disk's file in it",
    onDevice: true,
    stored: gz,
    algorithms: ["sha256"],
    serve: registry(buildImage([buildLayer([file("disk/disk.gz", gz), file("README", "more of the layer")])])),
  },
  {
    name: "an artifact: its blob",
    stored: disk,
    algorithms: ["sha512"],
    serve: registry(buildArtifact([{ bytes: disk, diffId: "", mediaType: "application/vnd.test.disk" }])),
  },
  {
    name: "oVirt: the disk's content, holes included",
    onDevice: true,
    stored: disk,
    algorithms: ["sha1"],
    serve: async (use) => {
      await withOvirt({ disk }, async ({ endpoint }) => {
        await use(importEnvironment(endpoint));
      });
    },
  },
  {
    name: "VMware: the disk's content, holes included",
    stored: disk,
    algorithms: ["md5"],
    skip: requireTools("nbdkit"),
    serve: async (use) => {
      await withTemporaryFolder(async (folder) => {
        const raw = path.join(folder, "disk.raw");
        fs.writeFileSync(raw, disk);
        await withNbdServer(folder, ["nbdkit", "file", raw], async (socket) => {
          await use({
            IMPORTER_SOURCE: "vddk",
            IMPORTER_ENDPOINT: "https://vcenter.invalid",
            IMPORTER_UUID: "42161d28",
            IMPORTER_BACKING_FILE: "[store] vm/disk.vmdk",
            DECANT_NBDKIT_SOCKET: socket,
          });
        });
      });
    },
  },
];

function hash(algorithm: Algorithm, bytes: Uint8Array): string {
  return createHash(algorithm).update(bytes).digest("hex");
}

/** One of another image. */
function wrong(algorithm: Algorithm): string {
  return hash(algorithm, Buffer.from("another image"));
}

describe("the checksum of", { concurrency: 3 }, () => {
  for (const { name, stored, algorithms, serve, skip = false } of ROWS) {
    it(`${name}, right`, { skip }, async () => {
      for (const algorithm of algorithms) {
        await serve(async (env) => await passes(env, `${algorithm}:${hash(algorithm, stored)}`));
      }
    });

    it(`${name}, wrong`, { skip }, async () => {
      const [algorithm = "md5"] = algorithms;
      await serve(async (env) => await isRefused(env, algorithm, hash(algorithm, stored)));
    });
  }
});

async function passes(env: Env, checksum: string): Promise<void> {
  await withTemporaryFolder(async (folder) => {
    const place = workerPlace(folder);
    const { status, message, lines, log } = await runWorker(place, { env: { ...env, IMPORTER_CHECKSUM: checksum } });
    assert.deepEqual([status, message], [0, COMPLETE], log);
    assert.ok(lines.includes(`Checksum verification passed: ${checksum}`), log);
    assert.deepEqual(leftIn(place), ["disk.img"]);
    assert.ok(fs.readFileSync(path.join(place.data, "disk.img")).equals(disk));
  });
}

async function isRefused(env: Env, algorithm: Algorithm, actual: string): Promise<void> {
  await withTemporaryFolder(async (folder) => {
    const place = workerPlace(folder);
    const expected = wrong(algorithm);
    const result = await runWorker(place, { env: { ...env, IMPORTER_CHECKSUM: `${algorithm}:${expected}` } });
    assert.equal(result.status, 0, result.log);
    const text = `${MISMATCH}expected ${algorithm}:${expected}, calculated ${algorithm}:${actual} [SOURCE_CHECKSUM]`;
    assert.deepEqual(JSON.parse(result.message ?? ""), { message: `Unable to process data: ${text}` });
    assert.doesNotMatch(result.log, /Checksum verification passed/);
    assert.deepEqual(leftIn(place), []);
  });
}

describe("a device, after a wrong checksum of", { skip: requireLoopDevices(), concurrency: 3 }, () => {
  for (const { name, serve, algorithms } of ROWS.filter((row) => row.onDevice === true)) {
    it(`${name}: has no start and no end of a disk`, async () => {
      await serve(async (env) => {
        await withLoopDevice({ size: 12 * MIB }, async (device, backing) => {
          await withTemporaryFolder(async (folder) => {
            const [algorithm = "md5"] = algorithms;
            const checksum = { IMPORTER_CHECKSUM: `${algorithm}:${wrong(algorithm)}` };
            const { status, message, log } = await runWorker(workerPlace(folder, { device }), {
              env: { ...env, ...checksum },
            });
            assert.equal(status, 0, log);
            assert.match(message ?? "", /^\{"message":".*checksum mismatch: .*\}$/);
            const after = fs.readFileSync(backing);
            const zeros = Buffer.alloc(MIB);
            assert.ok(after.subarray(0, MIB).equals(zeros), "the first MiB");
            assert.ok(after.subarray(-MIB).equals(zeros), "the last MiB");
            assert.ok(after.subarray(MIB, 2 * MIB).equals(disk.subarray(MIB, 2 * MIB)), "it was being written");
          });
        });
      });
    });
  }
});

describe("a digest that a registry vouches for", () => {
  it("and is wrong is told with the layer, and leaves nothing", async () => {
    const layer = buildLayer([file("disk/disk.raw", disk)], "none");
    const image = buildImage([layer]);
    const damaged = Buffer.from(layer.bytes);
    damaged.write("damaged", MIB);
    const digest = digestOf(layer.bytes);
    const settings = {
      images: { "disks/a:v1": { ...image, blobs: new Map([...image.blobs, [digest, damaged] as const]) } },
    };
    await withStubRegistry(settings, async ({ host }) => {
      await withTemporaryFolder(async (folder) => {
        const place = workerPlace(folder);
        const env = {
          IMPORTER_SOURCE: "registry",
          IMPORTER_ENDPOINT: `docker://${host}/disks/a:v1`,
          INSECURE_TLS: "true",
        };
        const { status, message, log } = await runWorker(place, { env });
        assert.equal(status, 0, log);
        const both = `expected ${digest}, calculated ${digestOf(damaged)}`;
        const own = `layer ${digest} has the digest ${digestOf(damaged)}, not ${digest}`;
        assert.ok(message?.includes(`checksum mismatch: ${both}: ${own}`), message);
        assert.deepEqual(leftIn(place), []);
      });
    });
  });
});

describe("decant convert --checksum of standard input", { concurrency: 2 }, () => {
  for (const algorithm of ["md5", "sha512"] as const) {
    it(algorithm, async () => {
      await withTemporaryFolder(async (folder) => {
        const target = path.join(folder, "disk.raw");
        const convert = async (hex: string) => {
          return await runDecant(["convert", "--checksum", `${algorithm}:${hex}`, "-", target], { input: gz });
        };
        const refused = await convert(wrong(algorithm));
        assert.equal(refused.status, 6, refused.stderr);
        assert.match(refused.stderr, new RegExp(`the source's ${algorithm} is ${hash(algorithm, gz)}, not `));
        assert.deepEqual(fs.readdirSync(folder), []);
        const { status, stderr } = await convert(hash(algorithm, gz));
        assert.equal(status, 0, stderr);
        assert.ok(fs.readFileSync(target).equals(disk));
      });
    });
  }
});
