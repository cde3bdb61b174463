/**
 * Contract 9.1, rule by rule: what a profile's status says of its class, and when there is nothing to do.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { StorageProfile, StorageProfileSpec } from "../../../../controller/api/cdi.ts";
import type { AccessMode, StorageClass, Volume } from "../../../../controller/api/kube.ts";
import { planProfile } from "../../../../controller/plan/cluster/profile.ts";
import type { ObservedProfile, SnapshotClass } from "../../../../controller/plan/cluster/profile.ts";
import { applyPatch } from "../../../../controller/plan/draft.ts";
import { claim, outline, storageClass, storageProfile, volumeOf } from "../../../support/observed-import.ts";

const NAME = "fast";
const LABELS = { app: "containerized-data-importer", "cdi.kubevirt.io": "" };

function observedProfile(overrides: Partial<ObservedProfile> = {}): ObservedProfile {
  return {
    now: new Date("2026-09-01T12:00:00.123Z"),
    storageClass: storageClass({ name: NAME }),
    profile: { ...storageProfile(NAME), metadata: { name: NAME, uid: "profile-uid", labels: LABELS } },
    volumes: [],
    snapshotClasses: [],
    ...overrides,
  };
}

/** The status after the plan; without the conditions, which have tests of their own. */
function statusFor(overrides: Partial<ObservedProfile>): Record<string, unknown> {
  const { conditions: _, ...status } = statusAndConditions(overrides);
  return status;
}

function statusAndConditions(overrides: Partial<ObservedProfile>): NonNullable<StorageProfile["status"]> {
  const seen = observedProfile(overrides);
  const action = planProfile(seen).find((one) => one.do === "patch" && one.subresource === "status");
  assert.ok(action?.do === "patch" && seen.profile !== undefined);
  return applyPatch(seen.profile, action.patch).status ?? {};
}

function profileWith(spec: StorageProfileSpec): StorageProfile {
  return storageProfile(NAME, { spec });
}

function ofProvisioner(provisioner: string, annotations: Record<string, string> = {}): StorageClass {
  return storageClass({ name: NAME, provisioner, annotations });
}

function snapshotClass(name: string, driver: string, more: Partial<SnapshotClass> = {}): SnapshotClass {
  return { apiVersion: "snapshot.storage.k8s.io/v1", kind: "VolumeSnapshotClass", metadata: { name }, driver, ...more };
}

const CEPH = "rbd.csi.ceph.com";
const LOCAL = "rancher.io/local-path";

describe("planProfile", () => {
  it("makes the profile of a class, with its labels and the class's smallest size", () => {
    const seen = observedProfile({ storageClass: ofProvisioner("hspc.csi.hitachi.com"), profile: undefined });
    const [action, ...others] = planProfile(seen);
    assert.deepEqual(others, []);
    assert.ok(action?.do === "create");
    assert.deepEqual(action.object, {
      apiVersion: "cdi.kubevirt.io/v1beta1",
      kind: "StorageProfile",
      metadata: { name: NAME, labels: LABELS, annotations: { "cdi.kubevirt.io/minimumSupportedPvcSize": "1Gi" } },
      spec: {},
    });
  });

  it("goes with its class", () => {
    assert.deepEqual(outline(planProfile(observedProfile({ storageClass: undefined }))), [
      "delete StorageProfile fast",
    ]);
  });

  it("leaves a profile that was written before there is a class", () => {
    assert.deepEqual(planProfile(observedProfile({ storageClass: undefined, profile: storageProfile(NAME) })), []);
    assert.deepEqual(planProfile(observedProfile({ storageClass: undefined, profile: undefined })), []);
  });

  it("makes such a profile its own when the class comes", () => {
    const actions = planProfile(observedProfile({ profile: storageProfile(NAME) }));
    assert.deepEqual(actions[0]?.do === "patch" && actions[0].patch, { metadata: { labels: LABELS } });
  });

  it("does nothing the second time", () => {
    const seen = observedProfile({
      storageClass: ofProvisioner("pd.csi.storage.gke.io"),
      profile: storageProfile(NAME),
    });
    let profile: StorageProfile = storageProfile(NAME);
    for (const action of planProfile(seen)) if (action.do === "patch") profile = applyPatch(profile, action.patch);
    const later = new Date("2026-09-02T12:00:00Z");
    assert.deepEqual(planProfile({ ...seen, profile, now: later }), []);
  });

  it("leaves the smallest size that a person set", () => {
    const annotations = { "cdi.kubevirt.io/minimumSupportedPvcSize": "5Gi" };
    const metadata = { name: NAME, uid: "u", labels: LABELS, annotations };
    const profile = { ...storageProfile(NAME), metadata };
    const actions = planProfile(observedProfile({ storageClass: ofProvisioner("hspc.csi.hitachi.com"), profile }));
    assert.equal(actions.filter((one) => one.do === "patch" && one.subresource === undefined).length, 0);
  });
});

