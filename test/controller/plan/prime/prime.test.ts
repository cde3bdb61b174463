import assert from "node:assert/strict";
import { describe, it } from "node:test";

import type { Claim } from "../../../../controller/api/kube.ts";
import { ANNOTATIONS } from "../../../../controller/api/names.ts";
import { claimToFill } from "../../../../controller/plan/claim-to-fill.ts";
import { ImportDraft } from "../../../../controller/plan/draft.ts";
import { planPrime } from "../../../../controller/plan/prime/prime.ts";
import {
  claim,
  dataVolume,
  importSource,
  LOCAL_CLASS,
  observed,
  outline,
  populatedClaim,
  primeOf,
  unborn,
  volumeOf,
  WAITING_CSI_CLASS,
} from "../../../support/observed-import.ts";

const target = populatedClaim();
const source = importSource();
const CREATED = ["create PersistentVolumeClaim prime-target-uid", "event CreatedPVCPrimeSuccessfully"];

type Parts = Parameters<typeof observed>[0];

function planned(parts: Parts): ImportDraft {
  const draft = new ImportDraft(observed({ target, source, ...parts }));
  planPrime(draft);
  return draft;
}

function actionsOf(parts: Parts): string[] {
  return outline(planned(parts).actions);
}

describe("planPrime", () => {
  it("creates the prime of a claim, and tells its user", () => {
    assert.deepEqual(actionsOf({}), CREATED);
  });

  it("leaves telling to a DataVolume", () => {
    assert.deepEqual(actionsOf({ dataVolume: dataVolume() }), CREATED.slice(0, 1));
  });

  it("shows the prime to later steps", () => {
    assert.equal(planned({}).now.prime?.metadata.name, "prime-target-uid");
  });

  it("fills several claims from one source", () => {
    const reference = { apiGroup: "cdi.kubevirt.io", kind: "VolumeImportSource", name: "shared" };
    const shared = importSource({ name: "shared" });
    const names = ["first", "second"].map((name) => {
      const one = populatedClaim({ name, spec: { dataSourceRef: reference } });
      return actionsOf({ name, target: one, source: shared })[0];
    });
    assert.deepEqual(
      names,
      ["prime-first-uid", "prime-second-uid"].map((name) => `create PersistentVolumeClaim ${name}`),
    );
  });

  const pins: readonly [string | undefined, boolean][] = [
    [undefined, true],
    ["", true],
    ["fedora", true],
    ["another", false],
  ];
  for (const [targetClaim, expected] of pins) {
    it(`source for ${targetClaim ?? "any claim"}: ${expected}`, () => {
      const pinned = importSource({ spec: targetClaim === undefined ? {} : { targetClaim } });
      assert.deepEqual(actionsOf({ source: pinned }), expected ? CREATED : []);
    });
  }

  const promise = {
    [ANNOTATIONS.originalReclaimPolicy]: "Delete",
    [ANNOTATIONS.meantFor]: "images/fedora/target-uid",
  };
  const ownDataSource = { apiGroup: "cdi.kubevirt.io", kind: "VolumeImportSource", name: "any" };
  const idle: readonly [string, Parts][] = [
    ["there is no target", { target: undefined }],
    ["the target was made in this pass", { target: unborn(target) }],
    [
      "the target is being deleted",
      { target: populatedClaim({ metadata: { deletionTimestamp: "2026-09-01T12:00:00Z" } }) },
    ],
    [
      "its DataVolume is being deleted",
      { dataVolume: dataVolume({ metadata: { deletionTimestamp: "2026-09-01T12:00:00Z" } }) },
    ],
    [
      "it was restored with its data",
      { target: populatedClaim({ annotations: { [ANNOTATIONS.populatedFor]: "fedora" } }) },
    ],
    ["the target is bound", { target: populatedClaim({ status: { phase: "Bound" } }) }],
    ["the target is lost", { target: populatedClaim({ status: { phase: "Lost" } }) }],
    ["the binder is about to bind it", { target: populatedClaim({ spec: { volumeName: "pvc-1" } }) }],
    ["a source is missing", { source: undefined }],
    ["the prime is there", { prime: primeOf(target) }],
    [
      "the prime is being deleted",
      { prime: primeOf(target, { metadata: { deletionTimestamp: "2026-09-01T12:00:00Z" } }) },
    ],
    ["a filled volume is promised to it", { promised: [volumeOf(primeOf(target), { annotations: promise })] }],
    ["it waits for a consumer", { target: populatedClaim({ spec: { storageClassName: WAITING_CSI_CLASS } }) }],
    ["it has no data source", { target: claim() }],
    ["it is imported in place", { target: claim({ annotations: { [ANNOTATIONS.importSource]: "http" } }) }],
    [
      "its data source is of another group",
      { target: claim({ spec: { dataSourceRef: { ...ownDataSource, apiGroup: "example.org" } } }) },
    ],
    [
      "its data source is to be uploaded",
      { target: claim({ spec: { dataSourceRef: { ...ownDataSource, kind: "VolumeUploadSource" } } }) },
    ],
    ["its data source has no name", { target: claim({ spec: { dataSourceRef: { ...ownDataSource, name: "" } } }) }],
    [
      "its data source is in another namespace",
      { target: claim({ spec: { dataSourceRef: { ...ownDataSource, namespace: "other" } } }) },
    ],
  ];
  for (const [name, parts] of idle) {
    it(`does nothing while ${name}`, () => assert.deepEqual(actionsOf(parts), []));
  }

  it("makes a prime anew where a volume is promised to an earlier claim of the name", () => {
    const earlier = volumeOf(claim(), { annotations: { ...promise, [ANNOTATIONS.meantFor]: "images/fedora/earlier" } });
    assert.deepEqual(actionsOf({ promised: [earlier] }), CREATED);
  });
});

