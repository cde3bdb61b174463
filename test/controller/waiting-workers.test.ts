/**
 * A worker that does not start: why, in the kubelet's words, is told on its DataVolume, and forgotten when it starts.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { KubeObject } from "../../controller/api/kube.ts";
import type { FakeApiServer, Stored } from "../support/fake-api-server.ts";
import { IMMEDIATE, storageDataVolume, untilSucceeded, withFakeCluster } from "../support/fake-cluster.ts";
import { handClock } from "../support/hand-clock.ts";
import { CSI_CLASS, LOCAL_CLASS, NAME, NAMESPACE } from "../support/observed-import.ts";
import { startController, until } from "../support/run-controller.ts";

const MESSAGE = 'MountVolume.SetUp failed for volume "cdi-cert-vol" : configmap "ca" not found';

/** Of a pod that waits as all do. */
const PATIENCE_MS = 5_000;

describe("a worker whose ConfigMap is missing", () => {
  for (const storageClass of [CSI_CLASS, LOCAL_CLASS]) {
    it(`is told of, without a question before it takes long: ${storageClass}`, async () => {
      let isThere = false;
      const useCluster = async ({ server }: { readonly server: FakeApiServer }): Promise<void> => {
        const clock = handClock();
        const controller = startController(server.connect(), { clock });
        await controller.started;
        server.create(storageDataVolume(storageClass, IMMEDIATE));
        const worker = (): Stored | undefined => server.all("Pod")[0];
        const running = (): Stored["condition"] => {
          const { conditions = [] } = server.find("DataVolume", NAME, NAMESPACE)?.["status"] ?? {};
          return conditions.find(({ type }: Stored) => type === "Running");
        };
        await until(
          () => worker()?.["status"].containerStatuses !== undefined,
          () => "no worker waits",
        );
        server.create(warningOf(worker() ?? assert.fail()));
        assert.deepEqual(questions(server), []);
        await until(
          () => {
            clock.advance(PATIENCE_MS / 10);
            return running()?.message === MESSAGE;
          },
          () => JSON.stringify(running()),
        );
        assert.deepEqual([running().status, running().reason], ["False", "ContainerCreating"]);
        isThere = true;
        server.update(worker() ?? assert.fail(), { metadata: { annotations: { "example.org/seen": "" } } });
        await untilSucceeded(server);
        assert.equal(running().reason, "Completed");
        await controller.stop();
      };
      await withFakeCluster(useCluster, { startsPods: () => isThere });
    });
  }
});

function questions(server: FakeApiServer): string[] {
  return server.calls.flatMap(({ verb, kind }) => (verb === "list" && kind === "Event" ? [verb] : []));
}

function warningOf({ metadata: { namespace, name, uid } }: Stored): KubeObject {
  return {
    apiVersion: "v1",
    kind: "Event",
    metadata: { namespace, name: `${name}.1` },
    involvedObject: { kind: "Pod", namespace, name, uid },
    type: "Warning",
    reason: "FailedMount",
    message: MESSAGE,
    lastTimestamp: new Date().toISOString(),
  } as unknown as KubeObject;
}
