/**
 * Contract 3.3, each row of the table, and what is said where a row has no answer.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ClaimPropertySet, ContentType } from "../../../../controller/api/cdi.ts";
import type { AccessMode, VolumeMode } from "../../../../controller/api/kube.ts";
import { chooseProperties, forContent } from "../../../../controller/plan/target/claim-properties.ts";

const SETS: readonly ClaimPropertySet[] = [
  { accessModes: ["ReadWriteMany"], volumeMode: "Block" },
  { accessModes: ["ReadWriteOnce"], volumeMode: "Block" },
  { accessModes: ["ReadWriteOnce"], volumeMode: "Filesystem" },
];
const BLOCK_ONLY = SETS.slice(0, 2);

type Row = [
  name: string,
  modes: AccessMode[],
  mode: VolumeMode | undefined,
  type: ContentType,
  sets: readonly ClaimPropertySet[] | undefined,
  wanted: readonly [AccessMode, VolumeMode | undefined] | RegExp,
];

const ROWS: readonly Row[] = [
  ["nothing given: the first set", [], undefined, "kubevirt", SETS, ["ReadWriteMany", "Block"]],
  ["nothing given, nothing there", [], undefined, "kubevirt", [], /StorageProfile fast has none/],
  ["nothing given, a set without modes", [], undefined, "kubevirt", [{ volumeMode: "Block" }], /has none/],
  ["nothing given, no profile", [], undefined, "kubevirt", undefined, /no StorageProfile for storage class fast yet/],
  ["a volume mode: its first set", [], "Filesystem", "kubevirt", SETS, ["ReadWriteOnce", "Filesystem"]],
  ["a volume mode that no set has", [], "Filesystem", "kubevirt", BLOCK_ONLY, /none with volumeMode Filesystem/],
  ["an access mode: its first set", ["ReadWriteOnce"], undefined, "kubevirt", SETS, ["ReadWriteOnce", "Block"]],
  ["an access mode that no set has", ["ReadOnlyMany"], undefined, "kubevirt", SETS, ["ReadOnlyMany", undefined]],
  ["an access mode, no sets", ["ReadWriteOnce"], undefined, "kubevirt", [], ["ReadWriteOnce", undefined]],
  ["an access mode, no profile", ["ReadWriteOnce"], undefined, "kubevirt", undefined, /no StorageProfile/],
  ["both", ["ReadOnlyMany"], "Block", "kubevirt", SETS, ["ReadOnlyMany", "Block"]],
  ["both, no profile", ["ReadOnlyMany"], "Block", "kubevirt", undefined, ["ReadOnlyMany", "Block"]],
  ["an archive: a filesystem", [], undefined, "archive", SETS, ["ReadWriteOnce", "Filesystem"]],
  ["an archive with an access mode", ["ReadWriteMany"], undefined, "archive", SETS, ["ReadWriteMany", "Filesystem"]],
  ["an archive without any filesystem", [], undefined, "archive", BLOCK_ONLY, /none with volumeMode Filesystem/],
  ["an archive on a device", ["ReadWriteOnce"], "Block", "archive", SETS, /archive needs volumeMode Filesystem/],
];

describe("chooseProperties", () => {
  for (const [name, accessModes, volumeMode, contentType, sets, wanted] of ROWS) {
    it(name, () => {
      const found = chooseProperties({ accessModes, volumeMode, contentType }, "fast", sets);
      if (wanted instanceof RegExp) {
        assert.ok("refused" in found);
        assert.match(found.refused, wanted);
      } else {
        assert.deepEqual(found, { accessModes: [wanted[0]], volumeMode: wanted[1] });
      }
    });
  }

  it("access modes that are not there are none", () => {
    const found = forContent({ accessModes: undefined, volumeMode: "Block", contentType: "kubevirt" });
    assert.deepEqual(found, { accessModes: [], volumeMode: "Block" });
  });
});
