/**
 * What the cache keeps of an object: all that a plan may read, and nothing else. A cluster has many pods and long histories
 * of who changed which field; the controller's memory is not to grow with either.
 */
import type { CachedKind } from "./api/kinds.ts";
import type { KubeObject, ObjectMeta, Pod } from "./api/kube.ts";
import { LAST_APPLIED } from "./api/names.ts";
import { hasEnded, isWorker } from "./api/pods.ts";
import { defined } from "./plan/defined.ts";

/** @returns undefined for an object of which nothing is kept */
export function trim(kind: CachedKind, object: KubeObject): KubeObject | undefined {
  const metadata = trimMetadata(object.metadata);
  if (kind === "Pod") return trimPod({ ...(object as Pod), metadata });
  // Kinds without a spec (StorageClass) are read at their own fields; the others always have one, and nobody trips over it.
  const always = kind === "StorageClass" ? { provisioner: "" } : { spec: {} };
  return { ...always, ...object, metadata };
}

function trimMetadata(metadata: ObjectMeta): ObjectMeta {
  const { managedFields: _, ...kept } = metadata as ObjectMeta & { readonly managedFields?: unknown };
  if (kept.annotations?.[LAST_APPLIED] === undefined) return kept;
  const { [LAST_APPLIED]: __, ...annotations } = kept.annotations;
  return { ...kept, annotations };
}

/** Workers are kept whole. Of the others it counts only which claims they use, where, and until when. */
function trimPod(pod: Pod): Pod | undefined {
  const spec = pod.spec ?? { containers: [] };
  if (isWorker(pod)) return { ...pod, spec: { ...spec, containers: spec.containers ?? [] } };
  const volumes = (spec.volumes ?? []).flatMap(({ name, persistentVolumeClaim }) => {
    return persistentVolumeClaim === undefined ? [] : [{ name, persistentVolumeClaim }];
  });
  if (volumes.length === 0 || hasEnded(pod)) return undefined;
  const { name, namespace, uid, resourceVersion, creationTimestamp, deletionTimestamp, ownerReferences } = pod.metadata;
  return {
    apiVersion: pod.apiVersion,
    kind: pod.kind,
    metadata: {
      name,
      ...defined({ namespace, uid, resourceVersion, creationTimestamp, deletionTimestamp, ownerReferences }),
    },
    spec: { containers: [], volumes, ...defined({ nodeName: spec.nodeName }) },
    status: defined({ phase: pod.status?.phase }),
  };
}