describe("a profile's status", () => {
  it("says what the table says", () => {
    assert.deepEqual(statusFor({ storageClass: ofProvisioner(CEPH) }), {
      storageClass: NAME,
      provisioner: CEPH,
      claimPropertySets: [
        { accessModes: ["ReadWriteMany"], volumeMode: "Block" },
        { accessModes: ["ReadWriteOnce"], volumeMode: "Block" },
        { accessModes: ["ReadWriteOnce"], volumeMode: "Filesystem" },
      ],
      cloneStrategy: "csi-clone",
      dataImportCronSourceFormat: "pvc",
    });
  });

  it("is empty for a provisioner that is not known", () => {
    assert.deepEqual(statusFor({ storageClass: ofProvisioner(LOCAL) })["claimPropertySets"], []);
  });

  it("takes the sets that a person gave", () => {
    const claimPropertySets = [{ accessModes: ["ReadWriteOncePod"], volumeMode: "Block" }] as const;
    const found = statusFor({ storageClass: ofProvisioner(CEPH), profile: profileWith({ claimPropertySets }) });
    assert.deepEqual(found["claimPropertySets"], claimPropertySets);
  });

  it("drops what does not hold any more", () => {
    const profile = storageProfile(NAME, { status: { snapshotClass: "gone", provisioner: "old" } });
    assert.equal("snapshotClass" in statusFor({ profile }), false);
  });

  it("of volumes made by hand: each pair once, shared before single, Block before Filesystem", () => {
    const found = statusFor({
      storageClass: ofProvisioner("kubernetes.io/no-provisioner"),
      volumes: [
        volume("a", ["ReadOnlyMany"]),
        volume("b", ["ReadWriteOnce"]),
        volume("c", ["ReadWriteOnce", "ReadWriteMany"]),
        volume("d", ["ReadWriteOnce"], "Block"),
        volume("e", ["ReadWriteMany"], "Block", "another"),
      ],
    });
    const pairs = (found["claimPropertySets"] as { accessModes: string[]; volumeMode: string }[]).map((set) => {
      return `${set.accessModes.join(",")} ${set.volumeMode}`;
    });
    assert.deepEqual(pairs, [
      "ReadWriteMany Filesystem",
      "ReadWriteOnce Block",
      "ReadWriteOnce Filesystem",
      "ReadOnlyMany Filesystem",
    ]);
  });
});

function volume(name: string, accessModes: AccessMode[], volumeMode?: "Block", storageClassName = NAME): Volume {
  const spec = { accessModes, storageClassName, ...(volumeMode === undefined ? {} : { volumeMode }) };
  return volumeOf(claim(), { name, spec });
}

const SNAPSHOT_CLASSES: readonly [string, StorageProfileSpec, readonly SnapshotClass[], string | undefined][] = [
  ["none", {}, [], undefined],
  ["none of the driver", {}, [snapshotClass("a", "another")], undefined],
  ["the first by name", {}, [snapshotClass("b", CEPH), snapshotClass("a", CEPH)], "a"],
  [
    "the default of the driver",
    {},
    [
      snapshotClass("a", CEPH),
      snapshotClass("b", CEPH, {
        metadata: { name: "b", annotations: { "snapshot.storage.kubernetes.io/is-default-class": "true" } },
      }),
    ],
    "b",
  ],
  ["the one that was asked for", { snapshotClass: "b" }, [snapshotClass("a", CEPH), snapshotClass("b", CEPH)], "b"],
  ["not one of another driver", { snapshotClass: "b" }, [snapshotClass("a", CEPH), snapshotClass("b", "another")], "a"],
];