describe("planPrime, where the provisioner has taken the node back", () => {
  const node = { [ANNOTATIONS.selectedNode]: "node-1" };
  const waiting = { spec: { storageClassName: WAITING_CSI_CLASS } };
  const placed = populatedClaim({ ...waiting, annotations: node });

  it("has another selected, and begins there", () => {
    const draft = planned({ target: placed, prime: primeOf(placed) });
    const lines = ["delete PersistentVolumeClaim prime-target-uid", "patch PersistentVolumeClaim fedora"];
    assert.deepEqual(outline(draft.actions), [...lines, "event ErrCreatingPVCPrime"]);
    assert.equal(draft.now.target?.metadata.annotations?.[ANNOTATIONS.selectedNode], undefined);
    assert.deepEqual(actionsOf({ target: draft.now.target }), []);
  });

  const immediate = populatedClaim({ ...waiting, annotations: { ...node, [ANNOTATIONS.immediateBind]: "" } });
  const idle: readonly [string, Parts][] = [
    ["it has not", { target: placed, prime: primeOf(placed, { annotations: node }) }],
    ["the volume is there", { target: placed, prime: primeOf(placed, { status: { phase: "Bound" } }) }],
    ["the volume is about to be bound", { target: placed, prime: primeOf(placed, { spec: { volumeName: "pvc-1" } }) }],
    ["the worker is the first consumer", { target: immediate, prime: primeOf(immediate) }],
    ["the class does not wait", { target: populatedClaim({ annotations: node }), prime: primeOf(placed) }],
    ["the target's is gone, too", { target: populatedClaim(waiting), prime: primeOf(placed) }],
    [
      "the prime is going",
      { target: placed, prime: primeOf(placed, { metadata: { deletionTimestamp: "2026-09-01T12:00:00Z" } }) },
    ],
    ["the target is bound", { target: { ...placed, status: { phase: "Bound" } }, prime: primeOf(placed) }],
  ];
  for (const [name, parts] of idle) {
    it(`does not where ${name}`, () => assert.deepEqual(actionsOf(parts), []));
  }
});

describe("planPrime, where it cannot", () => {
  const onLocal = populatedClaim({ spec: { storageClassName: LOCAL_CLASS } });
  const WARNING = ["patch PersistentVolumeClaim fedora", "event ErrCreatingPVCPrime"];

  it("warns a claim of a class without CSIDriver once", () => {
    const draft = planned({ target: onLocal });
    assert.deepEqual(outline(draft.actions), WARNING);
    assert.match(draft.now.target?.metadata.annotations?.[ANNOTATIONS.warned] ?? "", /no CSIDriver/);
    assert.deepEqual(actionsOf({ target: draft.now.target }), []);
  });

  it("warns again when the provisioner has bound it, and takes it back when it goes on", () => {
    const warned = planned({ target: onLocal }).now.target;
    assert.ok(warned !== undefined);
    const bound: Claim = { ...warned, status: { phase: "Bound" }, spec: { ...warned.spec, volumeName: "pvc-9" } };
    const draft = planned({ target: bound });
    assert.deepEqual(outline(draft.actions), WARNING);
    assert.match(draft.now.target?.metadata.annotations?.[ANNOTATIONS.warned] ?? "", /was not filled$/);

    const moved = { ...warned, spec: target.spec };
    assert.deepEqual(actionsOf({ target: moved }), [WARNING[0], ...CREATED]);
    assert.equal(planned({ target: moved }).now.target?.metadata.annotations?.[ANNOTATIONS.warned], undefined);
  });

  it("says nothing of a bound claim that it has filled", () => {
    const annotations = { [ANNOTATIONS.prime]: "prime-target-uid", [ANNOTATIONS.podPhase]: "Succeeded" };
    const filled = populatedClaim({ annotations, status: { phase: "Bound" }, spec: { storageClassName: LOCAL_CLASS } });
    assert.deepEqual(actionsOf({ target: filled }), []);
  });

  it("reports to a DataVolume instead", () => {
    const draft = planned({ target: onLocal, dataVolume: dataVolume() });
    assert.deepEqual(draft.actions, []);
    assert.equal(draft.foundProblem?.reason, "ErrCreatingPVCPrime");
  });

  it("names a source that says nothing", () => {
    assert.deepEqual(actionsOf({ source: importSource({ spec: { source: {} } }) }), WARNING);
  });

  it("leaves a claim of the prime's name alone that another has made", () => {
    const foreign = claim({ name: "prime-target-uid" });
    assert.deepEqual(actionsOf({ prime: foreign }), WARNING);
    assert.equal(claimToFill(observed({ target, prime: foreign })), undefined);
    assert.notEqual(claimToFill(observed({ target, prime: primeOf(target) })), undefined);
  });

  const refusals: readonly [string, string][] = [
    ["exceeded quota: small, requested: requests.storage=1Gi", "ErrExceededQuota"],
    ["admission webhook denied the request", "ErrCreatingPVCPrime"],
  ];
  for (const [message, reason] of refusals) {
    it(`does not ask again at once what the API server refused: ${reason}`, () => {
      const rejected = {
        do: "create",
        kind: "PersistentVolumeClaim",
        name: "prime-target-uid",
        reason: "Forbidden",
        message,
      } as const;
      assert.deepEqual(actionsOf({ rejected }), [WARNING[0], `event ${reason}`]);
      assert.equal(planned({ rejected, dataVolume: dataVolume() }).foundProblem?.reason, reason);
      assert.deepEqual(actionsOf({ rejected: { ...rejected, name: "fedora-scratch" } }), CREATED);
    });
  }
});
