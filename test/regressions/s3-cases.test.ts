/**
 * Faults of reading S3 that users of image importers have reported, each with its input, on the command line and as a pod:
 * CDI is kubevirt/containerized-data-importer.
 */
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { describe, it } from "node:test";
import { baseDisk } from "../support/base-disk.ts";
import { withServer } from "../support/misbehaving-server.ts";
import type { MisbehavingServer, SeenRequest } from "../support/misbehaving-server.ts";
import { runDecant } from "../support/run-decant.ts";
import { withTemporaryFolder } from "../support/temporary-folder.ts";
import { runWorker, workerPlace } from "../support/worker.ts";

const disk = baseDisk(1024 * 1024);

interface Asked {
  readonly url: string;
  readonly options?: readonly string[];
  readonly token?: string;
  readonly proxy?: string;
}

/** Pours by both programs, and gives the first request of each. */
async function pourTwice(server: MisbehavingServer, { url, options = [], token = "", proxy = "" }: Asked) {
  return await withTemporaryFolder(async (folder): Promise<readonly [SeenRequest, SeenRequest]> => {
    const target = path.join(folder, "disk.raw");
    const keys = { AWS_ACCESS_KEY_ID: "key", AWS_SECRET_ACCESS_KEY: "hunter2", AWS_SESSION_TOKEN: token };
    const place = { HOME: folder, http_proxy: proxy, no_proxy: "" };
    const before = server.requests.length;
    const poured = await runDecant(["convert", "--source", "s3", ...options, url, target], {
      env: { ...keys, ...place },
    });
    assert.equal(poured.status, 0, poured.stderr);
    assert.ok(fs.readFileSync(target).equals(disk));
    const between = server.requests.length;
    const imported = await runWorker(workerPlace(folder), {
      env: {
        ...place,
        IMPORTER_SOURCE: "s3",
        IMPORTER_ENDPOINT: url,
        IMPORTER_ACCESS_KEY_ID: "key",
        IMPORTER_SECRET_KEY: "hunter2",
        IMPORTER_SESSION_TOKEN: token,
      },
    });
    assert.equal(imported.status, 0, imported.log);
    assert.ok(fs.readFileSync(path.join(folder, "data", "disk.img")).equals(disk));
    assert.doesNotMatch(poured.stderr + imported.log + imported.message, /hunter/);
    const [ours, theirs] = [server.requests[before], server.requests[between]];
    if (ours === undefined || theirs === undefined) throw new Error("nobody asked");
    return [ours, theirs];
  });
}

function regionOf({ headers }: SeenRequest): string | undefined {
  return /Credential=key\/\d{8}\/([^/]+)\/s3\/aws4_request/.exec(headers.authorization ?? "")?.[1];
}

describe("reported cases of S3", { concurrency: 2 }, () => {
  it("N15 (CDI#2173): an address with a port, and the bucket in its path", async () => {
    await withServer({ bytes: disk, etag: '"v1"' }, async (server) => {
      for (const { path: asked } of await pourTwice(server, { url: `${server.origin}/bucket/a folder/key.raw` })) {
        assert.equal(asked, "/bucket/a%20folder/key.raw");
      }
    });
  });

  it("N16 (CDI#1381, CDI#1395): the region of the name, of the option, or a default, by path and by host", async () => {
    await withServer({ bytes: disk, etag: '"v1"' }, async (server) => {
      // As a proxy it sees the whole URL.
      const proxy = server.origin;
      for (const [url, asked, region] of [
        ["s3.eu-west-3.amazonaws.com/bucket/key", "bucket.s3.eu-west-3.amazonaws.com/key", "eu-west-3"],
        [
          "s3.dualstack.us-west-2.amazonaws.com/bucket/key",
          "bucket.s3.dualstack.us-west-2.amazonaws.com/key",
          "us-west-2",
        ],
        ["bucket.s3.eu-west-1.amazonaws.com/key", "bucket.s3.eu-west-1.amazonaws.com/key", "eu-west-1"],
        ["s3-eu-west-1.amazonaws.com/bucket/key", "bucket.s3.eu-west-1.amazonaws.com/key", "eu-west-1"],
        ["minio.example.com:9000/bucket/key", "minio.example.com:9000/bucket/key", "us-east-1"],
      ] as const) {
        for (const request of await pourTwice(server, { url: `http://${url}`, proxy })) {
          assert.deepEqual([request.path, regionOf(request)], [`http://${asked}`, region]);
        }
      }
      const options = ["--region", "eu-test-1"];
      const [request] = await pourTwice(server, { url: "http://minio.example.com/bucket/key", proxy, options });
      assert.equal(regionOf(request), "eu-test-1");
    });
  });

  it("N18 (CDI#3959): a session token is sent and signed", async () => {
    await withServer({ bytes: disk, etag: '"v1"' }, async (server) => {
      for (const { headers } of await pourTwice(server, { url: `${server.origin}/bucket/key`, token: "hunter3" })) {
        assert.equal(headers["x-amz-security-token"], "hunter3");
        assert.match(headers.authorization ?? "", /SignedHeaders=[^,]*x-amz-security-token/);
      }
    });
  });
});
