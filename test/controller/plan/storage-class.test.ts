import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { ANNOTATIONS } from "../../../controller/api/names.ts";
import {
  bindsImmediately,
  defaultClass,
  findClass,
  honorsWaitForFirstConsumer,
  waitsForFirstConsumer,
} from "../../../controller/plan/storage-class.ts";
import { cdiConfig, claim, facts, storageClass } from "../../support/observed-import.ts";

const DEFAULT = { [ANNOTATIONS.defaultClass]: "true" };
const FOR_MACHINES = { [ANNOTATIONS.defaultVirtClass]: "true" };
const old = storageClass({
  name: "old",
  annotations: DEFAULT,
  metadata: { creationTimestamp: "2026-01-01T00:00:00Z" },
});
const young = storageClass({ name: "young", annotations: DEFAULT });
const twin = storageClass({ name: "a-twin", annotations: DEFAULT });
const virt = storageClass({ name: "virt", annotations: FOR_MACHINES });
const disclaimed = storageClass({ name: "no", annotations: { [ANNOTATIONS.defaultClass]: "false" } });
const cluster = facts({ storageClasses: [old, young, twin, virt, disclaimed] });

describe("findClass", () => {
  it("finds a class by its name", () => assert.equal(findClass(cluster, "virt"), virt));
  it("finds none for no name", () => assert.equal(findClass(cluster, ""), undefined));
  it("finds none of an unknown name", () => assert.equal(findClass(cluster, "nowhere"), undefined));
  it("takes the newest default, of equals the first by name", () => assert.equal(findClass(cluster, undefined), twin));
  it("takes none that says it is no default", () => {
    assert.equal(findClass(facts({ storageClasses: [disclaimed, virt] }), undefined), undefined);
  });
});

describe("defaultClass", () => {
  it("is the machines' for a disk", () => assert.equal(defaultClass(cluster, "kubevirt"), virt));
  it("is Kubernetes' for an archive", () => assert.equal(defaultClass(cluster, "archive"), twin));
  it("is Kubernetes' where machines have none", () => {
    assert.equal(defaultClass(facts({ storageClasses: [old] }), "kubevirt"), old);
  });
});

describe("when a claim is bound", () => {
  it("at once, unless its class waits", () => {
    assert.equal(waitsForFirstConsumer(undefined), false);
    assert.equal(waitsForFirstConsumer(storageClass()), false);
    assert.equal(waitsForFirstConsumer(storageClass({ volumeBindingMode: "WaitForFirstConsumer" })), true);
  });

  it("imports wait, too, where the gate is open", () => {
    const opened = cdiConfig({ featureGates: ["Other", "HonorWaitForFirstConsumer"] });
    assert.equal(honorsWaitForFirstConsumer(facts({ config: opened })), true);
    assert.equal(honorsWaitForFirstConsumer(facts({ config: cdiConfig() })), false);
    assert.equal(honorsWaitForFirstConsumer(facts()), true, "somebody has deleted CDIConfig, and a new one has it");
  });

  for (const value of ["", "true", "false"]) {
    it(`immediately by the annotation "${value}"`, () => {
      assert.equal(bindsImmediately(claim({ annotations: { [ANNOTATIONS.immediateBind]: value } })), true);
    });
  }
  it("not immediately without it", () => assert.equal(bindsImmediately(claim()), false));
});
