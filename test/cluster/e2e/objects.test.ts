/**
 * The objects of a finished import, field by field as clients of KubeVirt CDI know them, and a CDI object's settings.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { CdiConfig } from "../../../controller/api/cdi.ts";
import type { Claim, KubeObject, OwnerReference, Pod, StringMap } from "../../../controller/api/kube.ts";
import { ANNOTATIONS, API_VERSION, GROUP } from "../../../controller/api/names.ts";
import { baseDisk } from "../../support/base-disk.ts";
import { imageOf } from "../../support/qemu-images.ts";
import { requireTools } from "../../support/tools.ts";
import { requireRunningCluster } from "../cluster.ts";
import { LOCAL_PATH } from "../storage.ts";
import { clusterWithController } from "./controller.ts";
import { conditionOf } from "./imports.ts";
import { withServedImages } from "./served-images.ts";

const skip = requireRunningCluster() || requireTools("nginx", "qemu-img");
const CONFIGS = `/apis/${API_VERSION}/cdiconfigs`;
const CDIS = `/apis/${API_VERSION}/cdis`;
/** Asked for here, so that there is a pod to look at. */
const KEPT = { [ANNOTATIONS.podRetain]: "true" };
const LABELS_OF_CLAIM = {
  "alerts.k8s.io/KubePersistentVolumeFillingUp": "disabled",
  app: "containerized-data-importer",
  "app.kubernetes.io/component": "storage",
  "app.kubernetes.io/managed-by": "cdi-controller",
};

describe("objects of an import that has succeeded", { skip }, () => {
  const cluster = clusterWithController();

  it("filled in place: DataVolume, claim and pod", async () => {
    await withServedImages(cluster, async ({ imports, urlOf, write }) => {
      write("disk.qcow2", imageOf(baseDisk(), "qcow2", ["-c"]));
      const url = urlOf("disk.qcow2");
      const annotations = { [ANNOTATIONS.immediateBind]: "", ...KEPT };
      await imports.start("dv1", { http: { url } }, { storageClass: LOCAL_PATH, size: "10Gi", annotations });
      const dataVolume = await imports.untilSucceeded("dv1");
      const { uid = "" } = dataVolume.metadata;
      assert.deepEqual(dataVolume.metadata.annotations, { ...annotations, [ANNOTATIONS.usePopulator]: "false" });
      const { conditions: _, ...status } = dataVolume.status ?? {};
      assert.deepEqual(status, { claimName: "dv1", phase: "Succeeded", progress: "100.0%" });
      const said = ["Bound", "Ready", "Running"].map((type) => {
        const { lastHeartbeatTime, lastTransitionTime, ...condition } = conditionOf(dataVolume, type) ?? {};
        assert.ok(lastHeartbeatTime !== undefined && lastTransitionTime !== undefined, type);
        return condition;
      });
      assert.deepEqual(said, [
        { type: "Bound", status: "True", reason: "Bound", message: "PVC dv1 Bound" },
        { type: "Ready", status: "True" },
        { type: "Running", status: "False", reason: "Completed", message: "Import Complete" },
      ]);

      const claim = await imports.claim("dv1");
      isControlledBy(claim, dataVolume);
      assert.equal(claim.spec.resources?.requests?.["storage"], "11381663335");
      assert.equal(claim.spec.volumeMode, "Filesystem");
      assert.deepEqual(claim.metadata.labels, LABELS_OF_CLAIM);
      assert.deepEqual(ofCdi(claim), {
        [ANNOTATIONS.createdForDataVolume]: uid,
        ...annotations,
        [ANNOTATIONS.running]: "false",
        [ANNOTATIONS.runningMessage]: "Import Complete",
        [ANNOTATIONS.runningReason]: "Completed",
        [ANNOTATIONS.contentType]: "kubevirt",
        [ANNOTATIONS.importEndpoint]: url,
        [ANNOTATIONS.importPodName]: "importer-dv1",
        [ANNOTATIONS.importRequiresScratch]: "false",
        [ANNOTATIONS.importSource]: "http",
        [ANNOTATIONS.podPhase]: "Succeeded",
        [ANNOTATIONS.podRestarts]: "0",
        [ANNOTATIONS.podSchedulable]: "true",
        [ANNOTATIONS.preallocationRequested]: "false",
        [ANNOTATIONS.usePopulator]: "false",
      });

      const pod = await cluster.api.get<Pod>(`/api/v1/namespaces/${imports.namespace}/pods/importer-dv1`);
      isWorkerOf(pod, claim, uid);
    });
  });

  it("settings of a CDI object are those of CDIConfig within seconds", async () => {
    const config = { filesystemOverhead: { global: "0.08" }, insecureRegistries: ["registry.test:5000"] };
    await cluster.api.request("POST", CDIS, {
      apiVersion: API_VERSION,
      kind: "CDI",
      metadata: { name: "cdi", annotations: { [ANNOTATIONS.configAuthority]: "" } },
      spec: { config },
    });
    try {
      const { spec, status } = await cluster.api.until<CdiConfig>(
        `${CONFIGS}/config`,
        (found) => found?.status?.filesystemOverhead?.global === "0.08",
      );
      assert.deepEqual(spec, config);
      assert.equal(status?.filesystemOverhead?.storageClass?.[LOCAL_PATH], "0.08");
    } finally {
      await cluster.api.request("DELETE", `${CDIS}/cdi`);
      const none = { filesystemOverhead: null, insecureRegistries: null };
      await cluster.api.request("PATCH", `${CONFIGS}/config`, { spec: none });
      const isBack = (found: CdiConfig | undefined): boolean => found?.status?.filesystemOverhead?.global === "0.06";
      await cluster.api.until<CdiConfig>(`${CONFIGS}/config`, isBack);
    }
  });
});

