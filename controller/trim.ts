/**
 * What the cache keeps of an object: all that a plan may read, and nothing else. A cluster has many pods and long histories
 * of who changed which field; the controller's memory is not to grow with either.
 */
import type { CachedKind } from "./api/kinds.ts";
import type { Container, ContainerStatus, KubeObject, ObjectMeta, Pod } from "./api/kube.ts";
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

/** Of pods that are no workers it counts only which claims they use, where, and until when. */
function trimPod(pod: Pod): Pod | undefined {
  const spec = pod.spec ?? { containers: [] };
  if (isWorker(pod)) return trimWorker(pod, spec);
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

/** Of a worker's environment: whose progress it shows, and whether it writes past the page cache. */
const READ_VARIABLES: readonly string[] = ["OWNER_UID", "CACHE_MODE"];

/** A pod is the largest object of an import: 8 kB in memory, of which 5 say what no plan asks. */
function trimWorker(pod: Pod, { containers, initContainers, volumes, nodeName }: Partial<Pod["spec"]>): Pod {
  const { phase, reason, message, podIP, conditions, containerStatuses, initContainerStatuses } = pod.status ?? {};
  return {
    ...pod,
    spec: {
      containers: (containers ?? []).map(trimContainer),
      ...defined({
        initContainers: initContainers?.map(trimContainer),
        volumes: volumes?.map(({ name, persistentVolumeClaim }) => ({ name, ...defined({ persistentVolumeClaim }) })),
        nodeName,
      }),
    },
    status: defined({
      phase,
      reason,
      message,
      podIP,
      conditions: conditions?.filter(({ type }) => type === "PodScheduled"),
      containerStatuses: containerStatuses?.map(trimStatus),
      initContainerStatuses: initContainerStatuses?.map(trimStatus),
    }),
  };
}

function trimContainer({ name, image, ports, env }: Container): Container {
  const read = env?.filter((variable) => READ_VARIABLES.includes(variable.name));
  return { name, image, ...defined({ ports, env: read }) };
}

function trimStatus({ name, image, started, restartCount, state, lastState }: ContainerStatus): ContainerStatus {
  return { name, restartCount, ...defined({ image, started, state, lastState }) };
}
