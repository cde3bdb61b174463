/**
 * A DataVolume without a claim: what is made, in which order, and what is said where nothing can be.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { DataVolume } from "../../../../controller/api/cdi.ts";
import { ImportDraft } from "../../../../controller/plan/draft.ts";
import type { ObservedImport, Rejection } from "../../../../controller/plan/observed.ts";
import { planTarget } from "../../../../controller/plan/target/target.ts";
import {
  cdiConfig,
  claim,
  CSI_CLASS,
  dataVolume,
  importSource,
  LOCAL_CLASS,
  NAME,
  NAMESPACE,
  observed,
  outline,
  storageProfile,
  volumeOf,
} from "../../../support/observed-import.ts";

const USE_POPULATOR = "cdi.kubevirt.io/storage.usePopulator";

type Overrides = Parameters<typeof observed>[0] & { readonly cluster?: Partial<ObservedImport["cluster"]> };

function draftFor(made: DataVolume, overrides: Overrides = {}): ImportDraft {
  const config = cdiConfig({ featureGates: ["HonorWaitForFirstConsumer"] });
  const draft = new ImportDraft(
    observed({ dataVolume: made, ...overrides, cluster: { config, ...overrides.cluster } }),
  );
  planTarget(draft);
  return draft;
}

function onClass(storageClassName: string, more: Partial<DataVolume["spec"]> = {}): DataVolume["spec"] {
  const pvc = {
    accessModes: ["ReadWriteOnce"],
    resources: { requests: { storage: "1Gi" } },
    storageClassName,
  } as const;
  return { source: { blank: {} }, pvc, ...more };
}

describe("planTarget", () => {
  it("on a CSI class: the choice, the source, the claim", () => {
    const draft = draftFor(dataVolume());
    assert.deepEqual(outline(draft.actions), [
      "patch DataVolume fedora",
      "create VolumeImportSource volume-import-source-dv-uid",
      "create PersistentVolumeClaim fedora",
    ]);
    const [first] = draft.actions;
    assert.deepEqual(first?.do === "patch" && first.patch, { metadata: { annotations: { [USE_POPULATOR]: "true" } } });
    assert.equal(draft.now.target?.spec.dataSourceRef?.name, "volume-import-source-dv-uid");
    assert.equal(draft.now.source?.kind, "VolumeImportSource");
    assert.equal(draft.foundProblem, undefined);
  });

  it("on another class: the choice, and the claim with what to import", () => {
    const draft = draftFor(dataVolume({ spec: onClass(LOCAL_CLASS) }));
    assert.deepEqual(outline(draft.actions), ["patch DataVolume fedora", "create PersistentVolumeClaim fedora"]);
    assert.equal(draft.now.target?.metadata.annotations?.["cdi.kubevirt.io/storage.import.source"], "none");
  });

  it("a choice that was made is not written again, nor is a source that is there", () => {
    const draft = draftFor(dataVolume({ annotations: { [USE_POPULATOR]: "true" } }), { source: importSource() });
    assert.deepEqual(outline(draft.actions), ["create PersistentVolumeClaim fedora"]);
  });

  it("a storage spec is rendered", () => {
    const profiles = [
      storageProfile(CSI_CLASS, {
        status: { claimPropertySets: [{ accessModes: ["ReadWriteMany"], volumeMode: "Filesystem" }] },
      }),
    ];
    const storage = { storageClassName: CSI_CLASS, resources: { requests: { storage: "10Gi" } } };
    const draft = draftFor(dataVolume({ spec: { source: { blank: {} }, storage } }), { cluster: { profiles } });
    assert.equal(draft.now.target?.spec.resources?.requests?.["storage"], "11381663335");
    assert.deepEqual(draft.now.target.spec.accessModes, ["ReadWriteMany"]);
  });

  for (const [name, made] of [
    ["without a DataVolume", undefined],
    ["of a DataVolume that goes", dataVolume({ metadata: { deletionTimestamp: "2026-09-01T12:00:00Z" } })],
    ["whose claim comes from a backup", dataVolume({ annotations: { "cdi.kubevirt.io/storage.prePopulated": NAME } })],
  ] as const) {
    it(`makes nothing ${name}`, () => {
      const draft = new ImportDraft(observed({ dataVolume: made, cluster: { config: cdiConfig() } }));
      planTarget(draft);
      assert.deepEqual(draft.actions, []);
      assert.equal(draft.foundProblem, undefined);
    });
  }

  it("waits for CDIConfig, which decides for good", () => {
    const draft = new ImportDraft(observed({ dataVolume: dataVolume() }));
    planTarget(draft);
    assert.deepEqual(outline(draft.actions), ["again"]);
  });
});

const reference = { apiGroup: "populators.test", kind: "Hello", name: "world" };
const snapshot = { apiGroup: "snapshot.storage.k8s.io", kind: "VolumeSnapshot", name: "s" };

function external(storageClassName: string, dataSourceRef: typeof reference): DataVolume {
  return dataVolume({ spec: { pvc: { ...onClass(storageClassName).pvc, dataSourceRef } } });
}

const PROBLEMS: readonly [string, DataVolume, string, RegExp, string | undefined][] = [
  [
    "no profile",
    dataVolume({ spec: { source: { blank: {} }, storage: { storageClassName: CSI_CLASS } } }),
    "ErrClaimNotValid",
    /no StorageProfile/,
    "",
  ],
  [
    "a source without a member",
    dataVolume({ spec: onClass(CSI_CLASS, { source: {} }) }),
    "ErrClaimNotValid",
    /names no source/,
    "",
  ],
  [
    "an upload",
    dataVolume({ spec: onClass(CSI_CLASS, { source: { upload: {} } }) }),
    "SourceNotSupported",
    /upload/,
    undefined,
  ],
  [
    "a clone",
    dataVolume({ spec: onClass(CSI_CLASS, { source: { pvc: { namespace: "a", name: "b" } } }) }),
    "SourceNotSupported",
    /pvc/,
    undefined,
  ],
  [
    "a snapshot",
    dataVolume({ spec: onClass(CSI_CLASS, { source: { snapshot: { namespace: "a", name: "b" } } }) }),
    "SourceNotSupported",
    /snapshot/,
    undefined,
  ],
  [
    "a DataSource",
    dataVolume({ spec: { pvc: {}, sourceRef: { kind: "DataSource", name: "golden" } } }),
    "SourceNotSupported",
    /sourceRef/,
    undefined,
  ],
  [
    "a populator that nobody would use",
    dataVolume({ spec: onClass(LOCAL_CLASS), annotations: { [USE_POPULATOR]: "true" } }),
    "NoCSIDriverForPopulator",
    /empty volume/,
    "",
  ],
  [
    "a word that is no truth value",
    dataVolume({ annotations: { [USE_POPULATOR]: "maybe" } }),
    "ErrClaimNotValid",
    /maybe/,
    "",
  ],
  ["others' population without CSI", external(LOCAL_CLASS, reference), "NoCSIDriverForExternalPopulation", /Hello/, ""],
];

describe("planTarget says why there is no claim", () => {
  for (const [name, made, reason, message, phase] of PROBLEMS) {
    it(name, () => {
      const draft = draftFor(made);
      assert.deepEqual(draft.actions, []);
      assert.equal(draft.foundProblem?.reason, reason);
      assert.match(draft.foundProblem.message, message);
      assert.equal(draft.foundProblem.phase, phase);
    });
  }

  const refusal: Rejection = {
    do: "create",
    kind: "PersistentVolumeClaim",
    name: NAME,
    reason: "Forbidden",
    message: "",
  };

  for (const [name, rejected, reason] of [
    ["the claim is over quota", { ...refusal, message: "is forbidden: exceeded quota: q" }, "ErrExceededQuota"],
    ["the claim is invalid", { ...refusal, message: "spec.resources: Required value" }, "ErrClaimNotValid"],
    ["the source is refused", { ...refusal, kind: "VolumeImportSource", name: "x", message: "no" }, "ErrClaimNotValid"],
  ] as const) {
    it(`${name}, and does not ask again`, () => {
      const draft = draftFor(dataVolume(), { rejected });
      assert.deepEqual(draft.actions, []);
      assert.equal(draft.foundProblem?.reason, reason);
      assert.equal(draft.foundProblem.message, rejected.message);
    });
  }

  it("what was refused of another object does not matter here", () => {
    const draft = draftFor(dataVolume(), { rejected: { ...refusal, name: "prime-x" } });
    assert.equal(draft.actions.length, 3);
  });
});

describe("population by others", () => {
  const EXTERNAL = "cdi.kubevirt.io/externalPopulation";

  for (const [name, made, usePopulator] of [
    ["a CSI class", external(CSI_CLASS, reference), "true"],
    ["a snapshot, on any class", external(LOCAL_CLASS, snapshot), "false"],
  ] as const) {
    it(name, () => {
      const draft = draftFor(made);
      assert.deepEqual(outline(draft.actions), ["patch DataVolume fedora", "create PersistentVolumeClaim fedora"]);
      assert.equal(draft.now.target?.metadata.annotations?.[EXTERNAL], "true");
      assert.equal(draft.now.target.metadata.annotations[USE_POPULATOR], usePopulator);
      assert.deepEqual(draft.now.target.spec, made.spec.pvc);
    });
  }

  it("the reference was dropped", () => {
    const made = external(CSI_CLASS, reference);
    const target = claim({ owner: made, annotations: { [EXTERNAL]: "true" } });
    assert.equal(draftFor(made, { target }).foundProblem?.reason, "NoAnyVolumeDataSource");
    const filled = {
      ...target,
      metadata: { ...target.metadata, annotations: { "cdi.kubevirt.io/storage.populatedFor": NAME } },
    };
    assert.equal(draftFor(made, { target: filled }).foundProblem, undefined);
    const kept = claim({ owner: made, spec: { dataSourceRef: reference } });
    assert.equal(draftFor(made, { target: kept }).foundProblem, undefined);
  });
});

describe("a volume that is there", () => {
  const made = dataVolume({ annotations: { "cdi.kubevirt.io/storage.checkStaticVolume": "" } });
  const claimRef = { namespace: NAMESPACE, name: NAME };
  const availableVolumes = [volumeOf(claim(), { name: "pv-1", spec: { claimRef } })];

  it("gets a claim without a source", () => {
    const draft = draftFor(made, { cluster: { availableVolumes } });
    assert.deepEqual(outline(draft.actions), ["create PersistentVolumeClaim fedora"]);
    const { target } = draft.now;
    assert.equal(target?.metadata.annotations?.["cdi.kubevirt.io/storage.persistentVolumeList"], '["pv-1"]');
    assert.equal(target.spec.dataSourceRef, undefined);
  });

  it("is for an upload, too", () => {
    const upload = { ...made, spec: { ...made.spec, source: { upload: {} } } };
    assert.equal(draftFor(upload, { cluster: { availableVolumes } }).actions.length, 1);
  });

  it("is looked for only where that is asked for", () => {
    assert.equal(draftFor(dataVolume(), { cluster: { availableVolumes } }).actions.length, 3);
  });

  it("is not there: an import as any other", () => {
    assert.equal(draftFor(made).actions.length, 3);
  });
});
