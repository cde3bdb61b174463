/**
 * The objects of an import, field by field as clients of KubeVirt CDI know them (contract 4, 5.4 to 5.6, 13), on both paths.
 */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { describe, it } from "node:test";
import type { DataVolume, HttpSource } from "../../../controller/api/cdi.ts";
import type { Pod, StringMap } from "../../../controller/api/kube.ts";
import {
  ANNOTATIONS,
  GATE_HONOR_WAIT_FOR_FIRST_CONSUMER,
  GROUP,
  importSourceName,
  primeName,
  VOLUME_IMPORT_SOURCE,
} from "../../../controller/api/names.ts";
import { baseDisk } from "../../support/base-disk.ts";
import { imageOf } from "../../support/qemu-images.ts";
import { requireTools } from "../../support/tools.ts";
import { requireRunningCluster } from "../cluster.ts";
import { LOCAL_PATH } from "../storage.ts";
import { clusterWithController, withFeatureGates } from "./controller.ts";
import { withHistory } from "./history.ts";
import type { History } from "./history.ts";
import type { Imports } from "./imports.ts";
import {
  COMPLETE,
  environmentOf,
  hasSucceeded,
  isControlledBy,
  isRestricted,
  LABELS_OF_CLAIM,
  LABELS_OF_WORKER,
  NO_MESH,
  ofOurs,
  OWN_LABELS,
  USUAL_ENVIRONMENT,
  volumesOf,
} from "./known-objects.ts";
import { withServedImages } from "./served-images.ts";

const skip = requireRunningCluster() || requireTools("nginx", "qemu-img");
/** Asked for here, so that there is a pod to look at. */
const KEPT = { [ANNOTATIONS.podRetain]: "true" };
const DISK = baseDisk(4 * 1024 * 1024);
const PRIORITY = "system-cluster-critical";
/** The first is the target's, as of a user's wish, and not the worker's, whose own label selects it. */
const LABELS_OF_USER = { app: "mine", "kubevirt.io/created-by": "machine" };

