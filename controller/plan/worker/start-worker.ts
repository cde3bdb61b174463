/**
 * Whether a worker is started now (contract 5.2, 6.2): when its claim is one that may be filled, nobody else uses it, and it is
 * this import's turn. Whoever waits says why.
 */
import type { Claim } from "../../api/kube.ts";
import { ANNOTATIONS } from "../../api/names.ts";
import { annotationsOf } from "../draft.ts";
import type { ImportDraft } from "../draft.ts";
import type { ClusterFacts, Rejection } from "../observed.ts";
import { bindsImmediately, findClass, honorsWaitForFirstConsumer, waitsForFirstConsumer } from "../storage-class.ts";
import { refusedCreation, rejectionReason } from "../telling.ts";
import { workerName } from "./object-name.ts";
import { readPlacement } from "./placement.ts";
import { provideProxyCopy, proxyCertificatesFor, proxyConfigMapName } from "./proxy-config-map.ts";
import { completeAnnotations, ensureLabel, tellSuccess } from "./report-worker.ts";
import { retryAsked } from "./retry.ts";
import { noteState } from "./running-note.ts";
import { COMPLETE, stopped } from "./running-state.ts";
import { workerPod } from "./worker-pod.ts";
import { isBlankDevice, isStage, readRequest } from "./worker-request.ts";

/** Nothing in the cluster may change when another import ends, or a user of the claim. */
const LOOKS_AGAIN_AFTER_MS = 5000;

/** Contract 6.2. A prime always binds at once. */
function mayFill(claim: Claim, facts: ClusterFacts): boolean {
  const phase = claim.status?.phase ?? "Pending";
  if (phase !== "Pending") return phase === "Bound";
  return !honorsWaitForFirstConsumer(facts) || bindsImmediately(claim);
}

export function startWorker(draft: ImportDraft, claim: Claim): void {
  const { target, dataVolume, users, cluster } = draft.now;
  if (target === undefined) return;
  if (isBlankDevice(claim) && !needsFirstConsumer(claim, cluster)) {
    if (claim.status?.phase === "Bound") completeWithoutWorker(draft, claim);
    return;
  }
  if (!mayFill(claim, cluster)) return;
  const request = readRequest(claim);
  if (isStage(request)) return refuse(draft, claim, "ErrStartingPod", "imports in several stages are not supported");
  const [user] = users;
  if (user !== undefined) {
    const { namespace = "", name } = user.metadata;
    draft.again(LOOKS_AGAIN_AFTER_MS);
    const message = `pod ${namespace}/${name} using PersistentVolumeClaim ${claim.metadata.name}`;
    return refuse(draft, claim, "ImportTargetInUse", message);
  }
  const turn = waitsForTurn(claim, cluster);
  if (turn !== undefined) {
    draft.again(LOOKS_AGAIN_AFTER_MS);
    // The claim is left as it is: this is about the controller, and passes.
    return draft.problem("WaitingForTurn", turn, { condition: "Running" });
  }
  const reading = readPlacement(cluster.cdi, annotationsOf(dataVolume ?? target));
  if ("refused" in reading) return refuse(draft, claim, "ErrPlacement", reading.refused);
  const certificates = proxyCertificatesFor(request, cluster);
  if (certificates !== undefined && "missing" in certificates) {
    draft.again(LOOKS_AGAIN_AFTER_MS);
    return refuse(draft, claim, "ErrStartingPod", certificates.missing);
  }
  const { name } = claim.metadata;
  const rejected =
    refusedCreation(draft.now, "ConfigMap", proxyConfigMapName(name)) ??
    refusedCreation(draft.now, "Pod", workerName(name));
  if (rejected !== undefined) return reportRejection(draft, claim, rejected);
  const retry = retryAsked(draft.now);
  if (retry !== undefined) draft.annotate(claim, { [ANNOTATIONS.retried]: retry });
  if (certificates !== undefined) provideProxyCopy(draft, claim, certificates);
  draft.create(workerPod({ claim, target, request, placement: reading.placement, cluster }), "worker");
}

/** Nobody but a worker would have it bound. */
function needsFirstConsumer(claim: Claim, facts: ClusterFacts): boolean {
  if (claim.status?.phase === "Bound" || annotationsOf(claim)[ANNOTATIONS.selectedNode] !== undefined) return false;
  return waitsForFirstConsumer(findClass(facts, claim.spec.storageClassName));
}

/** As a worker that ended at once would leave it. */
function completeWithoutWorker(draft: ImportDraft, claim: Claim): void {
  ensureLabel(draft, claim);
  const annotations = completeAnnotations(claim, workerName(claim.metadata.name));
  noteState(draft, claim, stopped("Completed", COMPLETE), { annotations });
  tellSuccess(draft, claim);
}

function refuse(draft: ImportDraft, claim: Claim, reason: string, message: string): void {
  noteState(draft, claim, stopped(reason, message), { event: reason });
}

/** Undefined: it does not have to wait. Where a worker will run is known where its claim has a node. */
function waitsForTurn(claim: Claim, { settings, workers }: ClusterFacts): string | undefined {
  const { maxImports, maxImportsPerNode } = settings;
  if (maxImports > 0 && workers.total >= maxImports) {
    return `waiting for another import to end: at most ${maxImports} run at a time`;
  }
  const node = annotationsOf(claim)[ANNOTATIONS.selectedNode];
  if (maxImportsPerNode === 0 || node === undefined || (workers.byNode.get(node) ?? 0) < maxImportsPerNode) {
    return undefined;
  }
  return `waiting for another import on node ${node} to end: at most ${maxImportsPerNode} run there at a time`;
}

/** Of the pod, or of what is made for it before. */
function reportRejection(draft: ImportDraft, claim: Claim, rejected: Rejection): void {
  const name = workerName(claim.metadata.name);
  const reason = rejectionReason(rejected, "ErrStartingPod");
  noteState(draft, claim, stopped(reason, `Error starting pod '${name}': ${rejected.message}`), {
    annotations: { [ANNOTATIONS.podPhase]: "Failed" },
    event: reason,
  });
}
