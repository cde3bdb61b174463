/**
 * What is in the VolumeImportSource of a DataVolume (contract 4.2).
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { importSourceOf } from "../../../../controller/plan/target/import-source.ts";
import { cdiConfig, dataVolume, facts } from "../../../support/observed-import.ts";

const source = { http: { url: "http://images.example.org/fedora.qcow2" } };

describe("importSourceOf", () => {
  it("has the source, how it is to be read, and its owner", () => {
    const cluster = facts({ config: cdiConfig({}, { preallocation: true }) });
    assert.deepEqual(importSourceOf(dataVolume(), source, cluster), {
      apiVersion: "cdi.kubevirt.io/v1beta1",
      kind: "VolumeImportSource",
      metadata: {
        name: "volume-import-source-dv-uid",
        namespace: "images",
        ownerReferences: [
          {
            apiVersion: "cdi.kubevirt.io/v1beta1",
            kind: "DataVolume",
            name: "fedora",
            uid: "dv-uid",
            controller: true,
            blockOwnerDeletion: true,
          },
        ],
      },
      spec: { source, contentType: "kubevirt", preallocation: true },
    });
  });

  it("of several stages, is for its own claim alone", () => {
    const checkpoints = [{ previous: "", current: "one" }];
    const spec = { source, checkpoints, finalCheckpoint: true, preallocation: false, contentType: "archive" } as const;
    const { spec: made } = importSourceOf(dataVolume({ spec }), source, facts());
    assert.deepEqual(made, {
      source,
      contentType: "archive",
      preallocation: false,
      targetClaim: "fedora",
      checkpoints,
      finalCheckpoint: true,
    });
  });
});
