import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { KubeObject } from "../../controller/api/kube.ts";
import { observeAmong } from "../support/observe-among.ts";
import { populatedClaim, primeOf } from "../support/observed-import.ts";
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
    assert.deepEqual(orphansAmong([deleted, worker]), [worker.metadata.name]);
    assert.deepEqual(orphansAmong([target, deleted, worker]), [worker.metadata.name]);
    assert.deepEqual(orphansAmong([earlier, deleted, worker]), [], "it is the worker of this import");
    assert.deepEqual(orphansAmong([orphaned, workerOf(orphaned)]), [], "the garbage collector comes to it");
  });

  it("knows them by their owner, which controls none that imports an image stream", () => {
    const ownerReferences = worker.metadata.ownerReferences?.map((one) => ({ ...one, controller: false })) ?? [];
    const ofStream = { ...worker, metadata: { ...worker.metadata, ownerReferences } };
    assert.equal(orphansAmong([deleted, ofStream]).length, 1);
    const stranger = { ...worker, metadata: { ...worker.metadata, ownerReferences: [] } };
    assert.equal(orphansAmong([deleted, stranger]).length, 0);
  });
});

function orphansAmong(objects: readonly KubeObject[]): readonly string[] {
  return observeAmong(objects, new Date()).orphans.map(({ metadata }) => metadata.name);
}
