/**
 * Faults of reading registries that users of image importers have reported, each with its input, on the command line and as a
 * pod. Those of the images themselves are in test/e2e/container-images.test.ts.
 */
import assert from "node:assert/strict";
import fs from "node:fs";
import type { IncomingMessage } from "node:http";
import path from "node:path";
import { describe, it } from "node:test";
import { baseDisk } from "../support/base-disk.ts";
import { buildImage, buildLayer, digestOf, file } from "../support/build-image.ts";
import type { Misdeed } from "../support/misbehaving-server.ts";
import { runDecant } from "../support/run-decant.ts";
import { challenge, withStubRegistry } from "../support/stub-registry.ts";
import { withTemporaryFolder } from "../support/temporary-folder.ts";
import { leftIn, runWorker, workerPlace } from "../support/worker.ts";

const disk = baseDisk(1024 * 1024);
const image = buildImage([buildLayer([file("disk/disk.img", disk)])], { architecture: "amd64" });

describe("reported cases of registries", { concurrency: 2 }, () => {
  it("R09 (go-containerregistry#296): a manifest of schema 1 is refused by name, as text too", async () => {
    const manifest = Buffer.from(
      JSON.stringify({ schemaVersion: 1, name: "old", tag: "1", fsLayers: [], history: [] }),
    );
    const digest = digestOf(manifest);
    const old = { blobs: new Map(), manifests: new Map([[digest, manifest]]), digest };
    for (const type of ["application/vnd.docker.distribution.manifest.v1+prettyjws", "text/plain"]) {
      const misdeed = (): Misdeed => ({ headers: { "content-type": type } });
      await withStubRegistry({ images: { "old:1": old }, misdeed }, async ({ host }) => {
        const words =
          /the image has a manifest of Docker's schema 1, which is not supported\. .* \[FORMAT_UNSUPPORTED\]/;
        await withTemporaryFolder(async (folder) => {
          const { status, stderr } = await runDecant(["convert", `docker://${host}/old:1`, path.join(folder, "disk")]);
          assert.equal(status, 3);
          assert.match(stderr, words);
          const place = workerPlace(folder);
          const env = { HOME: folder, IMPORTER_SOURCE: "registry", IMPORTER_ENDPOINT: `docker://${host}/old:1` };
          const result = await runWorker(place, { env });
          assert.equal(result.status, 1);
          assert.match(result.message ?? "", words);
          assert.deepEqual(leftIn(place), []);
        });
      });
    }
  });

  it("R11 (CDI#1992, CDI#2105): a pull secret is taken as it is", async () => {
    const basic = `Basic ${Buffer.from("me:hunter2").toString("base64")}`;
    const misdeed = (_: string, __: number, { headers }: IncomingMessage): Misdeed | undefined =>
      headers.authorization === basic ? undefined : challenge('Basic realm="images"');
    await withStubRegistry({ images: { "disk:1": image }, misdeed }, async ({ host }) => {
      const auth = Buffer.from("me:hunter2").toString("base64");
      const secret = JSON.stringify({ auths: { [host]: { auth }, "other.example": { auth: "bmE6bmE=" } } });
      await withTemporaryFolder(async (folder) => {
        fs.mkdirSync(path.join(folder, ".docker"));
        fs.writeFileSync(path.join(folder, ".docker", "config.json"), secret);
        const target = path.join(folder, "disk.raw");
        const env = { HOME: folder, REGISTRY_AUTH_FILE: "", XDG_RUNTIME_DIR: "" };
        const poured = await runDecant(["convert", `docker://${host}/disk:1`, target], { env });
        assert.equal(poured.status, 0, poured.stderr);
        assert.ok(fs.readFileSync(target).equals(disk));
        fs.rmSync(path.join(folder, ".docker"), { recursive: true });
        const imported = await runWorker(workerPlace(folder), {
          env: {
            HOME: folder,
            IMPORTER_SOURCE: "registry",
            IMPORTER_ENDPOINT: `docker://${host}/disk:1`,
            IMPORTER_SECRET_KEY: secret,
          },
        });
        assert.equal(imported.status, 0, imported.log);
        assert.ok(fs.readFileSync(path.join(folder, "data", "disk.img")).equals(disk));
        assert.ok(!(imported.log + poured.stderr).includes(auth), "the secret is told");
      });
    });
  });
});
