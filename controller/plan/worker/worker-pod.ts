/**
 * The worker pod as it is created (contract 5.4): one container that writes the claim, without privileges, as user 107, which
 * is the user of virtual machines. It talks to nobody but its source; what it needs to know is in its environment and mounts.
 */
import type { Placement } from "../../api/cdi.ts";
import type { Claim, Container, OwnerReference, Pod, PodVolume, StringMap } from "../../api/kube.ts";
import { ANNOTATIONS, LABELS } from "../../api/names.ts";
import { controllerReference } from "../../api/ownership.ts";
import { IMPORTER } from "../../api/pods.ts";
import { USUAL_RESOURCES } from "../config-values.ts";
import { defined } from "../defined.ts";
import { annotationsOf } from "../draft.ts";
import type { ClusterFacts, ControllerSettings } from "../observed.ts";
import { ownLabels } from "../own-labels.ts";
import { CERT_DIR, GOOGLE_DIR, SHARED_DIR, workerEnvironment } from "./environment.ts";
import { serveDisk, sharedVolume } from "./node-pull.ts";
import { scratchName, workerName } from "./object-name.ts";
import { podAnnotations } from "./pod-annotations.ts";
import { PROXY_CERT_DIR, PROXY_CERT_VOLUME, proxyCertificatesFor, proxyConfigMapName } from "./proxy-config-map.ts";
import type { WorkerRequest } from "./worker-request.ts";

export const WORKER_CONTAINER = "importer";
export const SCRATCH_VOLUME = "cdi-scratch-vol";

const DATA_VOLUME_NAME = "cdi-data-vol";
const METRICS_PORT = 8443;
/** User and group of virtual machines, and of the disks that they may open. */
const QEMU_ID = 107;

const ARCHITECTURE_LABEL = "kubernetes.io/arch";
/** Keeps the pod out of a mesh without sidecars, whose proxies cut long transfers; a claim may ask for one. */
const MESH_LABELS: StringMap = { "istio.io/dataplane-mode": "none" };
/** OpenShift replaces the image by what the stream's name stands for. */
const RESOLVE_NAMES = "alpha.image.policy.openshift.io/resolve-names";

export interface WorkerOptions {
  /** To be filled; it has a UID. */
  readonly claim: Claim;
  /** The claim that the user sees, whose labels the pod shows. */
  readonly target: Claim;
  readonly request: WorkerRequest;
  readonly placement: Placement;
  readonly cluster: ClusterFacts;
}

/** What is mounted into the worker, and where. */
interface Mount {
  readonly volume: PodVolume;
  readonly path: string;
}

export function workerPod({ claim, target, request, placement, cluster }: WorkerOptions): Pod {
  const { settings, config } = cluster;
  const annotations = annotationsOf(claim);
  const mounts = mountsOf(claim, request, cluster);
  const isBlock = claim.spec.volumeMode === "Block";
  const data: PodVolume = {
    name: DATA_VOLUME_NAME,
    persistentVolumeClaim: { claimName: claim.metadata.name, readOnly: false },
  };
  const importer: Container = {
    name: WORKER_CONTAINER,
    image: settings.workerImage,
    args: [`-v=${settings.verbosity}`],
    ports: [{ name: "metrics", containerPort: METRICS_PORT, protocol: "TCP" }],
    env: workerEnvironment(claim, request, cluster),
    ...(isBlock ? { volumeDevices: [{ name: DATA_VOLUME_NAME, devicePath: "/dev/cdi-block-volume" }] } : {}),
    ...withMounts([...(isBlock ? [] : [{ volume: data, path: "/data" }]), ...mounts]),
  };
  const beside = request.nodePull ? serveDisk(request, settings) : undefined;
  const resources = config?.status?.defaultPodResourceRequirements ?? USUAL_RESOURCES;
  const finish = (container: Container): Container => ({ ...container, ...commonFields(settings), resources });
  const containers = [importer, ...(beside === undefined ? [] : [beside.server])].map(finish);
  const initContainers = beside === undefined ? [] : [finish(beside.init)];
  const isMounting = [...initContainers, ...containers].some(({ volumeMounts }) => volumeMounts !== undefined);
  const architecture = request.nodePull && request.architecture !== "" ? request.architecture : undefined;
  // Bypasses the scheduler: the volume is where the consumer of the target will be.
  const isPrime = claim.metadata.uid !== target.metadata.uid;
  const node = isPrime ? annotations[ANNOTATIONS.selectedNode] : undefined;
  const pullSecrets = config?.status?.imagePullSecrets ?? [];
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name: workerName(claim.metadata.name),
      ...defined({ namespace: claim.metadata.namespace }),
      labels: labelsFor(target, settings),
      annotations: {
        ...podAnnotations(claim),
        [ANNOTATIONS.podCreatedByController]: "yes",
        ...(request.imageStream ? { [RESOLVE_NAMES]: "*" } : {}),
      },
      ownerReferences: [ownerReference(claim, request)],
    },
    spec: {
      restartPolicy: "OnFailure",
      enableServiceLinks: false,
      ...(initContainers.length === 0 ? {} : { initContainers }),
      containers,
      volumes: [data, ...mounts.map(({ volume }) => volume)],
      securityContext: {
        seccompProfile: { type: "RuntimeDefault" },
        ...(isMounting ? { fsGroup: QEMU_ID } : {}),
      },
      ...placementFields(placement, architecture),
      ...defined({
        nodeName: node || undefined,
        priorityClassName: annotations[ANNOTATIONS.podPriorityClass] || undefined,
        serviceAccountName: annotations[ANNOTATIONS.podServiceAccount] || undefined,
      }),
      ...(pullSecrets.length === 0 ? {} : { imagePullSecrets: pullSecrets }),
    },
  };
}

