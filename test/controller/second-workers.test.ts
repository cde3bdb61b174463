/**
 * An import whose first worker does not do: what the second one is told, when there is one, and that the import then comes to its
 * end, in the whole controller.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { FakeApiServer, Stored } from "../support/fake-api-server.ts";
import {
  assertFilled,
  IMMEDIATE,
  storageDataVolume,
  untilSucceeded,
  withFakeCluster,
} from "../support/fake-cluster.ts";
import { CSI_CLASS, LOCAL_CLASS, NAME, NAMESPACE } from "../support/observed-import.ts";
import { startController, until } from "../support/run-controller.ts";

const GOOD = { exitCode: 0, message: JSON.stringify({ message: "Import Complete" }) };
const TOO_SMALL = { message: "the image has 2 GiB, the volume 1 GiB", code: "TARGET_TOO_SMALL", terminal: true };
const KILLED = { exitCode: 137, reason: "OOMKilled" };

for (const storageClass of [CSI_CLASS, LOCAL_CLASS]) {
  describe(`a second worker, ${storageClass}`, () => {
    it("comes when somebody asks for it, where the first one has ended for good", async () => {
      let ends = 0;
      const endOf = () => (++ends === 1 ? { exitCode: 0, message: JSON.stringify(TOO_SMALL) } : GOOD);
      await withFakeCluster(
        async ({ server, nodes }) => {
          const controller = startController(server.connect());
          server.create(storageDataVolume(storageClass, IMMEDIATE));
          await until(
            () => running(server)?.reason === "Error" && server.all("Pod").length === 0,
            () => JSON.stringify(dataVolume(server)),
          );
          assert.match(running(server).message, /the image has 2 GiB/);
          nodes.filled.clear();
          server.patch(dataVolume(server), { metadata: { annotations: { "decant.dev/retry": "1" } } });
          await untilSucceeded(server);
          await controller.stop();
          assertFilled(server, nodes);
          assert.equal(ends, 2);
        },
        { endOf },
      );
    });

    it("writes past the page cache, where the first one was killed for its memory", async () => {
      let isKilled = false;
      await withFakeCluster(
        async ({ server, nodes }) => {
          const controller = startController(server.connect());
          server.create(storageDataVolume(storageClass, IMMEDIATE));
          const worker = (): Stored | undefined => server.all("Pod")[0];
          await until(
            () => worker()?.["status"].phase === "Running",
            () => JSON.stringify(dataVolume(server)),
          );
          const first = worker() ?? assert.fail();
          isKilled = true;
          const containerStatuses = [{ name: "importer", restartCount: 0, state: { terminated: KILLED } }];
          server.update(first, { status: { phase: "Failed", containerStatuses } });
          await untilSucceeded(server);
          await controller.stop();
          assertFilled(server, nodes);
          const made = server.calls.filter(({ verb, kind }) => verb === "create" && kind === "Pod");
          assert.deepEqual(
            made.map(({ body }) => cacheMode(body)),
            ["", "TRYNONE"],
          );
        },
        { endOf: () => (isKilled ? GOOD : undefined) },
      );
    });
  });
}

function dataVolume(server: FakeApiServer): Stored {
  return server.find("DataVolume", NAME, NAMESPACE) ?? assert.fail();
}

function running(server: FakeApiServer): Stored["condition"] {
  return dataVolume(server)["status"]?.conditions?.find(({ type }: Stored) => type === "Running");
}

function cacheMode(pod: Stored | undefined): unknown {
  return pod?.["spec"].containers[0].env.find(({ name }: Stored["variable"]) => name === "CACHE_MODE")?.value;
}
