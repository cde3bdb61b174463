/**
 * The image that this process runs from, as its own pod says it: workers are started from the same one, unless another is named.
 * So a cluster's own copy of the image, which a kustomize overlay or an admission webhook puts into the pod, reaches them too.
 */
import { ApiError } from "./api-error.ts";
import type { ApiClient } from "./api-client.ts";
import { CACHED_KINDS } from "./api/kinds.ts";
import type { KubeObject } from "./api/kube.ts";
import { Refusal } from "./refusal.ts";

/** Of our container, in deploy/deployment.yaml: others may be put beside it. */
const CONTAINER = "controller";

/** @throws Refusal if the pod does not tell */
export async function ownImage(client: Pick<ApiClient, "get">, namespace: string, name: string): Promise<string> {
  const image = imageOf(await find(client, namespace, name));
  if (image !== undefined) return image;
  throw new Refusal(
    `pod ${namespace}/${name} has no container ${CONTAINER}: name the image of workers by --worker-image`,
  );
}

async function find(client: Pick<ApiClient, "get">, namespace: string, name: string): Promise<KubeObject> {
  try {
    return await client.get(CACHED_KINDS.Pod, name, namespace);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    throw new Refusal(`cannot read pod ${namespace}/${name} for the image of workers: ${error.message}`, {
      cause: error,
    });
  }
}

function imageOf(pod: KubeObject & { readonly spec?: unknown }): string | undefined {
  const { containers } = (pod.spec ?? {}) as { readonly containers?: unknown };
  if (!Array.isArray(containers)) return undefined;
  const found = (containers as readonly ({ readonly name?: unknown; readonly image?: unknown } | null)[]).find(
    (one) => one?.name === CONTAINER,
  );
  return typeof found?.image === "string" && found.image !== "" ? found.image : undefined;
}
