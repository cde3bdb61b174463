/**
 * The objects of an import as clients of KubeVirt CDI know them: what is the same for all, and the fields of one in a form that a
 * test compares as a whole.
 */
import assert from "node:assert/strict";
import type { DataVolume } from "../../../controller/api/cdi.ts";
import type { Claim, KubeObject, Pod, StringMap } from "../../../controller/api/kube.ts";
import { ANNOTATIONS, GROUP } from "../../../controller/api/names.ts";
import { conditionOf } from "./imports.ts";

/** Of whatever the controller makes. */
export const OWN_LABELS = {
  app: "containerized-data-importer",
  "app.kubernetes.io/component": "storage",
  "app.kubernetes.io/managed-by": "cdi-controller",
};
export const LABELS_OF_CLAIM = { "alerts.k8s.io/KubePersistentVolumeFillingUp": "disabled", ...OWN_LABELS };
/** Beside those of the claim. */
export const LABELS_OF_WORKER = {
  [GROUP]: "importer",
  [`prometheus.${GROUP}`]: "true",
  "istio.io/dataplane-mode": "none",
};
/** Annotations that the contract has where nobody asks for others. */
export const NO_MESH = { "sidecar.istio.io/inject": "false", "linkerd.io/inject": "disabled" };
/** Annotations of a claim that is filled. */
export const COMPLETE = {
  [ANNOTATIONS.running]: "false",
  [ANNOTATIONS.runningMessage]: "Import Complete",
  [ANNOTATIONS.runningReason]: "Completed",
  [ANNOTATIONS.podPhase]: "Succeeded",
  [ANNOTATIONS.podRestarts]: "0",
  [ANNOTATIONS.podSchedulable]: "true",
};
/** All that are there even when they are empty, of an import from a web server; the last is of our own. */
export const USUAL_ENVIRONMENT = {
  IMPORTER_SOURCE: "http",
  IMPORTER_CONTENTTYPE: "kubevirt",
  INSECURE_TLS: "false",
  IMPORTER_DISK_ID: "",
  IMPORTER_UUID: "",
  IMPORTER_BACKING_FILE: "",
  IMPORTER_THUMBPRINT: "",
  IMPORTER_PULL_METHOD: "",
  IMPORTER_READY_FILE: "",
  IMPORTER_DONE_FILE: "",
  IMPORTER_CURRENT_CHECKPOINT: "",
  IMPORTER_PREVIOUS_CHECKPOINT: "",
  IMPORTER_FINAL_CHECKPOINT: "",
  http_proxy: "",
  https_proxy: "",
  no_proxy: "",
  PREALLOCATION: "false",
  CACHE_MODE: "",
  IMPORTER_REGISTRY_IMAGE_ARCHITECTURE: "",
  IMPORTER_CHECKSUM: "",
  DECANT_CONTROLLER: "1",
};

/** As CDI leaves it; `restartCount` is absent. */
export function hasSucceeded(dataVolume: DataVolume): void {
  const { name } = dataVolume.metadata;
  const { conditions: _, ...status } = dataVolume.status ?? {};
  assert.deepEqual(status, { claimName: name, phase: "Succeeded", progress: "100.0%" });
  const said = ["Bound", "Ready", "Running"].map((type) => {
    const { lastHeartbeatTime, lastTransitionTime, ...condition } = conditionOf(dataVolume, type) ?? {};
    assert.ok(lastHeartbeatTime !== undefined && lastTransitionTime !== undefined, type);
    return condition;
  });
  assert.deepEqual(said, [
    { type: "Bound", status: "True", reason: "Bound", message: `PVC ${name} Bound` },
    { type: "Ready", status: "True" },
    { type: "Running", status: "False", reason: "Completed", message: "Import Complete" },
  ]);
}

/** One container, without privileges, as user 107. */
export function isRestricted({ spec }: Pod): void {
  const { containers, restartPolicy, enableServiceLinks, securityContext } = spec;
  const seccompProfile = { type: "RuntimeDefault" };
  assert.deepEqual([restartPolicy, enableServiceLinks], ["OnFailure", false]);
  assert.deepEqual(securityContext, { seccompProfile, fsGroup: 107 });
  assert.equal(containers.length, 1);
  const [container] = containers;
  assert.deepEqual([container?.name, container?.args], ["importer", ["-v=1"]]);
  assert.equal(container?.terminationMessagePolicy, "FallbackToLogsOnError");
  assert.deepEqual(container?.ports, [{ name: "metrics", containerPort: 8443, protocol: "TCP" }]);
  assert.deepEqual(container?.resources, {
    requests: { cpu: "100m", memory: "60M" },
    limits: { cpu: "750m", memory: "600M" },
  });
  assert.deepEqual(container?.securityContext, {
    capabilities: { drop: ["ALL"] },
    seccompProfile,
    allowPrivilegeEscalation: false,
    runAsNonRoot: true,
    runAsUser: 107,
  });
}

/** By `name at path`, without what Kubernetes mounts. */
export function volumesOf({ spec: { containers, volumes = [] } }: Pod): Readonly<Record<string, object>> {
  const mounts = (containers[0]?.volumeMounts ?? []).filter(
    ({ mountPath }) => !mountPath.startsWith("/var/run/secrets"),
  );
  const sources = mounts.map(({ name, mountPath }) => {
    const { name: _, ...source } = volumes.find((volume) => volume.name === name) ?? { name };
    return [`${name} at ${mountPath}`, source] as const;
  });
  return Object.fromEntries(sources);
}

export function environmentOf({ spec: { containers } }: Pod): Readonly<Record<string, unknown>> {
  const entries = (containers[0]?.env ?? []).map(
    ({ name, value, valueFrom }) => [name, valueFrom ?? value ?? ""] as const,
  );
  return Object.fromEntries(entries);
}

export function isControlledBy({ metadata }: KubeObject, { apiVersion, kind, metadata: owner }: KubeObject): void {
  const { name, uid } = owner;
  const reference = { apiVersion, kind, name, uid, controller: true, blockOwnerDeletion: true };
  assert.deepEqual(metadata.ownerReferences, [reference]);
}

/** Kubernetes has its own. */
export function ofOurs({ metadata }: Claim): StringMap {
  const all = Object.entries(metadata.annotations ?? {});
  return Object.fromEntries(all.filter(([name]) => !/^(?:pv|volume)(?:\.beta)?\.kubernetes\.io\//.test(name)));
}
