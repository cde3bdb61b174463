import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { describe, it } from "node:test";
import { promisify } from "node:util";
import { pushDisk } from "../../bench/registry-image.ts";
import { withServers } from "../../bench/servers.ts";
import { goProgram } from "../support/go-programs.ts";
import { runDecant } from "../support/run-decant.ts";
import { isListening } from "../support/server-process.ts";
import { withTemporaryFolder } from "../support/temporary-folder.ts";
import { requireTools } from "../support/tools.ts";

const CONTENT = Buffer.from("the bytes of an image ".repeat(1000));

const toxiproxy = await goProgram("toxiproxy-server");

/** With an image in the folder `images`. */
async function withImage(use: (images: string, registry: string) => Promise<void>): Promise<void> {
  await withTemporaryFolder(async (folder) => {
    const images = path.join(folder, "images");
    fs.mkdirSync(images);
    fs.writeFileSync(path.join(images, "disk.raw"), CONTENT);
    await use(images, path.join(folder, "registry"));
  });
}

async function fetched(url: string): Promise<Buffer> {
  return Buffer.from(await (await fetch(url)).arrayBuffer());
}

describe("withServers", { skip: requireTools("nginx") || toxiproxy.skip }, () => {
  it("serves a folder, near and far, until it is done", async () => {
    const ports: number[] = [];
    await withImage(async (images, registry) => {
      await withServers(images, registry, new Set(["http 20 ms"]), async ({ urlOf }) => {
        const urls = (["http", "http 20 ms"] as const).map((place) => urlOf("disk.raw", place));
        assert.notEqual(urls[0], urls[1]);
        for (const url of urls) {
          assert.ok((await fetched(url)).equals(CONTENT), url);
          ports.push(Number(new URL(url).port));
        }
      });
      assert.deepEqual(fs.readdirSync(images), ["disk.raw"]);
    });
    assert.equal(ports.length, 2);
    for (const port of ports) assert.equal(await isListening(port), false, `port ${port}`);
  });

  it("starts nothing that nobody asked for", async () => {
    await withImage(async (images, registry) => {
      await withServers(images, registry, new Set(["local"]), (servers) => {
        assert.throws(() => servers.urlOf("disk.raw", "http"), /was not asked for/);
        assert.throws(() => servers.registry(), /was not asked for/);
        return Promise.resolve();
      });
      assert.ok(!fs.existsSync(registry));
    });
  });
});

describe("pushDisk", { skip: requireTools("docker-registry", "skopeo", "tar", "gzip") }, () => {
  it("pushes a layer that holds the disk, once", async () => {
    await withImage(async (images, folder) => {
      const said: string[] = [];
      const [image, target] = [path.join(images, "disk.raw"), path.join(images, "target.raw")];
      for (let time = 0; time < 2; time++) {
        await withServers(images, folder, new Set(["registry"]), async ({ registry }) => {
          const name = await pushDisk(registry(), folder, image, (text) => said.push(text));
          const args = ["inspect", "--raw", "--tls-verify=false", name];
          const { stdout } = await promisify(execFile)("skopeo", args);
          const { layers } = JSON.parse(stdout) as { readonly layers: readonly { readonly mediaType: string }[] };
          const types = layers.map(({ mediaType }) => mediaType);
          assert.deepEqual(types, ["application/vnd.oci.image.layer.v1.tar+gzip"]);
          const poured = await runDecant(["convert", "--force", name, target]);
          assert.equal(poured.status, 0, poured.stderr);
          assert.ok(fs.readFileSync(target).subarray(0, CONTENT.length).equals(CONTENT));
        });
      }
      assert.deepEqual(said, [`pushing ${image}`]);
      assert.deepEqual(fs.readdirSync(folder).sort(), ["data", "registry.yml"]);
    });
  });
});
