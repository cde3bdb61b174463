import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { CdiConfig } from "../../../../controller/api/cdi.ts";
import type { Claim, Pod } from "../../../../controller/api/kube.ts";
import { ANNOTATIONS } from "../../../../controller/api/names.ts";
import type { ClusterFacts } from "../../../../controller/plan/observed.ts";
import { workerPod } from "../../../../controller/plan/worker/worker-pod.ts";
import type { WorkerOptions } from "../../../../controller/plan/worker/worker-pod.ts";
import { readRequest } from "../../../../controller/plan/worker/worker-request.ts";
import { cdiConfig, claim, dataVolume, facts, NAMESPACE, settings } from "../../../support/observed-import.ts";
import { legacyTarget, populatorPair } from "../../../support/worker-plan.ts";

const RESTRICTED = {
  capabilities: { drop: ["ALL"] },
  seccompProfile: { type: "RuntimeDefault" },
  allowPrivilegeEscalation: false,
  runAsNonRoot: true,
  runAsUser: 107,
};

const RESOURCES = { limits: { cpu: "750m", memory: "600M" }, requests: { cpu: "100m", memory: "60M" } };

const OWNED = { apiVersion: "v1", kind: "PersistentVolumeClaim", controller: true, blockOwnerDeletion: true };

function podFor(filled: Claim, more: Partial<WorkerOptions> = {}): Pod {
  return workerPod({
    claim: filled,
    target: filled,
    request: readRequest(filled),
    placement: {},
    cluster: facts(),
    ...more,
  });
}

function configured(status: CdiConfig["status"]): ClusterFacts {
  return facts({ config: cdiConfig({}, status) });
}

