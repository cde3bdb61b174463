/**
 * Overhead and preallocation: what the claim says, what CDIConfig says, and what holds while there is none.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { CdiConfig } from "../../../controller/api/cdi.ts";
import { overheadOf, preallocationFor } from "../../../controller/plan/config-values.ts";
import { cdiConfig, CSI_CLASS, facts, LOCAL_CLASS, storageClass } from "../../support/observed-import.ts";

const computed = cdiConfig({}, { filesystemOverhead: { global: "0.05", storageClass: { [CSI_CLASS]: "0.1" } } });
const storageClasses = [
  storageClass({ name: CSI_CLASS, annotations: { "storageclass.kubernetes.io/is-default-class": "true" } }),
  storageClass({ name: LOCAL_CLASS }),
];

const OVERHEADS: readonly [string, CdiConfig | undefined, Parameters<typeof overheadOf>[1], string][] = [
  ["of the class", computed, { storageClassName: CSI_CLASS }, "0.1"],
  ["global for another class", computed, { storageClassName: LOCAL_CLASS }, "0.05"],
  ["of the default class for none", computed, {}, "0.1"],
  ["of the default class for one that is not there", computed, { storageClassName: "gone" }, "0.1"],
  ["none for an empty class", computed, { storageClassName: "" }, "0"],
  ["none for a device", computed, { storageClassName: CSI_CLASS, volumeMode: "Block" }, "0"],
  ["the default while there is no CDIConfig", undefined, { storageClassName: CSI_CLASS }, "0.06"],
  [
    "what spec says while there is no status",
    cdiConfig({ filesystemOverhead: { global: "0.2" } }),
    { storageClassName: CSI_CLASS },
    "0.2",
  ],
  [
    "the default for what is no share",
    cdiConfig({}, { filesystemOverhead: { global: "much" } }),
    { storageClassName: CSI_CLASS },
    "0.06",
  ],
  ["not of an object's own names", computed, { storageClassName: "constructor" }, "0.1"],
];

describe("overheadOf", () => {
  for (const [name, config, spec, wanted] of OVERHEADS) {
    it(name, () => {
      assert.equal(overheadOf(facts({ config, storageClasses }), spec), wanted);
    });
  }
});

describe("preallocationFor", () => {
  for (const [name, config, asked, wanted] of [
    ["as asked", cdiConfig({}, { preallocation: true }), false, false],
    ["as CDIConfig's status says", cdiConfig({}, { preallocation: true }), undefined, true],
    ["as its spec says", cdiConfig({ preallocation: true }), undefined, true],
    ["not otherwise", undefined, undefined, false],
  ] as const) {
    it(name, () => {
      assert.equal(preallocationFor(facts({ config }), asked), wanted);
    });
  }
});
