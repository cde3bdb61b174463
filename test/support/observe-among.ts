/**
 * What the controller sees of the import of the tests among objects, when it knows nothing of it besides.
 */
import type { KubeObject } from "../../controller/api/kube.ts";
import { ClusterCache } from "../../controller/cache.ts";
import { clusterFacts, observe } from "../../controller/observe.ts";
import type { Asides } from "../../controller/observe.ts";
import type { ObservedImport } from "../../controller/plan/observed.ts";
import { NAME, NAMESPACE, settings } from "./observed-import.ts";

export const NO_ASIDES: Asides = { pending: undefined, rejected: undefined, progress: undefined };

export function observeAmong(objects: readonly KubeObject[], now: Date): ObservedImport {
  const cache = new ClusterCache();
  for (const object of objects) cache.apply(object);
  const facts = clusterFacts(cache, settings());
  return observe(cache, { namespace: NAMESPACE, name: NAME, now, asides: NO_ASIDES, facts });
}