interface Given {
  readonly imports: Imports;
  readonly history: History;
  readonly http: HttpSource;
  readonly annotations: StringMap;
  readonly dataVolume: DataVolume;
}

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
      hasSucceeded(dataVolume);

      const claim = await imports.claim("dv1");
      isControlledBy(claim, dataVolume);
      assert.equal(claim.spec.resources?.requests?.["storage"], "11381663335");
      assert.equal(claim.spec.volumeMode, "Filesystem");
      assert.deepEqual(claim.metadata.labels, LABELS_OF_CLAIM);
      assert.deepEqual(ofOurs(claim), {
        ...annotations,
        ...COMPLETE,
        [ANNOTATIONS.createdForDataVolume]: uid,
        [ANNOTATIONS.contentType]: "kubevirt",
        [ANNOTATIONS.importEndpoint]: url,
        [ANNOTATIONS.importPodName]: "importer-dv1",
        [ANNOTATIONS.importRequiresScratch]: "false",
        [ANNOTATIONS.importSource]: "http",
        [ANNOTATIONS.preallocationRequested]: "false",
        [ANNOTATIONS.usePopulator]: "false",
      });

      const pod = await cluster.api.get<Pod>(`/api/v1/namespaces/${imports.namespace}/pods/importer-dv1`);
      isControlledBy(pod, claim);
      assert.deepEqual(pod.metadata.labels, { ...LABELS_OF_CLAIM, ...LABELS_OF_WORKER });
      assert.deepEqual(pod.metadata.annotations, { ...NO_MESH, [ANNOTATIONS.podCreatedByController]: "yes" });
      isRestricted(pod);
      assert.deepEqual(volumesOf(pod), {
        "cdi-data-vol at /data": { persistentVolumeClaim: { claimName: "dv1" } },
      });
      assert.deepEqual(environmentOf(pod), {
        ...USUAL_ENVIRONMENT,
        IMPORTER_ENDPOINT: url,
        IMPORTER_IMAGE_SIZE: "11381663335",
        OWNER_UID: uid,
        FILESYSTEM_OVERHEAD: "0.06",
      });
    });
  });

  it("filled by way of a prime: source object, prime, worker and what is left", async () => {
    await withPrime(async ({ imports, history, http, annotations, dataVolume }) => {
      const { uid = "" } = dataVolume.metadata;
      assert.deepEqual(dataVolume.metadata.annotations, { ...annotations, [ANNOTATIONS.usePopulator]: "true" });
      hasSucceeded(dataVolume);
      const first = history.states("datavolumes", "dv1").find(({ status }) => status !== undefined);
      assert.equal(first?.status?.claimName, "dv1", "KubeVirt looks for it from the first status on");

      const target = await imports.claim("dv1");
      isControlledBy(target, dataVolume);
      const source = await history.untilMade("volumeimportsources", importSourceName(uid));
      isControlledBy(source, dataVolume);
      assert.deepEqual(source.spec, { source: { http }, contentType: "kubevirt", preallocation: true });
      assert.deepEqual(target.spec.dataSourceRef, {
        apiGroup: GROUP,
        kind: VOLUME_IMPORT_SOURCE,
        name: source.metadata.name,
      });
      const targetLabels = { ...LABELS_OF_CLAIM, ...LABELS_OF_USER };
      assert.deepEqual(target.metadata.labels, targetLabels);
      const ofPod = {
        ...annotations,
        [ANNOTATIONS.podPriorityClass]: PRIORITY,
        [ANNOTATIONS.podServiceAccount]: "reader",
      };
      const shared = { [ANNOTATIONS.contentType]: "kubevirt", [ANNOTATIONS.preallocationRequested]: "true" };
      const prime = await history.untilMade("persistentvolumeclaims", primeName(target.metadata.uid ?? ""));
      assert.deepEqual(ofOurs(target), {
        ...ofPod,
        ...shared,
        ...COMPLETE,
        [ANNOTATIONS.createdForDataVolume]: uid,
        [ANNOTATIONS.preallocation]: "true",
        [ANNOTATIONS.populatorProgress]: "100.0%",
        [ANNOTATIONS.prime]: prime.metadata.name,
        [ANNOTATIONS.usePopulator]: "true",
      });

      isControlledBy(prime, target);
      assert.deepEqual(prime.metadata.labels, { ...OWN_LABELS, "velero.io/exclude-from-backup": "true" });
      assert.deepEqual(prime.metadata.annotations, {
        ...ofPod,
        ...shared,
        ...NO_MESH,
        [ANNOTATIONS.immediateBind]: "",
        [ANNOTATIONS.populatorKind]: VOLUME_IMPORT_SOURCE,
        [ANNOTATIONS.importSource]: "http",
        [ANNOTATIONS.importEndpoint]: http.url,
        [ANNOTATIONS.importSecret]: "login",
        [ANNOTATIONS.importCertConfigMap]: "authority",
        [ANNOTATIONS.importChecksum]: http.checksum,
        [`${ANNOTATIONS.importExtraHeaders}0`]: "X-Plain: plain",
        [`${ANNOTATIONS.importSecretExtraHeaders}0`]: "headers",
      });
      const { dataSourceRef: _, dataSource: __, volumeName: ___, ...wishes } = target.spec;
      assert.deepEqual(prime.spec, wishes);

      const worker = await history.untilMade("pods", `importer-${prime.metadata.name}`);
      isControlledBy(worker, prime);
      assert.deepEqual(worker.metadata.labels, { ...targetLabels, ...OWN_LABELS, ...LABELS_OF_WORKER });
      assert.deepEqual(worker.metadata.annotations, {
        ...ofPod,
        ...NO_MESH,
        [ANNOTATIONS.podCreatedByController]: "yes",
      });
      const { spec: made } = worker;
      assert.deepEqual(
        [made.priorityClassName, made.serviceAccountName, made.nodeName, made.nodeSelector, made.imagePullSecrets],
        [PRIORITY, "reader", undefined, undefined, undefined],
      );
      assert.deepEqual(volumesOf(worker), {
        "cdi-data-vol at /data": { persistentVolumeClaim: { claimName: prime.metadata.name } },
        "cdi-cert-vol at /certs": { configMap: { name: "authority", defaultMode: 420 } },
        "cdi-secret-extra-headers-vol-0 at /extraheaders/0": {
          secret: { secretName: "headers", defaultMode: 420 },
        },
      });
      isRestricted(worker);
      assert.deepEqual(environmentOf(worker), {
        ...USUAL_ENVIRONMENT,
        IMPORTER_ENDPOINT: http.url,
        IMPORTER_IMAGE_SIZE: target.spec.resources?.requests?.["storage"],
        OWNER_UID: target.metadata.uid,
        FILESYSTEM_OVERHEAD: "0.06",
        PREALLOCATION: "true",
        IMPORTER_CHECKSUM: http.checksum,
        IMPORTER_CERT_DIR: "/certs",
        IMPORTER_EXTRA_HEADER_0: "X-Plain: plain",
        IMPORTER_ACCESS_KEY_ID: { secretKeyRef: { name: "login", key: "accessKeyId" } },
        IMPORTER_SECRET_KEY: { secretKeyRef: { name: "login", key: "secretKey" } },
      });

      await imports.untilGone("pods", worker.metadata.name);
      await imports.untilGone("persistentvolumeclaims", prime.metadata.name);
      await imports.untilGone("volumeimportsources", source.metadata.name);
    });
  });

  /** With an import that has succeeded, and asked for all that a claim says to a worker. */
  async function withPrime(use: (given: Given) => Promise<void>): Promise<void> {
    await withFeatureGates(cluster, [GATE_HONOR_WAIT_FOR_FIRST_CONSUMER], async () => {
      await withServedImages(cluster, async ({ imports, urlOf, write }) => {
        write("disk", DISK);
        await createMounted(imports);
        const http = {
          url: urlOf("disk"),
          secretRef: "login",
          certConfigMap: "authority",
          checksum: `sha256:${createHash("sha256").update(DISK).digest("hex")}`,
          extraHeaders: ["X-Plain: plain"],
          secretExtraHeaders: ["headers"],
        };
        const annotations = { "k8s.v1.cni.cncf.io/networks": "none" };
        const spec = { priorityClassName: PRIORITY, serviceAccountName: "reader", preallocation: true };
        await withHistory(cluster, imports.namespace, async (history) => {
          await imports.start("dv1", { http }, { annotations, labels: LABELS_OF_USER, spec });
          const dataVolume = await imports.untilSucceeded("dv1");
          await use({ imports, history, http, annotations, dataVolume });
        });
      });
    });
  }
});

async function createMounted(imports: Imports): Promise<void> {
  await imports.create("serviceaccounts", { metadata: { name: "reader" } });
  await imports.create("configmaps", { metadata: { name: "authority" }, data: {} });
  await imports.create("secrets", { metadata: { name: "headers" }, stringData: { token: "X-Token: token" } });
  const stringData = { accessKeyId: "me", secretKey: "mine" };
  await imports.create("secrets", { metadata: { name: "login" }, stringData });
}