describe("a profile's snapshot class", () => {
  for (const [name, spec, snapshotClasses, wanted] of SNAPSHOT_CLASSES) {
    it(name, () => {
      const found = statusFor({ storageClass: ofProvisioner(CEPH), profile: profileWith(spec), snapshotClasses });
      assert.equal(found["snapshotClass"], wanted);
    });
  }
});

const STRATEGIES: readonly [string, StorageProfileSpec, StorageClass, boolean, string][] = [
  ["a person's", { cloneStrategy: "copy" }, ofProvisioner(CEPH), true, "copy"],
  ["a person's snapshot without a class", { cloneStrategy: "snapshot" }, ofProvisioner(CEPH), false, "copy"],
  ["the class's", {}, ofProvisioner(CEPH, { "cdi.kubevirt.io/clone-strategy": "copy" }), true, "copy"],
  ["not a word", {}, ofProvisioner(CEPH, { "cdi.kubevirt.io/clone-strategy": "fast" }), true, "csi-clone"],
  ["the table's", {}, ofProvisioner(CEPH), true, "csi-clone"],
  ["snapshot, where there are any", {}, ofProvisioner(LOCAL), true, "snapshot"],
  ["copy, where there are none", {}, ofProvisioner(LOCAL), false, "copy"],
  ["the table's snapshot without a class", {}, ofProvisioner("pd.csi.storage.gke.io"), false, "copy"],
];

describe("a profile's clone strategy", () => {
  for (const [name, spec, forClass, hasSnapshots, wanted] of STRATEGIES) {
    it(name, () => {
      const snapshotClasses = hasSnapshots ? [snapshotClass("s", forClass.provisioner)] : [];
      const found = statusFor({ storageClass: forClass, profile: profileWith(spec), snapshotClasses });
      assert.equal(found["cloneStrategy"], wanted);
    });
  }
});

describe("a profile and DataImportCrons", () => {
  const google = "pd.csi.storage.gke.io";
  const images = snapshotClass("images", google, { parameters: { "snapshot-type": "images" } });

  for (const [name, spec, snapshotClasses, wanted] of [
    ["a person's", { dataImportCronSourceFormat: "pvc" }, [images], "pvc"],
    ["the table's", {}, [images], "snapshot"],
    ["claims, where there are no snapshots", {}, [], "pvc"],
  ] as const) {
    it(`format: ${name}`, () => {
      const found = statusFor({ storageClass: ofProvisioner(google), profile: profileWith(spec), snapshotClasses });
      assert.equal(found["dataImportCronSourceFormat"], wanted);
    });
  }

  it("annotations of Google's disks", () => {
    const [action] = planProfile(
      observedProfile({
        storageClass: ofProvisioner(google),
        profile: undefined,
        snapshotClasses: [snapshotClass("a", google), images],
      }),
    );
    assert.deepEqual(action?.do === "create" && action.object.metadata.annotations, {
      "cdi.kubevirt.io/useReadWriteOnceForDataImportCron": "true",
      "cdi.kubevirt.io/snapshotClassForDataImportCron": "images",
    });
  });
});

describe("a profile's condition Recognized", () => {
  for (const [provisioner, status, reason] of [
    [CEPH, "True", "RecognizedProvisioner"],
    ["infinibox-csi-driver", "False", "UnrecognizedStorageClassParameters"],
    [LOCAL, "False", "UnrecognizedProvisioner"],
  ] as const) {
    it(`${provisioner} is ${reason}`, () => {
      const { conditions } = statusAndConditions({ storageClass: ofProvisioner(provisioner) });
      const [{ message, ...found } = {}] = conditions ?? [];
      assert.ok(message?.includes(provisioner));
      const time = "2026-09-01T12:00:00Z";
      assert.deepEqual(found, {
        type: "Recognized",
        status,
        reason,
        lastTransitionTime: time,
        lastHeartbeatTime: time,
      });
    });
  }

  it("keeps the time of its last change", () => {
    const before = {
      type: "Recognized",
      status: "False",
      reason: "Old",
      lastTransitionTime: "2026-01-01T00:00:00Z",
    } as const;
    const profile = storageProfile(NAME, { status: { conditions: [before] } });
    const [found] = statusAndConditions({ storageClass: ofProvisioner(LOCAL), profile }).conditions ?? [];
    assert.equal(found?.lastTransitionTime, before.lastTransitionTime);
    assert.equal(found?.lastHeartbeatTime, "2026-09-01T12:00:00Z");
  });
});
