/**
 * Formats and compressions out of every source but http, which ranges.test.ts has: the same disk, nothing beside it, one
 * process; and what `inspect` and `map` say of an image is the same wherever it is. Of the sources quick stubs, and one row
 * for each of real ones.
 */
import assert from "node:assert/strict";
import { randomFillSync } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { describe, it } from "node:test";
import * as inspect from "../../cmd/inspect.ts";
import * as map from "../../cmd/map.ts";
import type { ConvertResult } from "../../cmd/convert.ts";
import { baseDisk } from "../support/base-disk.ts";
import { buildArtifact, buildImage, buildLayer, file, ociArchive } from "../support/build-image.ts";
import type { BuiltImage, Compression } from "../support/build-image.ts";
import { runCommand } from "../support/command-io.ts";
import type { Command } from "../support/command-io.ts";
import { convertAlone } from "../support/convert-alone.ts";
import { pushImage, withDockerRegistry } from "../support/docker-registry.ts";
import { EVERY_COMPRESSION, EVERY_FORMAT, imageIn } from "../support/every-image.ts";
import type { ImageFormat } from "../support/every-image.ts";
import { withFakeGcs } from "../support/fake-gcs.ts";
import { goProgram } from "../support/go-programs.ts";
import { withServer } from "../support/misbehaving-server.ts";
import type { SeenRequest } from "../support/misbehaving-server.ts";
import { withStubRegistry } from "../support/stub-registry.ts";
import { withTemporaryFolder } from "../support/temporary-folder.ts";
import { requireTools } from "../support/tools.ts";
import { withVersitygw } from "../support/versitygw.ts";

const MIB = 1024 * 1024;

/** A name on the command line, and what else the program is told. */
interface Named {
  readonly source: string;
  readonly env?: Readonly<Record<string, string>>;
  /** What the server was asked so far; undefined: there is none. */
  readonly requests?: readonly SeenRequest[];
}

interface SourceRow {
  readonly name: string;
  /** The image's bytes pass once, in order: somebody vouches for all of them, or they are in a layer. */
  readonly isStream: boolean;
  readonly serve: (image: Buffer, use: (named: Named) => Promise<void>) => Promise<void>;
}

function containerImage(disk: Buffer, compression: Compression): BuiltImage {
  return buildImage([buildLayer([file("disk/image", disk)], compression)]);
}

function artifact(disk: Buffer): BuiltImage {
  return buildArtifact([{ bytes: disk, diffId: "", mediaType: "application/vnd.test.disk" }]);
}

async function inRegistry(image: BuiltImage, use: (named: Named) => Promise<void>): Promise<void> {
  await withStubRegistry({ images: { "a:v1": image } }, async ({ host, requests }) => {
    await use({ source: `docker://${host}/a:v1`, requests });
  });
}

const AWS = { AWS_ACCESS_KEY_ID: "key", AWS_SECRET_ACCESS_KEY: "secret" };

const SOURCES: readonly SourceRow[] = [
  {
    name: "S3",
    isStream: false,
    serve: async (bytes, use) => {
      await withServer({ bytes, etag: '"v1"' }, async ({ origin, requests }) => {
        await use({ source: "s3://bucket/image", env: { ...AWS, AWS_ENDPOINT_URL: origin }, requests });
      });
    },
  },
  {
    name: "Google Cloud Storage",
    isStream: false,
    serve: async (bytes, use) => {
      await withServer({ bytes, etag: '"v1"' }, async ({ origin, requests }) => {
        await use({ source: "gs://bucket/image", env: { STORAGE_EMULATOR_HOST: origin }, requests });
      });
    },
  },
  {
    name: "a container image",
    isStream: true,
    serve: async (disk, use) => await inRegistry(containerImage(disk, "zstd"), use),
  },
  { name: "an artifact", isStream: true, serve: async (disk, use) => await inRegistry(artifact(disk), use) },
  {
    name: "an archive of a container image",
    isStream: true,
    serve: async (disk, use) => {
      await withTemporaryFolder(async (folder) => {
        const archive = path.join(folder, "image.tar");
        fs.writeFileSync(archive, ociArchive(containerImage(disk, "gzip")));
        await use({ source: `oci-archive:${archive}` });
      });
    },
  },
];

