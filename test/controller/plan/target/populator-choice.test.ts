/**
 * Contract 4.1: the DataVolume's annotation, else whether there is a CSIDriver of the provisioner's name.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { choosePopulator } from "../../../../controller/plan/target/populator-choice.ts";
import { CSI_CLASS, dataVolume, facts, LOCAL_CLASS, storageClass } from "../../../support/observed-import.ts";

const withDefault = facts({
  storageClasses: [storageClass({ annotations: { "storageclass.kubernetes.io/is-default-class": "true" } })],
});

const ROWS: readonly [string, string | undefined, string | undefined, typeof withDefault, boolean | RegExp][] = [
  ["a CSI class", undefined, CSI_CLASS, facts(), true],
  ["another class", undefined, LOCAL_CLASS, facts(), false],
  ["the default class", undefined, undefined, withDefault, true],
  ["no class", undefined, undefined, facts(), false],
  ["an empty class", undefined, "", withDefault, false],
  ["a class that is not there", undefined, "gone", withDefault, false],
  ["asked not to", "false", CSI_CLASS, facts(), false],
  ["asked to, in Go's words", "T", CSI_CLASS, facts(), true],
  ["asked to, without a CSIDriver", "true", LOCAL_CLASS, facts(), /local-path has no CSIDriver rancher.io.local-path/],
  ["asked to, without a class", "true", undefined, facts(), /no default storage class/],
  ["asked to, with a class that is not there", "1", "gone", facts(), /there is no storage class gone/],
  ["asked to, with an empty class", "1", "", facts(), /the claim has no storage class/],
  ["a word that is none", "yes", CSI_CLASS, facts(), /must be true or false, not yes/],
];

describe("choosePopulator", () => {
  for (const [name, annotation, storageClassName, cluster, wanted] of ROWS) {
    it(name, () => {
      const annotations = annotation === undefined ? {} : { "cdi.kubevirt.io/storage.usePopulator": annotation };
      const spec = storageClassName === undefined ? {} : { storageClassName };
      const found = choosePopulator(dataVolume({ annotations }), spec, cluster);
      if (wanted instanceof RegExp) {
        assert.ok("refused" in found);
        assert.match(found.refused.message, wanted);
        assert.equal(found.refused.reason, annotation === "yes" ? "ErrClaimNotValid" : "NoCSIDriverForPopulator");
      } else assert.deepEqual(found, { usePopulator: wanted });
    });
  }
});
