/**
 * A DataVolume whose claim is there: adoption (contract 2.1), volumes that were there (2.7), and what is left to do.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { DataVolume } from "../../../../controller/api/cdi.ts";
import type { Claim } from "../../../../controller/api/kube.ts";
import { ImportDraft } from "../../../../controller/plan/draft.ts";
import type { ObservedImport } from "../../../../controller/plan/observed.ts";
import { planTarget } from "../../../../controller/plan/target/target.ts";
import {
  claim,
  dataVolume,
  importSource,
  observed,
  outline,
  pod,
  populatedClaim,
  volumeOf,
} from "../../../support/observed-import.ts";

const PREFIX = "cdi.kubevirt.io/";
const POPULATED_FOR = `${PREFIX}storage.populatedFor`;
const PRE_POPULATED = `${PREFIX}storage.prePopulated`;
const LIST = `${PREFIX}storage.persistentVolumeList`;
const CREATED_FOR = { [`${PREFIX}createdForDataVolume`]: "dv-uid" };

function draftFor(
  made: DataVolume,
  target: Claim,
  overrides: Partial<Omit<ObservedImport, "cluster">> = {},
): ImportDraft {
  const draft = new ImportDraft(observed({ dataVolume: made, target, ...overrides }));
  planTarget(draft);
  return draft;
}

const made = dataVolume();
const bound = { phase: "Bound" } as const;

describe("a claim of another", () => {
  const adoptable = dataVolume({ annotations: { [`${PREFIX}allowClaimAdoption`]: "true" } });

  it("is left, and that is said", () => {
    const draft = draftFor(made, claim());
    assert.deepEqual(draft.actions, []);
    assert.deepEqual(draft.foundProblem, {
      reason: "ErrResourceExists",
      message: 'Resource "fedora" already exists and is not managed by DataVolume',
    });
  });

  for (const [name, one, target] of [
    ["allowed", adoptable, claim()],
    ["populated for it", made, claim({ annotations: { [POPULATED_FOR]: "fedora" } })],
    [
      "with an owner that is no controller",
      adoptable,
      claim({ metadata: { ownerReferences: [{ apiVersion: "v1", kind: "ConfigMap", name: "c", uid: "c" }] } }),
    ],
  ] as const) {
    it(`is adopted where that is ${name}`, () => {
      const draft = draftFor(one, target);
      assert.deepEqual(outline(draft.actions), ["patch PersistentVolumeClaim fedora"]);
      const [action] = draft.actions;
      assert.equal(action?.do === "patch" && action.resourceVersion, "1");
      const owners = draft.now.target?.metadata.ownerReferences ?? [];
      assert.equal(owners.length, (target.metadata.ownerReferences?.length ?? 0) + 1);
      assert.equal(owners.at(-1)?.uid, "dv-uid");
      assert.equal(draft.foundProblem, undefined);
    });
  }

  it("is not taken away from its controller", () => {
    const draft = draftFor(adoptable, claim({ owner: pod() }));
    assert.deepEqual(draft.actions, []);
    assert.match(draft.foundProblem?.message ?? "", /managed by Pod importer-fedora/);
  });

  it("is not adopted if it was made for this DataVolume and lost its owner", () => {
    assert.equal(draftFor(adoptable, claim({ annotations: CREATED_FOR })).foundProblem?.reason, "ErrResourceExists");
  });

  it("that goes is waited for", () => {
    const going = { deletionTimestamp: "2026-09-01T12:00:00Z" };
    for (const target of [claim({ metadata: going }), claim({ owner: made, metadata: going })]) {
      const draft = draftFor(made, target);
      assert.deepEqual(draft.actions, []);
      assert.equal(draft.foundProblem?.reason, "ErrResourceMarkedForDeletion");
    }
  });

  it("adopted once, needs nothing more", () => {
    assert.deepEqual(draftFor(adoptable, claim({ owner: adoptable })).actions, []);
  });
});

describe("a claim for volumes that are there", () => {
  const waiting = { owner: made, annotations: { ...CREATED_FOR, [LIST]: '["pv-1","pv-2"]' } };

  it("waits", () => {
    const draft = draftFor(made, claim(waiting));
    assert.deepEqual(draft.actions, []);
    assert.equal(draft.foundProblem, undefined);
  });

  it("bound to one of them, holds the disk", () => {
    const draft = draftFor(made, claim({ ...waiting, spec: { volumeName: "pv-2" }, status: bound }));
    assert.deepEqual(outline(draft.actions), ["patch PersistentVolumeClaim fedora", "patch DataVolume fedora"]);
    const { [LIST]: list, [POPULATED_FOR]: populatedFor } = draft.now.target?.metadata.annotations ?? {};
    assert.deepEqual([list, populatedFor], [undefined, "fedora"]);
    assert.equal(draft.now.dataVolume?.metadata.annotations?.[PRE_POPULATED], "fedora");
  });

  const wrong = claim({ ...waiting, spec: { volumeName: "pvc-9" }, status: bound });
  const annotations = { "pv.kubernetes.io/provisioned-by": "disks.example.org" };

  it("bound to a new one instead, is made again", () => {
    const volume = volumeOf(wrong, { annotations });
    const draft = draftFor(made, wrong, { volume });
    assert.deepEqual(outline(draft.actions), ["delete PersistentVolumeClaim fedora"]);
  });

  it("bound to one that may hold something, is left", () => {
    for (const volume of [undefined, volumeOf(wrong)]) {
      const draft = draftFor(made, wrong, { volume });
      assert.deepEqual(draft.actions, []);
      assert.equal(draft.foundProblem?.reason, "UnexpectedVolume");
    }
  });
});

describe("the VolumeImportSource", () => {
  const succeeded = { phase: "Succeeded" };
  const done = dataVolume({ status: succeeded });
  const podPhase = (phase: string) => ({ ...CREATED_FOR, [`${PREFIX}storage.pod.phase`]: phase });
  const source = { ...importSource(), metadata: { ...importSource().metadata, ownerReferences: ownersOf(made) } };

  for (const [name, one, target, there, wanted] of [
    [
      "is made again while it is needed",
      made,
      populatedClaim({ owner: made, annotations: CREATED_FOR }),
      undefined,
      "create",
    ],
    [
      "stays until the DataVolume has succeeded",
      made,
      populatedClaim({ owner: made, annotations: podPhase("Succeeded") }),
      source,
      undefined,
    ],
    ["goes then", done, populatedClaim({ owner: made, annotations: podPhase("Succeeded") }), source, "delete"],
    [
      "does not come back",
      done,
      populatedClaim({ owner: made, annotations: podPhase("Succeeded") }),
      undefined,
      undefined,
    ],
    [
      "is not for a claim that came with its disk",
      made,
      populatedClaim({ owner: made, annotations: { [POPULATED_FOR]: "fedora" } }),
      undefined,
      undefined,
    ],
    [
      "goes where the claim came with its disk",
      made,
      populatedClaim({ owner: made, annotations: { [POPULATED_FOR]: "fedora" } }),
      source,
      "delete",
    ],
    [
      "is not for a claim filled in place",
      made,
      claim({ owner: made, annotations: CREATED_FOR }),
      undefined,
      undefined,
    ],
    [
      "of somebody else is left",
      done,
      populatedClaim({ owner: made, annotations: podPhase("Succeeded") }),
      importSource(),
      undefined,
    ],
  ] as const) {
    it(name, () => {
      const { actions } = draftFor(one, target, { source: there });
      assert.deepEqual(
        actions.map((action) => action.do),
        wanted === undefined ? [] : [wanted],
      );
    });
  }

  it("learns of a new stage", () => {
    const checkpoints = [
      { previous: "", current: "one" },
      { previous: "one", current: "two" },
    ];
    const imageio = { url: "https://engine.test", diskId: "d" };
    const staged = dataVolume({ spec: { source: { imageio }, pvc: {}, checkpoints, finalCheckpoint: true } });
    const target = populatedClaim({ owner: staged, annotations: CREATED_FOR });
    const first = { ...source, spec: { ...source.spec, checkpoints: checkpoints.slice(0, 1) } };
    const [action, ...others] = draftFor(staged, target, { source: first }).actions;
    assert.deepEqual(others, []);
    assert.deepEqual(action?.do === "patch" && action.patch, { spec: { checkpoints, finalCheckpoint: true } });
  });
});

function ownersOf(one: DataVolume) {
  return claim({ owner: one }).metadata.ownerReferences ?? [];
}

describe("what is written when the claim is filled", () => {
  it("populatedFor comes to the claim after Succeeded", () => {
    const annotations = { [POPULATED_FOR]: "fedora" };
    const target = claim({ owner: made, annotations: CREATED_FOR });
    assert.deepEqual(draftFor(dataVolume({ annotations }), target).actions, []);
    const draft = draftFor(dataVolume({ annotations, status: { phase: "Succeeded" } }), target);
    assert.equal(draft.now.target?.metadata.annotations?.[POPULATED_FOR], "fedora");
  });

  it("prePopulated comes to the DataVolume when such a claim is bound", () => {
    const target = claim({ owner: made, annotations: { [POPULATED_FOR]: "fedora" } });
    assert.deepEqual(draftFor(made, target).actions, []);
    const draft = draftFor(made, { ...target, status: bound });
    assert.equal(draft.now.dataVolume?.metadata.annotations?.[PRE_POPULATED], "fedora");
  });

  const INSTANCETYPE = "instancetype.kubevirt.io/default-instancetype";
  const image = dataVolume({ spec: { source: { registry: { url: "docker://registry.test/disk" } }, pvc: {} } });
  const annotations = { ...CREATED_FOR, [`${PREFIX}storage.pod.phase`]: "Succeeded" };
  const labels = { [INSTANCETYPE]: "u1.small", other: "x" };

  for (const [name, one, target, wanted] of [
    ["from a container image", image, claim({ owner: image, annotations, labels }), { [INSTANCETYPE]: "u1.small" }],
    ["not before the end", image, claim({ owner: image, annotations: CREATED_FOR, labels }), undefined],
    ["not from elsewhere", made, claim({ owner: made, annotations, labels }), undefined],
    [
      "not over a person's",
      { ...image, metadata: { ...image.metadata, labels: { "instancetype.kubevirt.io/default-preference": "p" } } },
      claim({ owner: image, annotations, labels }),
      { "instancetype.kubevirt.io/default-preference": "p" },
    ],
  ] as const) {
    it(`instance type: ${name}`, () => {
      assert.deepEqual(draftFor(one, target).now.dataVolume?.metadata.labels, wanted);
    });
  }
});
