/**
 * Node pull as a pod does it: the image's container runs the companion server, the worker beside it imports from there, and
 * the server ends when the worker is done.
 */
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { describe, it } from "node:test";
import { buildImageServer, withImageServer } from "../support/image-server.ts";
import { sampleBytes } from "../support/images.ts";
import { withTemporaryFolder } from "../support/temporary-folder.ts";
import { leftIn, runWorker, workerPlace } from "../support/worker.ts";

const server = await buildImageServer();
const disk = sampleBytes("raw/patterned.raw");

describe("the worker and the image server", { skip: server.skip, concurrency: 2 }, () => {
  for (const [name, image] of [
    ["disk.qcow2", sampleBytes("qcow2/zlib.qcow2")],
    ["50% of my disk?#.img", disk],
  ] as const) {
    it(`import ${name}`, async () => {
      if (server.skip !== false) return;
      await withTemporaryFolder(async (folder) => {
        const [imageFolder, shared] = ["disk", "shared"].map((part) => path.join(folder, part)) as [string, string];
        fs.mkdirSync(imageFolder);
        fs.mkdirSync(shared);
        fs.writeFileSync(path.join(imageFolder, name), image);
        const env = { INSTANCETYPE_KUBEVIRT_IO_DEFAULT_PREFERENCE: "fedora" };
        await withImageServer(server.path, { imageFolder, shared, env }, async (running) => {
          const place = workerPlace(folder);
          const { status, message, log } = await runWorker(place, {
            env: {
              IMPORTER_SOURCE: "http",
              IMPORTER_PULL_METHOD: "node",
              IMPORTER_ENDPOINT: `${running.origin()}/disk.img`,
              IMPORTER_READY_FILE: path.join(shared, "ready"),
              IMPORTER_DONE_FILE: path.join(shared, "done"),
              // A proxy is for other machines.
              http_proxy: "http://127.0.0.1:9",
            },
          });
          assert.equal(status, 0, log);
          assert.match(message ?? "", /"labels":\{"instancetype\.kubevirt\.io\/default-preference":"fedora"\}/);
          assert.deepEqual(leftIn(place), ["disk.img"]);
          assert.ok(fs.readFileSync(path.join(place.data, "disk.img")).equals(disk));
          assert.equal(await running.ended, 0);
          assert.deepEqual(fs.readdirSync(shared), []);
        });
      });
    });
  }
});
