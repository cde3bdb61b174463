/**
 * The worker and container images: a real registry with passwords and certificates, and one of this process that serves what
 * is built for it. Each failure keeps the words by which controllers know that an image cannot be pulled.
 */
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { describe, it } from "node:test";
import zlib from "node:zlib";
import { buildImage, buildIndex, buildLayer, file } from "../support/build-image.ts";
import type { BuiltImage, BuiltLayer } from "../support/build-image.ts";
import { buildTar } from "../support/build-tar.ts";
import { makeAuthority } from "../support/certificates.ts";
import { HTPASSWD, pushImage, withDockerRegistry } from "../support/docker-registry.ts";
import { sampleBytes } from "../support/images.ts";
import { withStubRegistry } from "../support/stub-registry.ts";
import { withTemporaryFolder } from "../support/temporary-folder.ts";
import { requireTools } from "../support/tools.ts";
import { leftIn, runWorker, workerPlace } from "../support/worker.ts";
import type { WorkerPlace, WorkerResult } from "../support/worker.ts";

const REGISTRY =
  "Unable to process data: Unable to transfer source data to scratch space: Failed to read registry image: ";
const PULL = `${REGISTRY}failed to pull image: `;

const qcow2 = sampleBytes("qcow2/zlib.qcow2");
const disk = sampleBytes("raw/patterned.raw");

type Env = Readonly<Record<string, string>>;

async function imported(env: Env, check: (result: WorkerResult, place: WorkerPlace) => void): Promise<void> {
  await withTemporaryFolder(async (folder) => {
    const place = workerPlace(folder);
    const result = await runWorker(place, { env: { HOME: folder, IMPORTER_SOURCE: "registry", ...env } });
    assert.doesNotMatch(result.log + (result.message ?? ""), /hunter2/);
    check(result, place);
  });
}

async function gives(env: Env, expected: Buffer = disk): Promise<void> {
  await imported(env, ({ status, message, log }, { data }) => {
    assert.equal(status, 0, message ?? log);
    const bytes = fs.readFileSync(path.join(data, "disk.img"));
    assert.ok(bytes.subarray(0, expected.length).equals(expected), "the disk is another");
  });
}

async function refuses(env: Env, text: RegExp): Promise<void> {
  await imported(env, ({ status, message, log }, place) => {
    assert.equal(status, 1, log);
    assert.match(message ?? "", text);
    assert.deepEqual(leftIn(place), []);
  });
}

/** Of the layers alone. */
function imageOf(...layers: readonly BuiltLayer[]): BuiltImage {
  return buildImage(layers, { architecture: "amd64" });
}

function imageWith(name: string, content: Uint8Array): BuiltImage {
  return imageOf(buildLayer([file(name, content)]));
}

describe("docker-registry", { skip: requireTools("docker-registry", "openssl") }, () => {
  it("is shown a password, and believed by certificates in files of any name or for no check at all", async () => {
    await withTemporaryFolder(async (folder) => {
      const authority = makeAuthority(folder);
      const [store, certs] = ["store", "certs"].map((name) => path.join(folder, name)) as [string, string];
      fs.mkdirSync(store);
      fs.mkdirSync(certs);
      await withDockerRegistry(store, {}, async ({ host }) => {
        await pushImage(host, "disks/fedora", "41", imageWith("disk/disk.qcow2", qcow2));
        await gives({ IMPORTER_ENDPOINT: `docker://${host}/disks/fedora:41` });
      });
      const settings = { tls: authority.issue("IP:127.0.0.1"), htpasswd: HTPASSWD };
      await withDockerRegistry(store, settings, async ({ host }) => {
        const endpoint = { IMPORTER_ENDPOINT: `docker://${host}/disks/fedora:41` };
        const password = { IMPORTER_ACCESS_KEY_ID: "me", IMPORTER_SECRET_KEY: "hunter2" };
        for (const name of ["tls.crt", "ca.pem", "my odd name"]) {
          fs.writeFileSync(path.join(certs, name), authority.certificate);
          await gives({ ...endpoint, ...password, IMPORTER_CERT_DIR: certs });
          fs.rmSync(path.join(certs, name));
        }
        await gives({ ...endpoint, ...password, INSECURE_TLS: "true" });
        fs.writeFileSync(path.join(certs, "other.pem"), settings.tls.cert);
        for (const given of [{}, { IMPORTER_CERT_DIR: certs }]) {
          await refuses(
            { ...endpoint, ...password, ...given },
            new RegExp(`^${PULL}the TLS connection to ${host} was refused: .* \\[SOURCE_TLS\\]$`),
          );
        }
        for (const given of [{}, { IMPORTER_ACCESS_KEY_ID: "me" }, { ...password, IMPORTER_SECRET_KEY: "hunter" }]) {
          const denied = new RegExp(`^${PULL}reading manifest 41 in ${host}/disks/fedora: .* \\[SOURCE_DENIED\\]$`);
          await refuses({ ...endpoint, ...given, INSECURE_TLS: "true" }, denied);
        }
      });
    });
  });
});

