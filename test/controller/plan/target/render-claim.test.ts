/**
 * `pvc` as it stands, `storage` filled in: which class (contract 3.2), which properties, which size.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { DataVolume, StorageSpec } from "../../../../controller/api/cdi.ts";
import type { ClaimSpec, StorageClass, Volume } from "../../../../controller/api/kube.ts";
import { contentTypeOf, renderClaim } from "../../../../controller/plan/target/render-claim.ts";
import {
  cdiConfig,
  claim,
  dataVolume,
  facts,
  NAME,
  NAMESPACE,
  storageClass,
  storageProfile,
  volumeOf,
} from "../../../support/observed-import.ts";

const IS_DEFAULT = "storageclass.kubernetes.io/is-default-class";
const IS_VIRT_DEFAULT = "storageclass.kubevirt.io/is-default-virt-class";

function classOf(name: string, annotation?: string, created?: string): StorageClass {
  return storageClass({
    name,
    ...(annotation === undefined ? {} : { annotations: { [annotation]: "true" } }),
    ...(created === undefined ? {} : { metadata: { creationTimestamp: created } }),
  });
}

function rendered(
  storage: StorageSpec,
  overrides: Parameters<typeof facts>[0] = {},
  spec: Partial<DataVolume["spec"]> = {},
): ClaimSpec | string {
  const asked = { resources: { requests: { storage: "1Gi" } }, ...storage };
  const found = renderClaim(dataVolume({ spec: { source: { blank: {} }, storage: asked, ...spec } }), facts(overrides));
  return "refused" in found ? found.refused : found.spec;
}

function refusal(found: ClaimSpec | string): string {
  assert.ok(typeof found === "string", JSON.stringify(found));
  return found;
}

/** Every class has a profile with one set. */
function withClasses(...storageClasses: StorageClass[]): Parameters<typeof facts>[0] {
  const status = { claimPropertySets: [{ accessModes: ["ReadWriteOnce"], volumeMode: "Filesystem" }] } as const;
  const profiles = storageClasses.map(({ metadata }) => storageProfile(metadata.name, { status }));
  return { storageClasses, profiles };
}

const CLASSES: readonly [string, StorageClass[], string | undefined, "kubevirt" | "archive", string | undefined][] = [
  ["the one that is named", [classOf("a"), classOf("b", IS_DEFAULT)], "a", "kubevirt", "a"],
  [
    "the default for virtual machines before that of Kubernetes",
    [classOf("a", IS_DEFAULT), classOf("b", IS_VIRT_DEFAULT)],
    undefined,
    "kubevirt",
    "b",
  ],
  [
    "that of Kubernetes for an archive",
    [classOf("a", IS_DEFAULT), classOf("b", IS_VIRT_DEFAULT)],
    undefined,
    "archive",
    "a",
  ],
  ["that of Kubernetes where there is no other", [classOf("a", IS_DEFAULT), classOf("b")], undefined, "kubevirt", "a"],
  [
    "the newest of several",
    [classOf("a", IS_DEFAULT, "2026-01-01T00:00:00Z"), classOf("b", IS_DEFAULT, "2026-02-01T00:00:00Z")],
    undefined,
    "kubevirt",
    "b",
  ],
  [
    "the first by name of those that are equally new",
    [classOf("b", IS_DEFAULT), classOf("a", IS_DEFAULT)],
    undefined,
    "kubevirt",
    "a",
  ],
];

describe("the class of a storage spec", () => {
  for (const [name, classes, storageClassName, contentType, wanted] of CLASSES) {
    it(name, () => {
      const storage = storageClassName === undefined ? {} : { storageClassName };
      const found = rendered(storage, withClasses(...classes), { contentType });
      assert.ok(typeof found !== "string", JSON.stringify(found));
      assert.equal(found.storageClassName, wanted);
    });
  }

  it("none, with access modes: the cluster may have a default later", () => {
    const found = rendered({ accessModes: ["ReadWriteOnce"] }, { storageClasses: [] });
    assert.ok(typeof found !== "string");
    assert.equal("storageClassName" in found, false);
    assert.equal("volumeMode" in found, false);
  });

  it("none, without access modes", () => {
    assert.match(refusal(rendered({}, { storageClasses: [] })), /no accessModes are given, and there is no default/);
  });
});

function available(name: string, spec: Partial<Volume["spec"]>): Volume {
  const { claimRef: _, ...rest } = volumeOf(claim()).spec;
  const usual = { ...rest, storageClassName: "by-hand", capacity: { storage: "5Gi" } };
  return { ...volumeOf(claim(), { name }), spec: { ...usual, ...spec }, status: { phase: "Available" } };
}

