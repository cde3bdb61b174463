/**
 * The controller beside KubeVirt CDI's own, or where CRDs are somebody else's: it says in one sentence why it does not work, and
 * changes nothing. When the other one is gone, it works.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LEASE } from "../../../controller/api/kinds.ts";
import type { KubeObject } from "../../../controller/api/kube.ts";
import { API_VERSION } from "../../../controller/api/names.ts";
import { OWNER, OWNER_LABEL } from "../../../controller/crds/definition.ts";
import { DECANT_IMAGE } from "../../support/decant-tarball.ts";
import { runDecant } from "../../support/run-decant.ts";
import { requireRunningCluster } from "../cluster.ts";
import type { Cluster } from "../cluster.ts";
import { CONTROLLER_NAME, CONTROLLER_NAMESPACE } from "./controller.ts";
import { Imports } from "./imports.ts";
import { clusterWithoutController, startInProcess, whileControlled } from "./killed-controller.ts";

const skip = requireRunningCluster();
const CDI_LEASE = "cdi-controller-leader-election-helper";
const LEASE_SECONDS = 60;
const CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const FOREIGN_CRD = "datasources.cdi.kubevirt.io";
/** What a controller would write as soon as it works, and nobody else writes. */
const OF_CLUSTER = [CRDS, ...["cdiconfigs", "storageprofiles"].map((plural) => `/apis/${API_VERSION}/${plural}`)];
const OF_IMPORTS = [
  ...["datavolumes", "volumeimportsources"].map((plural) => [API_VERSION, plural] as const),
  ...["persistentvolumeclaims", "pods", "events"].map((plural) => ["v1", plural] as const),
];

describe("a controller beside another one", { skip }, () => {
  const cluster = clusterWithoutController();

  it("does not work while KubeVirt CDI's Lease is held, and does when that has expired or is gone", async () => {
    await cluster.withNamespace(async (namespace) => {
      const imports = new Imports(cluster, namespace);
      const leases = `/apis/${LEASE.apiVersion}/namespaces/${namespace}/leases`;
      const ownLeases = `/apis/${LEASE.apiVersion}/namespaces/${CONTROLLER_NAMESPACE}/leases`;
      const spec = { holderIdentity: "cdi-deployment", leaseDurationSeconds: LEASE_SECONDS, renewTime: time(0) };
      await cluster.api.request("POST", leases, { metadata: { name: CDI_LEASE }, spec });
      await startBlank(imports, "waits");
      const sentence = `another controller fills claims in this cluster: it holds the Lease ${namespace}/${CDI_LEASE}; stop it first`;
      const ofImports = OF_IMPORTS.map(([version, plural]) => {
        return `/${version === "v1" ? "api" : "apis"}/${version}/namespaces/${namespace}/${plural}`;
      });
      await assertRefuses(cluster, sentence, [...OF_CLUSTER, ...ofImports, leases, ownLeases]);

      const calls: string[] = [];
      const controller = await startInProcess(cluster, ({ verb, kind }) => calls.push(`${verb} ${kind}`));
      await assert.rejects(controller.ended, { message: sentence });
      assert.deepEqual(calls, ["list Lease"]);

      const expired = { spec: { renewTime: time(-2 * LEASE_SECONDS) } };
      await cluster.api.request("PATCH", `${leases}/${CDI_LEASE}`, expired);
      await whileControlled(cluster, async () => await imports.untilSucceeded("waits"));

      await cluster.api.request("DELETE", `${leases}/${CDI_LEASE}`);
      await startBlank(imports, "comes-later");
      await whileControlled(cluster, async () => await imports.untilSucceeded("comes-later"));
    });
  });

  it("does not work where a CRD belongs to another installation", async () => {
    const label = async (owner: string | null): Promise<void> => {
      await cluster.api.request("PATCH", `${CRDS}/${FOREIGN_CRD}`, { metadata: { labels: { [OWNER_LABEL]: owner } } });
    };
    await label(null);
    try {
      const sentence =
        `${FOREIGN_CRD} belongs to another installation, such as KubeVirt CDI: remove that, or, once it is stopped, ` +
        `hand it over with: kubectl label crd ${FOREIGN_CRD} ${OWNER_LABEL}=${OWNER}`;
      await assertRefuses(cluster, sentence, OF_CLUSTER);
    } finally {
      await label(OWNER);
    }
  });
});

/** A device that stays empty needs no worker. */
async function startBlank(imports: Imports, name: string): Promise<void> {
  await imports.start(name, { blank: {} }, { volumeMode: "Block" });
}

/** Runs the program with the rights of its service account. */
async function assertRefuses(cluster: Cluster, sentence: string, places: readonly string[]): Promise<void> {
  const kubeconfig = await cluster.kubeconfigFor(CONTROLLER_NAMESPACE, CONTROLLER_NAME);
  const before = await versionsOf(cluster, places);
  const where = ["--kubeconfig", kubeconfig, "--namespace", CONTROLLER_NAMESPACE, "--metrics-port", "0"];
  const { status, stderr } = await runDecant(["controller", ...where, "--worker-image", DECANT_IMAGE]);
  assert.equal(status, 1, stderr);
  const lines = stderr.trimEnd().split("\n");
  const errors = lines.map((line) => JSON.parse(line) as object).filter((line) => "error" in line);
  assert.equal(errors.length, 1, stderr);
  const { time: _, ...said } = errors[0] as Readonly<Record<string, unknown>>;
  assert.deepEqual(said, { level: "error", msg: "the controller cannot go on", error: `Error: ${sentence}` });
  assert.deepEqual(await versionsOf(cluster, places), before);
}

async function versionsOf(cluster: Cluster, places: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const lists = await Promise.all(
    places.map(async (place) => await cluster.api.get<{ readonly items: readonly KubeObject[] }>(place)),
  );
  const objects = lists.flatMap(({ items }) => items);
  return new Map(objects.map(({ metadata }) => [metadata.uid ?? "", metadata.resourceVersion ?? ""]));
}

/** As Leases have it. */
function time(afterSeconds: number): string {
  return new Date(Date.now() + afterSeconds * 1000).toISOString().replace("Z", "000Z");
}
