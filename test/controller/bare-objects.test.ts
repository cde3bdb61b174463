/**
 * Objects with a name and nothing else, of every kind that is kept: as the cache has them, nobody trips over one.
 */
import { describe, it } from "node:test";
import { CACHED_KINDS } from "../../controller/api/kinds.ts";
import type { KubeObject } from "../../controller/api/kube.ts";
import { ClusterCache } from "../../controller/cache.ts";
import { clusterFacts, observe } from "../../controller/observe.ts";
import { planConfig } from "../../controller/plan/cluster/config.ts";
import { planProfile } from "../../controller/plan/cluster/profile.ts";
import { planImport } from "../../controller/plan/plan.ts";
import { concernedUnits, unitOfKey } from "../../controller/units.ts";
import { NO_ASIDES } from "../support/observe-among.ts";
import { NAME, NAMESPACE, settings } from "../support/observed-import.ts";

describe("objects that lack what all have", () => {
  const metadata = { namespace: NAMESPACE, name: NAME, uid: "uid", resourceVersion: "1" };
  const objects = Object.entries(CACHED_KINDS).map(([kind, { apiVersion }]): KubeObject => ({
    apiVersion,
    kind,
    metadata,
  }));
  const cache = new ClusterCache();
  for (const object of objects) cache.apply(object);
  const now = new Date();
  const facts = clusterFacts(cache, settings());

  // A pod without claims is not kept.
  for (const [kind, object] of cache.everything()) {
    it(`${kind}: somebody plans for it`, () => {
      for (const key of concernedUnits(kind, undefined, object, cache)) {
        const unit = unitOfKey(key);
        if (unit.of === "config") planConfig(facts);
        if (unit.of === "import") {
          planImport(observe(cache, { ...unit, now, asides: NO_ASIDES, facts }));
        }
        if (unit.of === "profile") {
          const [profile, storageClass] = [
            cache.profiles.get(NAMESPACE, NAME),
            cache.storageClasses.get(NAMESPACE, NAME),
          ];
          planProfile({ now, storageClass, profile, volumes: cache.volumes.all(), snapshotClasses: [] });
        }
      }
    });
  }
});