function isWorkerOf(pod: Pod, claim: Claim, ownerUid: string): void {
  isControlledBy(pod, claim);
  const { labels = {}, annotations = {} } = pod.metadata;
  const own = { [GROUP]: "importer", [`prometheus.${GROUP}`]: "true" };
  for (const [name, value] of Object.entries({ ...claim.metadata.labels, ...own })) assert.equal(labels[name], value);
  assert.equal(annotations[ANNOTATIONS.podCreatedByController], "yes");
  assert.equal(annotations["sidecar.istio.io/inject"], "false");
  assert.equal(annotations["linkerd.io/inject"], "disabled");
  const { restartPolicy, enableServiceLinks, securityContext, containers } = pod.spec;
  assert.deepEqual([restartPolicy, enableServiceLinks, securityContext?.["fsGroup"]], ["OnFailure", false, 107]);
  const [container] = containers;
  assert.equal(containers.length, 1);
  assert.deepEqual(container?.args, ["-v=1"]);
  assert.deepEqual(container?.ports, [{ name: "metrics", containerPort: 8443, protocol: "TCP" }]);
  assert.equal(container?.securityContext?.["runAsUser"], 107);
  assert.deepEqual(container?.resources, {
    requests: { cpu: "100m", memory: "60M" },
    limits: { cpu: "750m", memory: "600M" },
  });
  assert.equal(container?.env?.find(({ name }) => name === "OWNER_UID")?.value, ownerUid);
}

function isControlledBy(object: KubeObject, owner: KubeObject): void {
  const { ownerReferences = [] } = object.metadata;
  const found: OwnerReference | undefined = ownerReferences.find(({ controller }) => controller === true);
  assert.deepEqual([found?.kind, found?.name, found?.uid], [owner.kind, owner.metadata.name, owner.metadata.uid]);
}

/** Kubernetes has its own. */
function ofCdi({ metadata }: Claim): StringMap {
  const all = Object.entries(metadata.annotations ?? {});
  return Object.fromEntries(all.filter(([name]) => name.startsWith(`${GROUP}/`) || name.startsWith("decant.dev/")));
}
