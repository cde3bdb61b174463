/**
 * Somebody else's objects under the names that the controller gives: it tells, leaves them alone, and goes on when they are gone.
 * A pod without claims is not even kept in memory.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ApiClient } from "../../controller/api-client.ts";
import type { Pod } from "../../controller/api/kube.ts";
import { ClusterCache } from "../../controller/cache.ts";
import { execute } from "../../controller/executor.ts";
import type { Execution } from "../../controller/executor.ts";
import { FakeApiServer } from "../support/fake-api-server.ts";
import type { Stored } from "../support/fake-api-server.ts";
import { IMMEDIATE, storageDataVolume, untilSucceeded, withFakeCluster } from "../support/fake-cluster.ts";
import { claim, LOCAL_CLASS, NAME, NAMESPACE, pod } from "../support/observed-import.ts";
import { startController, until } from "../support/run-controller.ts";

const WORKER = `importer-${NAME}`;

const stranger = { apiVersion: "v1", kind: "Pod", metadata: { namespace: NAMESPACE, name: WORKER }, spec: {} };

describe("an object that exists already", () => {
  for (const [what, found, reason] of [
    ["is ours if it has our owner", pod({ owner: claim() }), undefined],
    ["is a stranger's if it has none", stranger, "AlreadyExists"],
    ["is a stranger's if it has another", pod({ owner: claim({ uid: "another-uid" }) }), "AlreadyExists"],
  ] as const) {
    it(what, async () => {
      const execution = await createPod(pod({ owner: claim() }), (server) => server.create(found));
      assert.equal(execution.end, reason === undefined ? "done" : "rejected");
      if (execution.end !== "rejected") return;
      const { message, ...rejection } = execution.rejection;
      assert.deepEqual(rejection, { do: "create", kind: "Pod", name: WORKER, reason });
      assert.match(message, /^Pod importer-fedora exists and is not of this import/);
    });
  }

  it("is planned for again if it is gone when it is looked at", async () => {
    const refusal = { status: 409, reason: "AlreadyExists", message: "it exists" };
    const execution = await createPod(pod({ owner: claim() }), (server) => {
      server.refuse = ({ verb }) => (verb === "create" ? refusal : undefined);
    });
    assert.equal(execution.end, "outdated");
  });
});

describe("a pod of the worker's name", () => {
  it("holds up an import, which says so and goes on when it is gone", async () => {
    await withFakeCluster(async ({ server }) => {
      const found = server.create(stranger);
      const controller = startController(server.connect());
      server.create(storageDataVolume(LOCAL_CLASS, IMMEDIATE));
      const running = (): Stored["condition"] => {
        const { conditions = [] } = server.find("DataVolume", NAME, NAMESPACE)?.["status"] ?? {};
        return conditions.find(({ type }: Stored) => type === "Running");
      };
      await until(
        () => running()?.reason === "ErrStartingPod",
        () => JSON.stringify(running()),
      );
      assert.match(running().message, /Pod importer-fedora exists and is not of this import/);
      assert.equal(server.find("Pod", WORKER, NAMESPACE)?.metadata.uid, found.metadata.uid);
      server.delete(found);
      await untilSucceeded(server);
      await controller.stop();
    });
  });
});

async function createPod(object: Pod, prepare: (server: FakeApiServer) => void): Promise<Execution> {
  const server = new FakeApiServer();
  await server.start();
  const connection = server.connect();
  const options = {
    client: new ApiClient(connection),
    cache: new ClusterCache(),
    events: { write: async () => assert.fail("no event was asked for") },
  };
  try {
    prepare(server);
    return await execute([{ do: "create", object }], options);
  } finally {
    connection.close();
    await server.stop();
  }
}
