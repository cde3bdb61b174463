/**
 * Which storage class a claim has, and when its volume is bound (contract 3.2, 6).
 */
import type { ContentType } from "../api/cdi.ts";
import type { Claim, StorageClass } from "../api/kube.ts";
import { ANNOTATIONS, GATE_HONOR_WAIT_FOR_FIRST_CONSUMER } from "../api/names.ts";
import { annotationsOf } from "./draft.ts";
import type { ClusterFacts } from "./observed.ts";

/** @param name undefined: the default class of Kubernetes; "": none */
export function findClass({ storageClasses }: ClusterFacts, name: string | undefined): StorageClass | undefined {
  if (name === undefined) return newestWith(storageClasses, ANNOTATIONS.defaultClass);
  return storageClasses.find(({ metadata }) => metadata.name === name);
}

/** For a `storage` spec without a class: the default for virtual machines, then that of Kubernetes. */
export function defaultClass(facts: ClusterFacts, contentType: ContentType): StorageClass | undefined {
  const forMachines =
    contentType === "kubevirt" ? newestWith(facts.storageClasses, ANNOTATIONS.defaultVirtClass) : undefined;
  return forMachines ?? findClass(facts, undefined);
}

export function waitsForFirstConsumer(storageClass: StorageClass | undefined): boolean {
  return storageClass?.volumeBindingMode === "WaitForFirstConsumer";
}

/** The feature gate: imports of claims that wait for a consumer wait, too. Also while CDIConfig is gone: a new one has it. */
export function honorsWaitForFirstConsumer({ config }: ClusterFacts): boolean {
  return config === undefined || config.spec.featureGates?.includes(GATE_HONOR_WAIT_FOR_FIRST_CONSUMER) === true;
}

/** By presence: tools write "" and "true", and even "false" counts (contract 6, quirk 1). */
export function bindsImmediately(claim: Claim): boolean {
  return annotationsOf(claim)[ANNOTATIONS.immediateBind] !== undefined;
}

/** Of several, the newest; of those made in one second, the first by name. */
function newestWith(classes: readonly StorageClass[], annotation: string): StorageClass | undefined {
  const marked = classes.filter((one) => annotationsOf(one)[annotation] === "true");
  return marked.sort((a, b) => {
    const [first, second] = [a.metadata.creationTimestamp ?? "", b.metadata.creationTimestamp ?? ""];
    if (first !== second) return first < second ? 1 : -1;
    return a.metadata.name < b.metadata.name ? -1 : 1;
  })[0];
}
