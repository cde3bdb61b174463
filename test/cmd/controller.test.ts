/**
 * decant controller as a process's command: which image workers are started from, and how it ends.
 */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { describe, it } from "node:test";
import * as controller from "../../cmd/controller.ts";
import type { KubeObject } from "../../controller/api/kube.ts";
import { runCommand } from "../support/command-io.ts";
import type { FakeApiServer } from "../support/fake-api-server.ts";
import { storageDataVolume, withFakeCluster } from "../support/fake-cluster.ts";
import { CSI_CLASS } from "../support/observed-import.ts";
import { until } from "../support/run-controller.ts";
import { withTemporaryFolder } from "../support/temporary-folder.ts";

const OWN = "mirror.example.org/decant:2";
const IN_POD = { POD_NAMESPACE: "decant", POD_NAME: "decant-controller-1" };

describe("decant controller", () => {
  for (const [what, options, env, image] of [
    ["of its own pod", [], IN_POD, OWN],
    ["that the environment names", [], { ...IN_POD, DECANT_WORKER_IMAGE: "decant:3" }, "decant:3"],
    ["that the command line names", ["--worker-image", "decant:4"], {}, "decant:4"],
  ] as const) {
    it(`starts workers from the image ${what}`, async () => {
      await withFakeCluster(async ({ server }) => {
        server.create(
          ownPod([
            { name: "mesh", image: "mesh:1" },
            { name: "controller", image: OWN },
          ]),
        );
        const stopping = new AbortController();
        const ended = runAgainst(server, options, env, stopping.signal);
        server.create(storageDataVolume(CSI_CLASS));
        const workerImage = (): unknown => {
          return server.calls.find(({ verb, kind }) => verb === "create" && kind === "Pod")?.body?.["spec"]
            .containers[0].image;
        };
        await until(
          () => workerImage() !== undefined,
          () => JSON.stringify(server.all("DataVolume")),
        );
        stopping.abort();
        assert.equal((await ended).status, 0);
        assert.equal(workerImage(), image);
      });
    });
  }

  for (const [what, pods, message] of [
    ["its pod is not to be found", [], /cannot read pod decant\/decant-controller-1 for the image of workers/],
    ["its pod has no such container", [ownPod([{ name: "mesh", image: "mesh:1" }])], /has no container controller/],
    ["its pod is strange", [ownPod("none")], /has no container controller/],
  ] as const) {
    it(`ends with a sentence if ${what}`, async () => {
      await withFakeCluster(async ({ server }) => {
        for (const pod of pods) server.create(pod);
        const { status, stderr } = await runAgainst(server, [], IN_POD, new AbortController().signal);
        assert.equal(status, 1);
        assert.match(stderr, message);
      });
    });
  }

  it("takes no pull policy that there is not", async () => {
    const { status, stderr } = await runCommand(controller, ["--image-pull-policy", "Sometimes"], { env: IN_POD });
    assert.equal(status, 2);
    assert.match(stderr, /--image-pull-policy takes IfNotPresent, Always, Never, not "Sometimes"/);
  });

  it("asks for an image where there is no pod", async () => {
    const { status, stderr } = await runCommand(controller, ["--kubeconfig", "/nowhere"]);
    assert.equal(status, 2);
    assert.match(stderr, /which image workers are started from is missing: --worker-image/);
  });
});

async function runAgainst(
  server: FakeApiServer,
  options: readonly string[],
  env: Record<string, string>,
  signal: AbortSignal,
) {
  return await withTemporaryFolder(async (folder) => {
    const file = path.join(folder, "kubeconfig");
    const connection = server.connect();
    connection.close();
    const config = {
      "current-context": "fake",
      contexts: [{ name: "fake", context: { cluster: "fake", user: "fake" } }],
      clusters: [{ name: "fake", cluster: { server: connection.server } }],
      users: [{ name: "fake", user: {} }],
    };
    writeFileSync(file, JSON.stringify(config));
    const args = ["--kubeconfig", file, "--metrics-port", "0", ...options];
    return await runCommand(controller, args, { env, signal });
  });
}

function ownPod(containers: unknown): KubeObject {
  const metadata = { namespace: IN_POD.POD_NAMESPACE, name: IN_POD.POD_NAME };
  return { apiVersion: "v1", kind: "Pod", metadata, spec: { containers } } as KubeObject;
}