/** As it is, or compressed as a whole. */
const VARIANTS = ["bare", ...(Object.keys(EVERY_COMPRESSION) as (keyof typeof EVERY_COMPRESSION)[])] as const;

/** Large enough for ranges, in every format and compression. */
const disk = baseDisk(6 * MIB);
randomFillSync(disk, MIB, 4.25 * MIB);

/** The others are read out of http in ranges.test.ts. */
const FORMATS = EVERY_FORMAT.filter(({ format }) => ["raw", "qcow2", "vmdk", "vhdx"].includes(format));

const images = new Map<ImageFormat, ReturnType<typeof imageIn>>();

/** Made once. */
function imageOfDisk(row: ImageFormat): ReturnType<typeof imageIn> {
  const made = images.get(row) ?? imageIn(row, disk);
  images.set(row, made);
  return made;
}

async function pours({ source, env = {} }: Named, expected: Buffer, row: ImageFormat): Promise<ConvertResult> {
  const result = await convertAlone(["--threads", "2", source], expected, env);
  assert.equal(result.format, row.format);
  assert.deepEqual(result.warnings, []);
  return result;
}

const skip = requireTools("qemu-img", "xz", "zstd");

for (const [s, { name: sourceName, serve }] of SOURCES.entries()) {
  describe(`${sourceName} gives`, { skip }, () => {
    for (const [f, row] of FORMATS.entries()) {
      const variant = VARIANTS[(s + f) % VARIANTS.length] ?? "bare";

      it(`${row.name}, ${variant}`, async () => {
        const { image, raw } = imageOfDisk(row);
        await serve(variant === "bare" ? image : EVERY_COMPRESSION[variant](image), async (named) => {
          const { wrappers } = await pours(named, raw, row);
          assert.equal(wrappers.length, variant === "bare" ? 0 : 1);
          if (named.requests === undefined) return;
          const ranges = named.requests.filter(({ headers }) => headers.range !== undefined).length;
          assert.ok(ranges > 0, "no request for a range");
        });
      });
    }
  });
}

/** What a command prints of a source, without the source's name. */
async function printed(command: Command, { source, env = {} }: Named): Promise<unknown> {
  const { status, stdout, stderr } = await runCommand(command, ["--json", source], { env });
  assert.equal(status, 0, stderr + stdout);
  const value: unknown = JSON.parse(stdout);
  return Array.isArray(value) ? value : { ...(value as object), source: "" };
}

/** Of which only the end of a stream tells how large they are, and of the second what it is. */
const OPEN_ENDED: readonly string[] = ["raw", "vhd, fixed"];

/** What stands in the place of what is said of the file, where an open-ended one is a stream. */
async function saidOfStream(command: Command, ofFile: unknown, file: string): Promise<unknown> {
  // For map a stream is laid down in a temporary file, with holes for zeros.
  if (command === map) return await printed(map, { source: `${file}.gz` });
  return { ...(ofFile as object), format: "raw", features: [], virtualSize: null };
}

