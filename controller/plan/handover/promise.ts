/**
 * What keeps a filled volume safe between its prime and its target: the policy Retain, and two annotations that say what the
 * policy was and whom the volume is meant for. They are set in one patch before the volume changes hands, and taken away in
 * one when it has arrived. In between, whoever deletes the prime, the target or the controller loses nothing: the volume is
 * found by its promise.
 *
 * Only who may change volumes can make or break a promise: administrators, and this controller.
 */
import type { ObjectMeta, Volume } from "../../api/kube.ts";
import { ANNOTATIONS } from "../../api/names.ts";
import type { MergePatch } from "../action.ts";
import { annotationsOf } from "../draft.ts";

const POLICIES: readonly (string | undefined)[] = ["Retain", "Delete", "Recycle"];

/** @param promised all volumes that are meant for a claim of the target's name */
export function promisedVolume(target: ObjectMeta, promised: readonly Volume[]): Volume | undefined {
  return promised.find((volume) => isMeantFor(volume, target));
}

export function isMeantFor(volume: Volume, target: ObjectMeta): boolean {
  return target.uid !== undefined && annotationsOf(volume)[ANNOTATIONS.meantFor] === promiseTo(target);
}

export function makePromise(volume: Volume, target: ObjectMeta): MergePatch {
  return {
    metadata: {
      annotations: {
        // An API server sets Retain where nobody says anything.
        [ANNOTATIONS.originalReclaimPolicy]: volume.spec.persistentVolumeReclaimPolicy ?? "Retain",
        [ANNOTATIONS.meantFor]: promiseTo(target),
      },
    },
    spec: { persistentVolumeReclaimPolicy: "Retain" },
  };
}

/** Gives the volume back to its policy: if no claim wants it any more, that may be its end. */
export function endPromise(volume: Volume): MergePatch {
  const original = annotationsOf(volume)[ANNOTATIONS.originalReclaimPolicy];
  return {
    metadata: { annotations: { [ANNOTATIONS.originalReclaimPolicy]: null, [ANNOTATIONS.meantFor]: null } },
    ...(POLICIES.includes(original) ? { spec: { persistentVolumeReclaimPolicy: original } } : {}),
  };
}

/** Which import a volume is promised to, whatever claim of that name it was; undefined for a volume without a promise. */
export function nameMeantFor(volume: Volume): { readonly namespace: string; readonly name: string } | undefined {
  const [namespace, name] = (annotationsOf(volume)[ANNOTATIONS.meantFor] ?? "").split("/");
  return namespace === undefined || name === undefined ? undefined : { namespace, name };
}

function promiseTo({ namespace, name, uid }: ObjectMeta): string {
  return `${namespace}/${name}/${uid}`;
}
