/**
 * Formats of disks through the worker, over https with an authority of the claim's own, and by the sources that read ranges
 * or extents of their own. All pairs of formats, wrappers and sources are poured elsewhere; these are those that tests of CDI
 * import.
 */
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { describe, it } from "node:test";
import { baseDisk } from "../support/base-disk.ts";
import { makeAuthority } from "../support/certificates.ts";
import { withProxy } from "../support/http-proxy.ts";
import { sampleBytes } from "../support/images.ts";
import { withServer } from "../support/misbehaving-server.ts";
import { importEnvironment, withOvirt } from "../support/ovirt-engine.ts";
import { withTemporaryFolder } from "../support/temporary-folder.ts";
import { requireTools } from "../support/tools.ts";
import { leftIn, runWorker, workerPlace } from "../support/worker.ts";

const COMPLETE = '{"scratchSpaceRequired":false,"preallocationApplied":false,"message":"Import Complete"}';
const patterned = sampleBytes("raw/patterned.raw");

type Env = Readonly<Record<string, string>>;

async function gives(env: Env, expected: Buffer): Promise<string> {
  return await withTemporaryFolder(async (folder) => {
    const place = workerPlace(folder);
    const { status, message, log } = await runWorker(place, { env: { HOME: folder, ...env } });
    assert.deepEqual([status, message], [0, COMPLETE], log);
    assert.deepEqual(leftIn(place), ["disk.img"]);
    const disk = fs.readFileSync(path.join(place.data, "disk.img"));
    assert.ok(disk.subarray(0, expected.length).equals(expected), "the disk is another");
    assert.ok(
      disk.subarray(expected.length).equals(Buffer.alloc(disk.length - expected.length)),
      "the rest is no zeros",
    );
    return log;
  });
}

describe(
  "over https, with certificates in a file of an odd name",
  { skip: requireTools("openssl"), concurrency: 2 },
  () => {
    for (const name of [
      "vmdk/monolithic-sparse.vmdk",
      "vmdk/stream-optimized.vmdk",
      "vdi/dynamic.vdi",
      "vdi/static.vdi",
      "vpc/dynamic.vhd",
      "vpc/fixed.vhd",
      "vhdx/dynamic.vhdx",
      "qcow2/zstd.qcow2",
      "zstd/patterned.raw.zst",
      "xz/patterned.qcow2.xz",
    ]) {
      it(name, async () => {
        await withTemporaryFolder(async (keys) => {
          const authority = makeAuthority(keys);
          const certs = path.join(keys, "certs");
          fs.mkdirSync(certs);
          fs.writeFileSync(path.join(certs, "my odd (1) name"), authority.certificate);
          await withServer({ bytes: sampleBytes(name), tls: authority.issue("IP:127.0.0.1") }, async ({ origin }) => {
            const env = { IMPORTER_SOURCE: "http", IMPORTER_ENDPOINT: `${origin}/disk`, IMPORTER_CERT_DIR: certs };
            await gives(env, patterned);
          });
        });
      });
    }
  },
);

describe("Google Cloud Storage", { skip: requireTools("openssl") }, () => {
  it("is asked as anybody where no credentials are given, whatever the node has", async () => {
    await withTemporaryFolder(async (keys) => {
      const authority = makeAuthority(keys);
      const certs = path.join(keys, "certs");
      fs.mkdirSync(certs);
      fs.writeFileSync(path.join(certs, "ca.crt"), authority.certificate);
      const tls = authority.issue("DNS:storage.googleapis.com");
      await withServer({ bytes: patterned, tls }, async (google) => {
        await withServer({ bytes: Buffer.from("{}") }, async (metadata) => {
          await withProxy({ leadsTo: Number(new URL(google.origin).port) }, async (proxy) => {
            const env = {
              IMPORTER_SOURCE: "gcs",
              IMPORTER_ENDPOINT: "gs://bucket/folder/disk",
              IMPORTER_CERT_DIR: certs,
              https_proxy: `http://${proxy.host}`,
              GCE_METADATA_HOST: new URL(metadata.origin).host,
            };
            await gives(env, patterned);
            assert.deepEqual([google.requests[0]?.path, metadata.requests], ["/bucket/folder/disk", []]);
            assert.equal(google.requests[0]?.headers.authorization, undefined);
          });
        });
      });
    });
  });

  it("gives a raw disk and a qcow2", async () => {
    for (const name of ["raw/patterned.raw", "qcow2/plain.qcow2"]) {
      await withServer({ bytes: sampleBytes(name), etag: '"v1"' }, async ({ origin }) => {
        await gives({ IMPORTER_SOURCE: "gcs", IMPORTER_ENDPOINT: `${origin}/bucket/disk` }, patterned);
      });
    }
  });
});

describe("oVirt", () => {
  it("gives a disk by its extents, and as a stream where it tells of none; both are finished there", async () => {
    const disk = baseDisk(2 * 1024 * 1024);
    for (const features of [["extents"], []]) {
      await withOvirt({ disk, features }, async (engine) => {
        const log = await gives(importEnvironment(engine.endpoint), disk);
        assert.equal(
          engine.calls.some(({ what }) => what.endsWith("/extents")),
          features.length > 0,
        );
        assert.deepEqual([engine.ended(), engine.complaints], ["finalize", []]);
        for (const secret of engine.secrets) assert.ok(!log.includes(secret));
      });
    }
  });
});
