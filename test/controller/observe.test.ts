import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { KubeObject } from "../../controller/api/kube.ts";
import { ClusterCache } from "../../controller/cache.ts";
import { clusterFacts, observe } from "../../controller/observe.ts";
import type { ObservedImport } from "../../controller/plan/observed.ts";
import { NAME, NAMESPACE, populatedClaim, primeOf, settings } from "../support/observed-import.ts";
import { workerOf } from "../support/worker-plan.ts";

/** Plans of whole imports in plan/crash.test.ts and on the fake cluster are made from what is observed; this is the rest. */
describe("observe", () => {
  const earlier = populatedClaim({ uid: "earlier-uid" });
  const target = populatedClaim();
  const leaving = { deletionTimestamp: "2026-09-01T12:00:00Z" };
  const orphaned = primeOf(earlier, { uid: "orphan-uid" });
  const deleted = { ...orphaned, metadata: { ...orphaned.metadata, ...leaving } };
  const worker = workerOf(deleted);

  it("finds the workers of deleted primes of earlier claims", () => {
    const names = (objects: readonly KubeObject[]): readonly string[] => {
      return observed(objects).orphans.map(({ metadata }) => metadata.name);
    };
    assert.deepEqual(names([deleted, worker]), [worker.metadata.name]);
    assert.deepEqual(names([target, deleted, worker]), [worker.metadata.name]);
    assert.deepEqual(names([earlier, deleted, worker]), [], "it is the worker of this import");
    assert.deepEqual(names([orphaned, workerOf(orphaned)]), [], "the garbage collector comes to it");
  });

  it("knows them by their owner, which controls none that imports an image stream", () => {
    const ownerReferences = worker.metadata.ownerReferences?.map((one) => ({ ...one, controller: false })) ?? [];
    const ofStream = { ...worker, metadata: { ...worker.metadata, ownerReferences } };
    assert.equal(observed([deleted, ofStream]).orphans.length, 1);
    const stranger = { ...worker, metadata: { ...worker.metadata, ownerReferences: [] } };
    assert.equal(observed([deleted, stranger]).orphans.length, 0);
  });
});

function observed(objects: readonly KubeObject[]): ObservedImport {
  const cache = new ClusterCache();
  for (const object of objects) cache.apply(object);
  const asides = { pending: undefined, rejected: undefined, progress: undefined };
  const facts = clusterFacts(cache, settings());
  return observe(cache, { namespace: NAMESPACE, name: NAME, now: new Date(), asides, facts });
}
