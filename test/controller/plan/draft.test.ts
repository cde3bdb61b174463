import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { applyPatch, ImportDraft, onlyChanges } from "../../../controller/plan/draft.ts";
import type { MergePatch } from "../../../controller/plan/action.ts";
import {
  claim,
  observed,
  outline,
  pod,
  populatedClaim,
  primeOf,
  unborn,
  volumeOf,
} from "../../support/observed-import.ts";

const target = populatedClaim({ annotations: { kept: "1", gone: "2" }, labels: { app: "a" } });
const prime = primeOf(target);

function draftOf(parts: Parameters<typeof observed>[0] = {}): ImportDraft {
  return new ImportDraft(observed({ target, prime, ...parts }));
}

function patchesOf(draft: ImportDraft): MergePatch[] {
  return draft.actions.flatMap((action) => (action.do === "patch" ? [action.patch] : []));
}

describe("ImportDraft", () => {
  it("makes no patch of what is so already", () => {
    const draft = draftOf();
    draft.annotate(target, { kept: "1", absent: undefined });
    draft.label(target, { app: "a" });
    draft.patch(target, { spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } } });
    draft.patch(target, { status: { phase: "Pending" } }, { status: true });
    assert.deepEqual(draft.actions, []);
  });

  it("keeps of a patch only what changes something, and removes by null", () => {
    const draft = draftOf();
    draft.annotate(target, { kept: "1", gone: undefined, fresh: "3" });
    assert.deepEqual(patchesOf(draft), [{ metadata: { annotations: { gone: null, fresh: "3" } } }]);
  });

  it("merges patches of one object, whatever is done to others between", () => {
    const draft = draftOf();
    draft.annotate(target, { first: "1" });
    draft.annotate(prime, { other: "2" });
    draft.event(target, "Normal", "Said", "something");
    draft.label(target, { second: "2" });
    assert.deepEqual(draft.actions.length, 3);
    assert.deepEqual(patchesOf(draft), [
      { metadata: { annotations: { first: "1" }, labels: { second: "2" } } },
      { metadata: { annotations: { other: "2" } } },
    ]);
  });

  it("keeps status and the rest of an object apart", () => {
    const draft = draftOf();
    draft.annotate(target, { first: "1" });
    draft.patch(target, { status: { phase: "Bound" } }, { status: true });
    draft.patch(target, { status: { capacity: { storage: "1Gi" } } }, { status: true });
    draft.annotate(target, { second: "2" });
    assert.deepEqual(
      draft.actions.map((action) => action.do === "patch" && [action.subresource, action.patch]),
      [
        [undefined, { metadata: { annotations: { first: "1" } } }],
        ["status", { status: { phase: "Bound", capacity: { storage: "1Gi" } } }],
        [undefined, { metadata: { annotations: { second: "2" } } }],
      ],
      // The patch of status lies between: what comes after it may depend on it.
    );
  });

  it("never merges a checked patch, nor anything into it", () => {
    const volume = volumeOf(prime);
    const draft = draftOf({ volume });
    draft.annotate(volume, { before: "1" });
    draft.patch(volume, { spec: { persistentVolumeReclaimPolicy: "Retain" } }, { checked: true });
    draft.annotate(volume, { after: "2" });
    assert.deepEqual(
      draft.actions.map((action) => action.do === "patch" && action.resourceVersion),
      [undefined, "1", undefined],
    );
  });

  it("makes a patch after a delete one of its own", () => {
    const draft = draftOf();
    draft.annotate(prime, { first: "1" });
    draft.delete(prime);
    draft.annotate(prime, { second: "2" });
    assert.deepEqual(
      outline(draft.actions).map((line) => line.split(" ")[0]),
      ["patch", "delete", "patch"],
    );
  });

  it("shows later steps the objects as the earlier ones leave them", () => {
    const draft = draftOf();
    draft.annotate(target, { first: "1" });
    // By a step that still holds the object as it was.
    draft.annotate(target, { second: "2" });
    assert.deepEqual(draft.now.target?.metadata.annotations, { kept: "1", gone: "2", first: "1", second: "2" });
    draft.annotate(target, { second: undefined });
    assert.equal(draft.now.target?.metadata.annotations?.["second"], undefined);

    draft.create(pod(), "worker");
    assert.equal(draft.now.worker?.kind, "Pod");
    draft.delete(prime);
    assert.equal(draft.now.prime, undefined);
  });

  it("tells a target from a prime, and a claim from a pod of its name", () => {
    const draft = draftOf({ worker: pod({ name: prime.metadata.name }) });
    draft.annotate(prime, { mine: "1" });
    assert.equal(draft.now.target?.metadata.annotations?.["mine"], undefined);
    assert.equal(draft.now.worker?.metadata.annotations, undefined);
    assert.equal(draft.now.prime?.metadata.annotations?.["mine"], "1");
  });

  it("refuses to change or delete what does not exist yet", () => {
    const draft = draftOf();
    const created = unborn(claim({ name: "new" }));
    assert.throws(() => draft.annotate(created, { any: "1" }), /does not exist yet/);
    assert.throws(() => draft.delete(created), /does not exist yet/);
  });

  it("keeps the first problem", () => {
    const draft = draftOf();
    draft.problem("First", "the cause");
    draft.problem("Second", "what follows", { phase: "Failed" });
    assert.deepEqual(draft.foundProblem, { reason: "First", message: "the cause" });
  });
});

describe("onlyChanges", () => {
  const current = { list: [1, { a: 1 }], map: { a: 1, b: { c: 2 } }, text: "x" };
  const rows: readonly [string, MergePatch, MergePatch | undefined][] = [
    ["nothing", {}, undefined],
    ["an equal list", { list: [1, { a: 1 }] }, undefined],
    ["a list, whole", { list: [1, { a: 1 }, 2] }, { list: [1, { a: 1 }, 2] }],
    ["a leaf deep inside", { map: { a: 1, b: { c: 3 } } }, { map: { b: { c: 3 } } }],
    ["null for what is not there", { other: null, map: { z: null } }, undefined],
    ["null for what is", { text: null }, { text: null }],
    ["a map over a text", { text: { a: 1 } }, { text: { a: 1 } }],
    ["a map over nothing", { other: { a: { b: 1 } } }, { other: { a: { b: 1 } } }],
  ];
  for (const [name, patch, expected] of rows) {
    it(name, () => assert.deepEqual(onlyChanges(current, patch), expected));
  }

  it("gives what applied is the same as the whole patch", () => {
    for (const [, patch] of rows) {
      assert.deepEqual(applyPatch(current, onlyChanges(current, patch) ?? {}), applyPatch(current, patch));
    }
  });
});