describe("the worker pod", () => {
  it("is the contract's, field by field", () => {
    const filled = legacyTarget({ owner: dataVolume(), labels: { app: "containerized-data-importer", tier: "vm" } });
    const { spec, ...rest } = podFor(filled);
    assert.deepEqual(rest, {
      apiVersion: "v1",
      kind: "Pod",
      metadata: {
        name: "importer-fedora",
        namespace: NAMESPACE,
        labels: {
          "istio.io/dataplane-mode": "none",
          app: "containerized-data-importer",
          "app.kubernetes.io/component": "storage",
          "app.kubernetes.io/managed-by": "cdi-controller",
          "cdi.kubevirt.io": "importer",
          "prometheus.cdi.kubevirt.io": "true",
          tier: "vm",
        },
        annotations: {
          "cdi.kubevirt.io/storage.createdByController": "yes",
          "linkerd.io/inject": "disabled",
          "sidecar.istio.io/inject": "false",
        },
        ownerReferences: [{ ...OWNED, name: "fedora", uid: "target-uid" }],
      },
    });
    const [{ env, ...container } = { env: [] }] = spec.containers;
    assert.equal(env?.length, 25);
    assert.deepEqual(container, {
      name: "importer",
      image: settings().workerImage,
      imagePullPolicy: "IfNotPresent",
      args: ["-v=1"],
      ports: [{ name: "metrics", containerPort: 8443, protocol: "TCP" }],
      volumeMounts: [{ name: "cdi-data-vol", mountPath: "/data" }],
      terminationMessagePolicy: "FallbackToLogsOnError",
      resources: RESOURCES,
      securityContext: RESTRICTED,
    });
    const { containers: _, ...others } = spec;
    assert.deepEqual(others, {
      restartPolicy: "OnFailure",
      enableServiceLinks: false,
      volumes: [{ name: "cdi-data-vol", persistentVolumeClaim: { claimName: "fedora", readOnly: false } }],
      securityContext: { seccompProfile: { type: "RuntimeDefault" }, fsGroup: 107 },
    });
  });

  it("writes a device, and asks for no group where nothing is mounted", () => {
    const { spec } = podFor(legacyTarget({ spec: { volumeMode: "Block" } }));
    assert.deepEqual(spec.containers[0]?.volumeDevices, [
      { name: "cdi-data-vol", devicePath: "/dev/cdi-block-volume" },
    ]);
    assert.equal(spec.containers[0]?.volumeMounts, undefined);
    assert.deepEqual(spec.securityContext, { seccompProfile: { type: "RuntimeDefault" } });
  });

  it("mounts what its source needs", () => {
    const filled = legacyTarget({
      spec: { volumeMode: "Block" },
      annotations: {
        [ANNOTATIONS.importSource]: "gcs",
        [ANNOTATIONS.importSecret]: "google",
        [ANNOTATIONS.importCertConfigMap]: "ca",
        [`${ANNOTATIONS.importSecretExtraHeaders}10`]: "third",
        [`${ANNOTATIONS.importSecretExtraHeaders}9`]: "second",
        [`${ANNOTATIONS.importSecretExtraHeaders}0`]: "first",
        [ANNOTATIONS.importRequiresScratch]: "true",
      },
    });
    const { spec } = podFor(filled);
    assert.deepEqual(spec.volumes?.slice(1), [
      { name: "cdi-scratch-vol", persistentVolumeClaim: { claimName: "fedora-scratch" } },
      { name: "cdi-cert-vol", configMap: { name: "ca" } },
      { name: "cdi-secret-vol", secret: { secretName: "google" } },
      { name: "cdi-secret-extra-headers-vol-0", secret: { secretName: "first" } },
      { name: "cdi-secret-extra-headers-vol-1", secret: { secretName: "second" } },
      { name: "cdi-secret-extra-headers-vol-2", secret: { secretName: "third" } },
    ]);
    assert.deepEqual(
      spec.containers[0]?.volumeMounts?.map(({ mountPath }) => mountPath),
      ["/scratch", "/certs", "/google", "/extraheaders/0", "/extraheaders/1", "/extraheaders/2"],
    );
    assert.equal(spec.securityContext?.["fsGroup"], 107);
  });

  it("takes user name and password of other sources from the Secret", () => {
    const { spec } = podFor(legacyTarget({ annotations: { [ANNOTATIONS.importSecret]: "keys" } }));
    assert.deepEqual(
      spec.containers[0]?.env?.filter(({ valueFrom }) => valueFrom !== undefined),
      [
        { name: "IMPORTER_ACCESS_KEY_ID", valueFrom: { secretKeyRef: { name: "keys", key: "accessKeyId" } } },
        { name: "IMPORTER_SECRET_KEY", valueFrom: { secretKeyRef: { name: "keys", key: "secretKey" } } },
      ],
    );
    assert.equal(spec.volumes?.length, 1);
  });

  it("of a prime is the target's to look at, and runs on the target's node", () => {
    const { target, prime } = populatorPair({ annotations: { [ANNOTATIONS.selectedNode]: "node-2" } });
    const labelled = { ...target, metadata: { ...target.metadata, labels: { tier: "vm", app: "shop" } } };
    const { metadata, spec } = podFor(prime, { target: labelled });
    assert.equal(metadata.name, "importer-prime-target-uid");
    assert.equal(metadata.labels?.["tier"], "vm");
    assert.equal(metadata.labels?.["app"], "containerized-data-importer");
    assert.deepEqual(metadata.ownerReferences, [{ ...OWNED, name: "prime-target-uid", uid: "prime-uid" }]);
    assert.equal(spec.nodeName, "node-2");
  });

  it("of a target is left to the scheduler", () => {
    const filled = legacyTarget({ annotations: { [ANNOTATIONS.selectedNode]: "node-2" } });
    assert.equal(podFor(filled).spec.nodeName, undefined);
  });

  it("keeps its own labels, whatever the claim says", () => {
    const labels = {
      "cdi.kubevirt.io": "mine",
      "prometheus.cdi.kubevirt.io": "false",
      "app.kubernetes.io/component": "shop",
      "app.kubernetes.io/part-of": "shop",
      "istio.io/dataplane-mode": "ambient",
    };
    const cluster = facts({ settings: settings({ recommendedLabels: { "app.kubernetes.io/part-of": "installer" } }) });
    assert.deepEqual(podFor(legacyTarget({ labels }), { cluster }).metadata.labels, {
      app: "containerized-data-importer",
      "app.kubernetes.io/component": "storage",
      "app.kubernetes.io/managed-by": "cdi-controller",
      "app.kubernetes.io/part-of": "installer",
      "cdi.kubevirt.io": "importer",
      "prometheus.cdi.kubevirt.io": "true",
      "istio.io/dataplane-mode": "ambient",
    });
  });

  it("takes over networks, meshes, priority and account", () => {
    const annotations = {
      "k8s.v1.cni.cncf.io/networks": "storage-net",
      "v1.multus-cni.io/default-network": "net",
      "sidecar.istio.io/inject": "true",
      "example.org/other": "no",
      [ANNOTATIONS.podPriorityClass]: "high",
      [ANNOTATIONS.podServiceAccount]: "importer",
    };
    const { metadata, spec } = podFor(legacyTarget({ annotations }));
    const { "example.org/other": _, ...taken } = annotations;
    assert.deepEqual(metadata.annotations, {
      ...taken,
      "linkerd.io/inject": "disabled",
      [ANNOTATIONS.podCreatedByController]: "yes",
    });
    assert.equal(spec.priorityClassName, "high");
    assert.equal(spec.serviceAccountName, "importer");
  });

  it("has the resources and pull secrets of CDIConfig", () => {
    const resources = { requests: { cpu: "1", memory: "1G" } };
    const { spec } = podFor(legacyTarget(), {
      cluster: configured({ defaultPodResourceRequirements: resources, imagePullSecrets: [{ name: "pull" }] }),
    });
    assert.deepEqual(spec.containers[0]?.resources, resources);
    assert.deepEqual(spec.imagePullSecrets, [{ name: "pull" }]);
  });

  it("runs where it is told to", () => {
    const placement = { nodeSelector: { disk: "ssd" }, tolerations: [{ key: "virt" }], affinity: { podAffinity: {} } };
    const { nodeSelector, tolerations, affinity } = podFor(legacyTarget(), { placement }).spec;
    assert.deepEqual({ nodeSelector, tolerations, affinity }, placement);
  });

  it("of a node pull has the user's image beside it", () => {
    const filled = claim({
      spec: { volumeMode: "Block" },
      annotations: {
        [ANNOTATIONS.importSource]: "registry",
        [ANNOTATIONS.importEndpoint]: "docker://registry.example.org:5000/vm/fedora:40@sha256:12",
        [ANNOTATIONS.importRegistryMethod]: "node",
        [ANNOTATIONS.importRegistryArchitecture]: "arm64",
      },
    });
    const { spec } = podFor(filled, { placement: { nodeSelector: { disk: "ssd" } } });
    const common = {
      imagePullPolicy: "IfNotPresent",
      volumeMounts: [{ name: "shared-volume", mountPath: "/shared" }],
      terminationMessagePolicy: "FallbackToLogsOnError",
      resources: RESOURCES,
      securityContext: RESTRICTED,
    };
    assert.deepEqual(spec.initContainers, [
      {
        ...common,
        name: "init",
        image: settings().workerImage,
        command: ["sh", "-c", "cp /usr/bin/cdi-containerimage-server /shared/server"],
      },
    ]);
    assert.deepEqual(spec.containers[1], {
      ...common,
      name: "server",
      image: "registry.example.org:5000/vm/fedora:40@sha256:12",
      command: "/shared/server -p 8100 -image-dir /disk -ready-file /shared/ready -done-file /shared/done".split(" "),
    });
    assert.deepEqual(spec.containers[0]?.volumeMounts, [{ name: "shared-volume", mountPath: "/shared" }]);
    assert.deepEqual(spec.volumes?.[1], { name: "shared-volume", emptyDir: {} });
    assert.deepEqual(spec.nodeSelector, { disk: "ssd", "kubernetes.io/arch": "arm64" });
    assert.equal(spec.securityContext?.["fsGroup"], 107);
  });

  it("of an image stream lets OpenShift resolve it", () => {
    const { metadata, spec } = podFor(
      claim({
        annotations: {
          [ANNOTATIONS.importSource]: "registry",
          [ANNOTATIONS.importEndpoint]: "fedora-stream",
          [ANNOTATIONS.importRegistryImageStream]: "true",
          [ANNOTATIONS.importRegistryMethod]: "node",
        },
      }),
    );
    assert.equal(spec.containers[1]?.image, "fedora-stream");
    assert.equal(metadata.annotations?.["alpha.image.policy.openshift.io/resolve-names"], "*");
    assert.equal(metadata.ownerReferences?.[0]?.controller, false);
  });
});