describe("inspect and map say of an image what they say of the file:", { skip }, () => {
  for (const name of ["raw", "qcow2 with zlib", "vmdk, stream-optimized", "vhdx", "vhd, fixed"]) {
    it(name, async () => {
      const row = formatNamed(name);
      const { image } = imageOfDisk(row);
      await withTemporaryFolder(async (folder) => {
        const local = path.join(folder, "image");
        fs.writeFileSync(local, image);
        fs.writeFileSync(`${local}.gz`, EVERY_COMPRESSION.gz(image));
        for (const command of [inspect, map]) {
          const ofFile = await printed(command, { source: local });
          const ofStream = OPEN_ENDED.includes(name) ? await saidOfStream(command, ofFile, local) : ofFile;
          for (const { name: sourceName, isStream, serve } of SOURCES) {
            await serve(image, async (named) => {
              assert.deepEqual(await printed(command, named), isStream ? ofStream : ofFile, sourceName);
            });
          }
        }
      });
    });
  }

  it("compressed", async () => {
    const gz = EVERY_COMPRESSION.gz(imageOfDisk(formatNamed("qcow2")).image);
    await withTemporaryFolder(async (folder) => {
      const local = path.join(folder, "image.gz");
      fs.writeFileSync(local, gz);
      for (const command of [inspect, map]) {
        const expected = await printed(command, { source: local });
        for (const { name, serve } of SOURCES) {
          await serve(gz, async (named) => assert.deepEqual(await printed(command, named), expected, name));
        }
      }
    });
  });
});

const versitygw = await goProgram("versitygw");
const fakeGcs = await goProgram("fake-gcs-server");

function formatNamed(wanted: string): ImageFormat {
  const row = EVERY_FORMAT.find(({ name }) => name === wanted);
  assert.ok(row !== undefined);
  return row;
}

describe("a real service gives", { skip }, () => {
  it("a vhdx in xz: versitygw", { skip: versitygw.skip }, async () => {
    const row = formatNamed("vhdx");
    const { image, raw } = imageOfDisk(row);
    await withVersitygw(versitygw.path, "bucket", async ({ endpoint, credentials, put }) => {
      await put("bucket/disk.vhdx.xz", EVERY_COMPRESSION.xz(image));
      const env = {
        AWS_ENDPOINT_URL: endpoint,
        AWS_ACCESS_KEY_ID: credentials.accessKeyId,
        AWS_SECRET_ACCESS_KEY: credentials.secretAccessKey,
      };
      assert.deepEqual((await pours({ source: "s3://bucket/disk.vhdx.xz", env }, raw, row)).wrappers, ["xz"]);
    });
  });

  it("a vmdk in zst: fake-gcs-server", { skip: fakeGcs.skip }, async () => {
    const row = formatNamed("vmdk");
    const { image, raw } = imageOfDisk(row);
    await withTemporaryFolder(async (folder) => {
      fs.mkdirSync(path.join(folder, "bucket"));
      fs.writeFileSync(path.join(folder, "bucket", "disk.vmdk.zst"), EVERY_COMPRESSION.zst(image));
      await withFakeGcs(fakeGcs.path, folder, async (endpoint) => {
        const named = { source: "gs://bucket/disk.vmdk.zst", env: { STORAGE_EMULATOR_HOST: endpoint } };
        assert.deepEqual((await pours(named, raw, row)).wrappers, ["zstd"]);
      });
    });
  });

  it("a qcow2 in gz, and a vdi in ranges: docker-registry", { skip: requireTools("docker-registry") }, async () => {
    await withTemporaryFolder(async (folder) => {
      await withDockerRegistry(folder, {}, async ({ host, log }) => {
        const qcow2 = formatNamed("qcow2 with zstd");
        const inLayer = imageOfDisk(qcow2);
        await pushImage(host, "a", "v1", containerImage(EVERY_COMPRESSION.gz(inLayer.image), "zstd"));
        assert.deepEqual((await pours({ source: `docker://${host}/a:v1` }, inLayer.raw, qcow2)).wrappers, ["gzip"]);
        const vdi = formatNamed("vdi");
        const asBlob = imageOfDisk(vdi);
        await pushImage(host, "b", "v1", artifact(asBlob.image));
        await pours({ source: `docker://${host}/b:v1` }, asBlob.raw, vdi);
        assert.match(log(), /http.response.status=206/);
      });
    });
  });
});