/** The order that its mounts are listed in is the contract's. */
function mountsOf(claim: Claim, request: WorkerRequest, cluster: ClusterFacts): readonly Mount[] {
  const { secret, certConfigMap, source } = request;
  const mounts: Mount[] = [];
  if (request.scratch) {
    const claimName = scratchName(claim.metadata.name);
    mounts.push({ volume: { name: SCRATCH_VOLUME, persistentVolumeClaim: { claimName } }, path: "/scratch" });
  }
  if (certConfigMap !== undefined) {
    mounts.push({ volume: { name: "cdi-cert-vol", configMap: { name: certConfigMap } }, path: CERT_DIR });
  }
  if (proxyCertificatesFor(request, cluster) !== undefined) {
    const name = proxyConfigMapName(claim.metadata.name);
    mounts.push({ volume: { name: PROXY_CERT_VOLUME, configMap: { name } }, path: PROXY_CERT_DIR });
  }
  if (source === "gcs" && secret !== undefined) {
    mounts.push({ volume: { name: "cdi-secret-vol", secret: { secretName: secret } }, path: GOOGLE_DIR });
  }
  for (const [index, secretName] of request.secretExtraHeaders.entries()) {
    const name = `cdi-secret-extra-headers-vol-${index}`;
    mounts.push({ volume: { name, secret: { secretName } }, path: `/extraheaders/${index}` });
  }
  if (request.nodePull) mounts.push({ volume: sharedVolume, path: SHARED_DIR });
  return mounts;
}

function withMounts(mounts: readonly Mount[]): Pick<Container, "volumeMounts"> {
  if (mounts.length === 0) return {};
  return { volumeMounts: mounts.map(({ volume, path }) => ({ name: volume.name, mountPath: path })) };
}

/** Of every container of the pod, also of one that runs the user's image. */
function commonFields({ imagePullPolicy }: ControllerSettings): Partial<Container> {
  return {
    imagePullPolicy,
    terminationMessagePolicy: "FallbackToLogsOnError",
    securityContext: {
      capabilities: { drop: ["ALL"] },
      seccompProfile: { type: "RuntimeDefault" },
      allowPrivilegeEscalation: false,
      runAsNonRoot: true,
      runAsUser: QEMU_ID,
    },
  };
}

/** The pod's own labels select it (metrics, network policies, this controller): no label of the claim takes their place. */
function labelsFor(target: Claim, settings: ControllerSettings): StringMap {
  return {
    ...MESH_LABELS,
    ...target.metadata.labels,
    ...ownLabels(settings),
    [LABELS.workerRole]: IMPORTER,
    [LABELS.scrape]: "true",
  };
}

/** OpenShift resolves image streams only for pods that no controller owns; the pod goes with its claim all the same. */
function ownerReference(claim: Claim, { imageStream }: WorkerRequest): OwnerReference {
  const reference = controllerReference(claim);
  return imageStream ? { ...reference, controller: false } : reference;
}

function placementFields(placement: Placement, architecture: string | undefined): Partial<Pod["spec"]> {
  const { nodeSelector: asked, tolerations, affinity } = placement;
  const nodeSelector = architecture === undefined ? asked : { ...asked, [ARCHITECTURE_LABEL]: architecture };
  return defined({ nodeSelector, tolerations, affinity });
}