describe("a container image", { concurrency: 2 }, () => {
  const tar = Buffer.from(buildTar([file("inside.raw", disk)]));
  const platform = (architecture: string, content: Buffer): Parameters<typeof buildIndex>[0][number] => ({
    image: buildImage([buildLayer([file("disk/disk.raw", content)])], { architecture }),
    fields: { platform: { architecture, os: "linux" } },
  });
  const images = {
    "raw:1": imageWith("disk/disk.img", disk),
    "blank:1": imageWith("disk/my disk ü.img", disk),
    "packed:1": imageWith("disk/disk.qcow2.gz", zlib.gzipSync(qcow2)),
    "tar:1": imageWith("disk/disk.tar", tar),
    "upper:1": imageOf(
      buildLayer([file("disk/disk.img", "the old one")]),
      buildLayer([file("disk/disk.img", disk)], "none"),
    ),
    "several:1": buildIndex([platform("amd64", disk), platform("arm64", disk.subarray(4096))]),
    "none:1": imageWith("etc/disk.img", disk),
    "two:1": imageOf(buildLayer([file("disk/a.img", disk), file("disk/b.img", disk)])),
    "bootc:1": buildImage([buildLayer([])], { architecture: "amd64", labels: { "containers.bootc": "1" } }),
    "qcow2:1": imageWith("disk/disk.qcow2", qcow2),
  };

  /** By its name, with a registry that knows plain http only. */
  async function withImages(use: (endpoint: (name: string) => Env) => Promise<void>): Promise<void> {
    await withStubRegistry({ images }, async ({ host }) => {
      await use((name) => ({ IMPORTER_ENDPOINT: `docker://${host}/${name}:1`, INSECURE_TLS: "true" }));
    });
  }

  it("may hold a disk of any kind, packed or not, in any layer, under any name", async () => {
    await withImages(async (endpoint) => {
      for (const name of ["raw", "blank", "packed", "upper"]) await gives(endpoint(name));
    });
  });

  it("whose disk is a tar gives the tar, and to our own controller the disk in it", async () => {
    await withImages(async (endpoint) => {
      await gives(endpoint("tar"), tar);
      await gives({ ...endpoint("tar"), DECANT_CONTROLLER: "1" }, disk);
    });
  });

  it("for several architectures gives the one that is asked for, or names those that there are", async () => {
    await withImages(async (endpoint) => {
      await gives({ ...endpoint("several"), IMPORTER_REGISTRY_IMAGE_ARCHITECTURE: "arm64" }, disk.subarray(4096));
      await gives({ ...endpoint("several"), IMPORTER_REGISTRY_IMAGE_ARCHITECTURE: "amd64" });
      await refuses(
        { ...endpoint("several"), IMPORTER_REGISTRY_IMAGE_ARCHITECTURE: "s390x" },
        new RegExp(
          `^${REGISTRY}Error retrieving image: choosing image instance: no image found in image index for architecture "s390x", variant "", OS "linux"\\. ` +
            `It has "linux/amd64", "linux/arm64"\\. \\[FORMAT_UNSUPPORTED\\]$`,
        ),
      );
    });
  });

  it("without a disk, with two, or of a whole system is refused", async () => {
    await withImages(async (endpoint) => {
      for (const [name, text] of [
        ["none", new RegExp(`^${REGISTRY}Failed to find VM disk image file in the container image`)],
        ["two", /the container image holds 2 files in its folder \/disk: "disk\/a\.img", "disk\/b\.img"/],
        ["bootc", new RegExp(`^${REGISTRY}bootc image detected: `)],
      ] as const) {
        await refuses(endpoint(name), text);
      }
    });
  });

  it("whose disk is larger than the volume is refused, for our own controller for good", async () => {
    const words = /is larger than the reported available storage 2097152\. A larger PVC is required: .* would work/;
    await withImages(async (endpoint) => {
      for (const name of ["raw", "qcow2"]) {
        const env = { ...endpoint(name), IMPORTER_IMAGE_SIZE: "2Mi" };
        await refuses(env, words);
        await imported({ ...env, DECANT_CONTROLLER: "1" }, ({ status, message = "" }) => {
          assert.equal(status, 0);
          const { code, terminal } = JSON.parse(message) as { code: string; terminal: boolean };
          assert.deepEqual([code, terminal], ["TARGET_TOO_SMALL", true]);
          assert.match(message, words);
        });
      }
    });
  });
});

describe("a container image that cannot be pulled", { concurrency: 2 }, () => {
  const images = { "disks/fedora:41": imageWith("disk/disk.qcow2", qcow2) };

  it("is told from other failures by the contract's words", async () => {
    await withStubRegistry(
      {
        images,
        misdeed: (asked, number) => {
          if (!asked.includes("/blobs/")) return undefined;
          return number > 6 ? { status: 404 } : { cutAfter: 1000 };
        },
      },
      async ({ host }) => {
        const env = { IMPORTER_ENDPOINT: `docker://${host}/disks/fedora:41`, INSECURE_TLS: "true" };
        await refuses(env, new RegExp(`^${PULL}.* answers 404 Not Found \\[SOURCE_NOT_FOUND\\]$`));
      },
    );
    await refuses(
      { IMPORTER_ENDPOINT: "docker://registry.invalid/disks/fedora:41" },
      new RegExp(`^${PULL}cannot read https://registry\\.invalid/v2/disks/fedora/manifests/41: .*ENOTFOUND`),
    );
    await refuses(
      { IMPORTER_ENDPOINT: "oci-archive:/nowhere.tar" },
      new RegExp(`^${PULL}there is no file /nowhere\\.tar`),
    );
  });
});
