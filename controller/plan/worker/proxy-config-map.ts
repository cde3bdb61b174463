/**
 * Certificates that a worker trusts when it goes through the cluster's proxy (contract 5.4). The administrator's ConfigMap is in
 * the controller's namespace, where no worker can mount it; so each claim has a copy beside it, which goes with the claim.
 */
import type { Claim, ConfigMap } from "../../api/kube.ts";
import { controllerReference } from "../../api/ownership.ts";
import type { ClusterFacts } from "../observed.ts";
import { passingLabels } from "../own-labels.ts";
import { joinName } from "./object-name.ts";
import type { WorkerRequest } from "./worker-request.ts";

export const PROXY_CERT_DIR = "/proxycerts/";

export function proxyConfigMapName(claimName: string): string {
  return joinName("import-proxy-cm", claimName);
}

/** Undefined: CDIConfig names no certificates, or the worker asks nobody for anything. */
export function proxyCertificatesFor({ source }: WorkerRequest, { proxyCertificates }: ClusterFacts) {
  return source === "none" ? undefined : proxyCertificates;
}

export function proxyConfigMap(claim: Claim, data: ConfigMap["data"], { settings }: ClusterFacts): ConfigMap {
  const { name, namespace } = claim.metadata;
  return {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: {
      name: proxyConfigMapName(name),
      ...(namespace === undefined ? {} : { namespace }),
      labels: passingLabels(settings),
      ownerReferences: [controllerReference(claim)],
    },
    ...(data === undefined ? {} : { data }),
  };
}
