/**
 * Certificates that a worker trusts when it goes through the cluster's proxy (contract 5.4). The administrator's ConfigMap is in
 * the controller's namespace, where no worker can mount it; so each claim has a copy beside it, which goes with the claim.
 *
 * Better than CDI, whose copy stays as it was made: while an import is not done, its copy follows the administrator's. A worker
 * that fails for a certificate that has expired is started again by its kubelet, and then finds the new one.
 */
import type { Claim, ConfigMap, Pod } from "../../api/kube.ts";
import { ANNOTATIONS } from "../../api/names.ts";
import { controllerReference, isControlledBy } from "../../api/ownership.ts";
import { claimToFill } from "../claim-to-fill.ts";
import { replacingPatch } from "../cluster/replacing-patch.ts";
import { defined } from "../defined.ts";
import { annotationsOf } from "../draft.ts";
import type { ImportDraft } from "../draft.ts";
import type { Certificates, ClusterFacts, ObservedImport, Rejection } from "../observed.ts";
import { passingLabels } from "../own-labels.ts";
import { joinName } from "./object-name.ts";
import { hasEndedForGood, isRetryDue } from "./retry.ts";
import type { WorkerRequest } from "./worker-request.ts";

export const PROXY_CERT_DIR = "/proxycerts/";
export const PROXY_CERT_VOLUME = "cdi-proxy-cert-vol";

export function proxyConfigMapName(claimName: string): string {
  return joinName("import-proxy-cm", claimName);
}

/** Undefined: CDIConfig names no certificates, or the worker asks nobody for anything. */
export function proxyCertificatesFor({ source }: WorkerRequest, { proxyCertificates }: ClusterFacts) {
  return source === "none" ? undefined : proxyCertificates;
}

/** The claim whose copy is in use, or is about to be used again, so that somebody has to look at it; undefined: there is none. */
export function claimWithProxyCopy(observed: ObservedImport): Claim | undefined {
  const claim = claimToFill(observed);
  const annotations = annotationsOf(claim);
  if (claim === undefined || annotations[ANNOTATIONS.podPhase] === "Succeeded") return undefined;
  if (hasEndedForGood(claim) && !isRetryDue(observed, claim)) return undefined;
  const { worker } = observed;
  const isUsed = worker === undefined ? annotations[ANNOTATIONS.importPodName] !== undefined : mountsCopy(worker);
  return isUsed ? claim : undefined;
}

/** To be called where a worker is started. */
export function provideProxyCopy(draft: ImportDraft, claim: Claim, certificates: Certificates): void {
  const { proxyCopy, cluster } = draft.now;
  if (isCopyOf(proxyCopy, claim)) update(draft, proxyCopy, certificates);
  else draft.create(proxyConfigMap(claim, certificates, cluster));
}

/** To be called while a worker may read its copy. What somebody has deleted is made again. */
export function refreshProxyCopy(draft: ImportDraft, claim: Claim): void {
  const { proxyCopy, cluster, rejected } = draft.now;
  const { proxyCertificates: certificates } = cluster;
  if (certificates === undefined || "missing" in certificates) return;
  if (isCopyOf(proxyCopy, claim)) return update(draft, proxyCopy, certificates);
  if (proxyCopy === "none" && !isOfCopy(rejected, proxyConfigMapName(claim.metadata.name))) {
    draft.create(proxyConfigMap(claim, certificates, cluster));
  }
}

function update(draft: ImportDraft, copy: ConfigMap, { data, binaryData }: Certificates): void {
  if (isOfCopy(draft.now.rejected, copy.metadata.name)) return;
  draft.patch(copy, {
    data: replacingPatch(copy.data, data) ?? {},
    binaryData: replacingPatch(copy.binaryData, binaryData) ?? {},
  });
}

/** A stranger's is left alone. */
function isCopyOf(copy: ObservedImport["proxyCopy"], claim: Claim): copy is ConfigMap {
  return copy !== undefined && copy !== "none" && isControlledBy(copy, claim);
}

function isOfCopy(rejected: Rejection | undefined, name: string): boolean {
  return rejected?.kind === "ConfigMap" && rejected.name === name;
}

function mountsCopy({ spec }: Pod): boolean {
  return spec.volumes?.some(({ name }) => name === PROXY_CERT_VOLUME) === true;
}

function proxyConfigMap(claim: Claim, { data, binaryData }: Certificates, { settings }: ClusterFacts): ConfigMap {
  const { name, namespace } = claim.metadata;
  return {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: {
      name: proxyConfigMapName(name),
      ...defined({ namespace }),
      labels: passingLabels(settings),
      ownerReferences: [controllerReference(claim)],
    },
    data,
    ...(Object.keys(binaryData).length === 0 ? {} : { binaryData }),
  };
}
