/**
 * The environment of a worker (contract 5.6), which importer/config.ts reads: every variable that is not about a mounted file
 * is there, empty where there is nothing to say.
 *
 * Kubernetes replaces `$(NAME)` in values by other variables, secrets among them; what a user wrote is to arrive as written,
 * so each `$` is doubled, which stands for one.
 */
import type { Claim, EnvironmentVariable } from "../../api/kube.ts";
import { overheadOf } from "../config-values.ts";
import type { ClusterFacts } from "../observed.ts";
import { PROXY_CERT_DIR, proxyCertificatesFor } from "./proxy-config-map.ts";
import type { WorkerRequest } from "./worker-request.ts";

export const CERT_DIR = "/certs";
export const GOOGLE_DIR = "/google";
export const SHARED_DIR = "/shared";
export const READY_FILE = `${SHARED_DIR}/ready`;
export const DONE_FILE = `${SHARED_DIR}/done`;
export const NODE_PULL_PORT = 8100;

const DOCKER_SCHEME = "docker://";

export function workerEnvironment(
  claim: Claim,
  request: WorkerRequest,
  facts: ClusterFacts,
): readonly EnvironmentVariable[] {
  const { nodePull, checkpoint } = request;
  const proxy = facts.config?.status?.importProxy ?? {};
  return [
    given("IMPORTER_SOURCE", nodePull ? "http" : request.source),
    given("IMPORTER_ENDPOINT", nodePull ? `http://localhost:${NODE_PULL_PORT}/disk.img` : request.endpoint),
    given("IMPORTER_CONTENTTYPE", request.contentType),
    given("IMPORTER_IMAGE_SIZE", claim.spec.resources?.requests?.["storage"]),
    given("OWNER_UID", ownerUid(claim)),
    given("FILESYSTEM_OVERHEAD", overheadOf(facts, claim.spec)),
    given("INSECURE_TLS", String(isInsecure(request, facts))),
    given("IMPORTER_DISK_ID", request.diskId),
    given("IMPORTER_UUID", request.uuid),
    given("IMPORTER_BACKING_FILE", request.backingFile),
    given("IMPORTER_THUMBPRINT", request.thumbprint),
    given("IMPORTER_PULL_METHOD", nodePull ? "node" : ""),
    given("IMPORTER_READY_FILE", nodePull ? READY_FILE : ""),
    given("IMPORTER_DONE_FILE", nodePull ? DONE_FILE : ""),
    given("IMPORTER_CURRENT_CHECKPOINT", checkpoint.current),
    given("IMPORTER_PREVIOUS_CHECKPOINT", checkpoint.previous),
    given("IMPORTER_FINAL_CHECKPOINT", checkpoint.final),
    given("http_proxy", proxy.HTTPProxy),
    given("https_proxy", proxy.HTTPSProxy),
    given("no_proxy", proxy.noProxy),
    given("PREALLOCATION", String(request.preallocation)),
    given("CACHE_MODE", request.directIo ? "TRYNONE" : ""),
    given("IMPORTER_REGISTRY_IMAGE_ARCHITECTURE", request.architecture),
    given("IMPORTER_CHECKSUM", request.checksum),
    given("DECANT_CONTROLLER", "1"),
    ...credentials(request),
    ...(request.certConfigMap === undefined ? [] : [given("IMPORTER_CERT_DIR", CERT_DIR)]),
    ...(proxyCertificatesFor(request, facts) === undefined ? [] : [given("IMPORTER_PROXY_CERT_DIR", PROXY_CERT_DIR)]),
    ...request.extraHeaders.map((header, index) => given(`IMPORTER_EXTRA_HEADER_${index}`, header)),
  ];
}

/** Label of the worker's progress metric: whom the claim is for (the DataVolume, or the target of a prime), else the claim. */
function ownerUid({ metadata: { ownerReferences = [], uid = "" } }: Claim): string {
  const [owner, another] = ownerReferences;
  return owner === undefined || another !== undefined ? uid : owner.uid;
}

function isInsecure({ source, endpoint, skipsVerification }: WorkerRequest, { config }: ClusterFacts): boolean {
  if (source === "http" || source === "imageio") return skipsVerification;
  if (source !== "registry" || !endpoint.startsWith(DOCKER_SCHEME)) return false;
  const [host = ""] = endpoint.slice(DOCKER_SCHEME.length).split("/", 1);
  return config?.spec.insecureRegistries?.includes(host) === true;
}

function credentials({ source, secret }: WorkerRequest): EnvironmentVariable[] {
  if (secret === undefined) return [];
  if (source === "gcs") return [given("GOOGLE_APPLICATION_CREDENTIALS", `${GOOGLE_DIR}/credentials.json`)];
  const fromSecret = (name: string, key: string): EnvironmentVariable => {
    return { name, valueFrom: { secretKeyRef: { name: secret, key } } };
  };
  return [fromSecret("IMPORTER_ACCESS_KEY_ID", "accessKeyId"), fromSecret("IMPORTER_SECRET_KEY", "secretKey")];
}

function given(name: string, value = ""): EnvironmentVariable {
  return { name, value: value.replaceAll("$", () => "$$") };
}
