import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { CachedKind } from "../../controller/api/kinds.ts";
import type { Claim, KubeObject, Pod } from "../../controller/api/kube.ts";
import { ANNOTATIONS, LABELS, primeName } from "../../controller/api/names.ts";
import { ClusterCache } from "../../controller/cache.ts";
import { concernedUnits, CONFIG_KEY, isNewUnit } from "../../controller/units.ts";
import {
  claim,
  dataVolume,
  importSource,
  NAME,
  NAMESPACE,
  pod,
  storageClass,
  volumeOf,
} from "../support/observed-import.ts";

const THIS = `import/${NAMESPACE}/${NAME}`;

describe("concernedUnits", () => {
  const target = claim({
    spec: { dataSourceRef: { apiGroup: "cdi.kubevirt.io", kind: "VolumeImportSource", name: "source" } },
  });
  const prime = claim({ name: primeName(target.metadata.uid ?? ""), owner: target });
  const worker = pod({ name: "importer", owner: prime, labels: { [LABELS.workerRole]: "importer" } });
  const scratch = claim({ name: "scratch", owner: worker });
  const orphan = claim({ name: `${prime.metadata.name}-scratch`, owner: pod({ name: "gone", uid: "gone-uid" }) });
  const mounting = podMounting("importer-mounting", [prime.metadata.name, "mounted-scratch"], prime);
  const mountedScratch = claim({ name: "mounted-scratch", owner: mounting });
  const owning = podMounting("owning", ["owned-a", "owned-b"]);
  const ownedClaims = [claim({ name: "owned-a", owner: owning }), claim({ name: "owned-b", owner: owning })] as const;
  const cache = new ClusterCache();
  for (const object of [dataVolume(), target, prime, worker, storageClass({ name: "csi" })]) cache.apply(object);
  for (const object of [mounting, mountedScratch, owning, ...ownedClaims]) cache.apply(object);

  const cases: readonly (readonly [string, CachedKind, KubeObject, readonly string[]])[] = [
    ["a DataVolume", "DataVolume", dataVolume(), [THIS]],
    ["the target", "PersistentVolumeClaim", target, [THIS]],
    ["a prime", "PersistentVolumeClaim", prime, [THIS]],
    ["the worker of a prime", "Pod", worker, [THIS]],
    ["scratch space", "PersistentVolumeClaim", scratch, [THIS]],
    ["scratch space that its worker mounts", "PersistentVolumeClaim", mountedScratch, [THIS]],
    ["a worker that mounts its scratch space", "Pod", mounting, [THIS]],
    ["one of several claims of a pod that mounts them all", "PersistentVolumeClaim", ownedClaims[0], []],
    ["scratch space of a pod that is gone", "PersistentVolumeClaim", orphan, [THIS]],
    ["a pod that mounts the target", "Pod", podOf(NAME), [THIS]],
    ["a volume of the prime", "PersistentVolume", volumeOf(prime), [THIS]],
    ["a volume of the target", "PersistentVolume", volumeOf(target), [THIS]],
    ["a volume on its way", "PersistentVolume", promised(), [THIS, `import/${NAMESPACE}/other`]],
    ["the source of the target", "VolumeImportSource", importSource({ name: "source" }), [THIS]],
    ["a storage class", "StorageClass", storageClass({ name: "csi" }), ["profile/csi", "config", THIS]],
  ];
  for (const [what, kind, object, expected] of cases) {
    it(`of ${what}`, () => {
      assert.deepEqual([...concernedUnits(kind, undefined, object, cache)].sort(), [...expected].sort());
      assert.deepEqual([...concernedUnits(kind, object, undefined, cache)].sort(), [...expected].sort());
    });
  }

  function podOf(claimName: string): KubeObject {
    return podMounting("user", [claimName]);
  }

  function podMounting(name: string, claimNames: readonly string[], owner?: Claim): Pod {
    const volumes = claimNames.map((claimName) => ({ name: claimName, persistentVolumeClaim: { claimName } }));
    const ownership = owner === undefined ? {} : { owner, labels: { [LABELS.workerRole]: "importer" } };
    return pod({ name, ...ownership, spec: { volumes } });
  }

  function promised(): KubeObject {
    const other = claim({ name: "other" });
    return volumeOf(other, { spec: {}, annotations: { [ANNOTATIONS.meantFor]: `${NAMESPACE}/${NAME}/some-uid` } });
  }
});

describe("isNewUnit", () => {
  it("is so for a DataVolume without a claim alone: what is to be cleaned up waits for nobody", () => {
    const cache = new ClusterCache();
    assert.equal(isNewUnit(THIS, cache), false);
    cache.apply(dataVolume());
    assert.equal(isNewUnit(THIS, cache), true);
    cache.apply(claim());
    assert.equal(isNewUnit(THIS, cache), false);
    assert.equal(isNewUnit(CONFIG_KEY, cache), false);
  });
});
