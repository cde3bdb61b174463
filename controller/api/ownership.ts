/**
 * Owner references: what is made for an object goes with it (Kubernetes' garbage collector), and says whose it is. Names are
 * reused, UIDs are not.
 */
import type { KubeObject, OwnerReference } from "./kube.ts";

/** @param owner as the API server has it: without a UID it owns nothing */
export function controllerReference(owner: KubeObject): OwnerReference {
  const { name, uid } = owner.metadata;
  if (uid === undefined) throw new Error(`${owner.kind} ${name} does not exist yet`);
  return { apiVersion: owner.apiVersion, kind: owner.kind, name, uid, controller: true, blockOwnerDeletion: true };
}

/** There is at most one. */
export function controllerOf(object: KubeObject): OwnerReference | undefined {
  return object.metadata.ownerReferences?.find(({ controller }) => controller === true);
}

export function isControlledBy(object: KubeObject, owner: KubeObject): boolean {
  return owner.metadata.uid !== undefined && controllerOf(object)?.uid === owner.metadata.uid;
}
