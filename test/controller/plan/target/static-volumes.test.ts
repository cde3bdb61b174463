/**
 * Volumes that wait for a claim (contract 2.7), and lists of them that came back from the cluster.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ClaimSpec, Volume } from "../../../../controller/api/kube.ts";
import {
  listedVolumes,
  reservedVolumes,
  wasProvisionedFor,
} from "../../../../controller/plan/target/static-volumes.ts";
import { claim, CSI_CLASS, facts, NAME, NAMESPACE, storageClass, volumeOf } from "../../../support/observed-import.ts";

const LIST = "cdi.kubevirt.io/storage.persistentVolumeList";

function reserved(name: string, spec: Partial<Volume["spec"]> = {}): Volume {
  return volumeOf(claim(), { name, spec: { claimRef: { namespace: NAMESPACE, name: NAME }, ...spec } });
}

const asked: ClaimSpec = claim().spec;

const FITS: readonly [string, Partial<Volume["spec"]>, ClaimSpec, boolean][] = [
  ["as asked", {}, asked, true],
  ["larger", { capacity: { storage: "2Gi" } }, asked, true],
  ["smaller", { capacity: { storage: "1023Mi" } }, asked, false],
  ["a size that cannot be read", { capacity: { storage: "big" } }, asked, false],
  ["of another class", { storageClassName: "another" }, asked, false],
  ["a device", { volumeMode: "Block" }, asked, false],
  ["a device where nobody asked", { volumeMode: "Block" }, { storageClassName: CSI_CLASS }, true],
  ["more access modes", { accessModes: ["ReadWriteOnce", "ReadWriteMany"] }, asked, true],
  ["other access modes", { accessModes: ["ReadOnlyMany"] }, asked, false],
  ["for a claim of another name", { claimRef: { namespace: NAMESPACE, name: "another" } }, asked, false],
  ["for a claim elsewhere", { claimRef: { namespace: "elsewhere", name: NAME } }, asked, false],
];

describe("reservedVolumes", () => {
  for (const [name, spec, wanted, fits] of FITS) {
    it(name, () => {
      const cluster = facts({ availableVolumes: [reserved("pv", spec)] });
      assert.deepEqual(reservedVolumes(cluster, NAMESPACE, NAME, wanted), fits ? ["pv"] : []);
    });
  }

  it("a claim without a class is of the default one", () => {
    const annotations = { "storageclass.kubernetes.io/is-default-class": "true" };
    const cluster = facts({ availableVolumes: [reserved("pv")], storageClasses: [storageClass({ annotations })] });
    assert.deepEqual(reservedVolumes(cluster, NAMESPACE, NAME, {}), ["pv"]);
    assert.deepEqual(reservedVolumes({ ...cluster, storageClasses: [] }, NAMESPACE, NAME, {}), []);
  });

  it("all of them, sorted", () => {
    const cluster = facts({ availableVolumes: [reserved("b"), reserved("a")] });
    assert.deepEqual(reservedVolumes(cluster, NAMESPACE, NAME, asked), ["a", "b"]);
  });
});

describe("listedVolumes", () => {
  for (const [name, text, wanted] of [
    ["none", undefined, undefined],
    ["two", '["a","b"]', ["a", "b"]],
    ["not JSON", "[", []],
    ["not a list", "null", []],
    ["other things in it", '["a",1,null,{}]', ["a"]],
    ["far too long", `["${"a".repeat(300_000)}"]`, []],
  ] as const) {
    it(name, () => {
      const annotations = text === undefined ? {} : { [LIST]: text };
      assert.deepEqual(listedVolumes(claim({ annotations })), wanted);
    });
  }
});

describe("wasProvisionedFor", () => {
  const bound = claim({ spec: { volumeName: "pv" }, metadata: { creationTimestamp: "2026-09-01T11:00:00Z" } });
  const annotations = { "pv.kubernetes.io/provisioned-by": "disks.example.org" };
  const made = (creationTimestamp: string, more = annotations as Record<string, string>, name = "pv"): Volume => {
    return volumeOf(bound, { name, annotations: more, metadata: { creationTimestamp } });
  };

  for (const [name, volume, wanted] of [
    ["made after the claim", made("2026-09-01T11:00:05Z"), true],
    ["there before it", made("2026-09-01T10:59:59Z"), false],
    ["made by hand", made("2026-09-01T11:00:05Z", {}), false],
    ["another volume", made("2026-09-01T11:00:05Z", annotations, "other"), false],
    ["not known", undefined, false],
  ] as const) {
    it(name, () => {
      assert.equal(wasProvisionedFor(bound, volume), wanted);
    });
  }
});