const BY_HAND: readonly [string, StorageSpec, Partial<Volume["spec"]>, readonly [string, string] | RegExp][] = [
  [
    "mode and access modes of a volume",
    {},
    { accessModes: ["ReadOnlyMany"], volumeMode: "Block" },
    ["ReadOnlyMany", "Block"],
  ],
  ["too small", {}, { capacity: { storage: "1023Mi" } }, /nor an available volume/],
  ["of another class", {}, { storageClassName: "other" }, /no storage class by-hand/],
  ["of another mode", { volumeMode: "Block" }, {}, /nor an available volume/],
  ["promised to another claim", {}, { claimRef: { namespace: NAMESPACE, name: "another" } }, /nor an available/],
  ["promised to this claim", {}, { claimRef: { namespace: NAMESPACE, name: NAME } }, ["ReadWriteOnce", "Filesystem"]],
  [
    "the access modes that are given",
    { accessModes: ["ReadWriteOnce"] },
    { volumeMode: "Block" },
    ["ReadWriteOnce", "Block"],
  ],
];

describe("a class without an object", () => {
  for (const [name, storage, volume, wanted] of BY_HAND) {
    it(name, () => {
      const availableVolumes = [available("b", { accessModes: [] }), available("a", volume)];
      const found = rendered(
        { storageClassName: "by-hand", ...storage },
        { availableVolumes: availableVolumes.slice(1) },
      );
      if (wanted instanceof RegExp) assert.match(refusal(found), wanted);
      else {
        assert.ok(typeof found !== "string", JSON.stringify(found));
        assert.equal(found.storageClassName, "by-hand");
        assert.deepEqual([found.accessModes?.join(), found.volumeMode], wanted);
      }
    });
  }

  it("an archive is never on its device", () => {
    const availableVolumes = [available("a", { volumeMode: "Block" })];
    const found = rendered({ storageClassName: "by-hand" }, { availableVolumes }, { contentType: "archive" });
    assert.match(refusal(found), /nor an available volume/);
  });
});

describe("renderClaim", () => {
  it("leaves a pvc as it is", () => {
    const pvc: ClaimSpec = { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "10Gi" } } };
    const found = renderClaim(dataVolume({ spec: { source: { blank: {} }, pvc } }), facts());
    assert.deepEqual(found, { spec: pvc });
  });

  it("keeps what storage says and fills in the rest", () => {
    const storage: StorageSpec = {
      selector: { matchLabels: { a: "b" } },
      volumeName: "pv",
      storageClassName: "a",
      resources: { requests: { storage: "10Gi" }, limits: { storage: "20Gi" } },
    };
    assert.deepEqual(rendered(storage, { ...withClasses(classOf("a")), config: cdiConfig() }), {
      ...storage,
      accessModes: ["ReadWriteOnce"],
      volumeMode: "Filesystem",
      resources: { requests: { storage: "11381663335" }, limits: { storage: "20Gi" } },
    });
  });

  it("asks for the smallest volume of the class", () => {
    const profile = storageProfile("a", { status: { claimPropertySets: [] } });
    const annotations = { "cdi.kubevirt.io/minimumSupportedPvcSize": "4Gi" };
    const profiles = [{ ...profile, metadata: { ...profile.metadata, annotations } }];
    const storage: StorageSpec = { storageClassName: "a", accessModes: ["ReadWriteOnce"], volumeMode: "Block" };
    const found = rendered(storage, { storageClasses: [classOf("a")], profiles });
    assert.ok(typeof found !== "string");
    assert.equal(found.resources?.requests?.["storage"], "4294967296");
  });

  it("says what is missing", () => {
    const none = renderClaim(dataVolume({ spec: { source: { blank: {} } } }), facts());
    assert.deepEqual(none, { refused: "neither spec.pvc nor spec.storage is given" });
    assert.match(
      refusal(rendered({ accessModes: ["ReadWriteOnce"], resources: {} }, { storageClasses: [] })),
      /is missing/,
    );
  });

  it("any content type that is no archive is a disk", () => {
    assert.equal(contentTypeOf(dataVolume({ spec: { contentType: "archive" } })), "archive");
    assert.equal(contentTypeOf(dataVolume({ spec: { contentType: "" as "kubevirt" } })), "kubevirt");
    assert.equal(contentTypeOf(dataVolume()), "kubevirt");
  });
});
