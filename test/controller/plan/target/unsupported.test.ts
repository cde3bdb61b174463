import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { VddkSource } from "../../../../controller/api/cdi.ts";
import type { Claim } from "../../../../controller/api/kube.ts";
import { ANNOTATIONS } from "../../../../controller/api/names.ts";
import { ImportDraft } from "../../../../controller/plan/draft.ts";
import { tellUnsupportedClaim, unsupportedSource } from "../../../../controller/plan/target/unsupported.ts";
import { claim, dataVolume, observed, outline, populatedClaim } from "../../../support/observed-import.ts";

const HTTP = { http: { url: "http://images.example.org/disk.img" } };
const first = { previous: "", current: "one" };
const second = { previous: "one", current: "two" };
const vddk: VddkSource = { url: "https://vcenter.example.org" };

describe("unsupportedSource", () => {
  for (const [what, spec, says] of [
    ["http", { source: HTTP }, undefined],
    ["nothing", {}, undefined],
    ["an upload", { source: { upload: {} } }, /upload/],
    ["a DataSource", { sourceRef: { kind: "DataSource", name: "fedora" } }, /sourceRef/],
    ["VMware", { source: { vddk } }, /OVA/],
    ["no stage", { source: HTTP, checkpoints: [] }, undefined],
    ["one stage that is the whole", { source: HTTP, checkpoints: [first], finalCheckpoint: true }, undefined],
    ["one stage of several", { source: HTTP, checkpoints: [first] }, /several stages/],
    ["the last stage alone", { source: HTTP, checkpoints: [second], finalCheckpoint: true }, /several stages/],
    ["all stages", { source: HTTP, checkpoints: [first, second], finalCheckpoint: true }, /several stages/],
  ] as const) {
    it(what, () => {
      const said = unsupportedSource(spec);
      if (says === undefined) assert.equal(said, undefined);
      else assert.match(said ?? "", says);
    });
  }
});

describe("tellUnsupportedClaim", () => {
  const upload = { annotations: { [ANNOTATIONS.uploadTarget]: "" } };

  for (const [what, target] of [
    ["asks for nothing", claim()],
    ["is bound", claim({ ...upload, status: { phase: "Bound" } })],
    ["is going", claim({ ...upload, metadata: { deletionTimestamp: "2026-09-01T12:00:00Z" } })],
    ["was uploaded to", claim({ annotations: { ...upload.annotations, [ANNOTATIONS.podPhase]: "Succeeded" } })],
    ["is imported into", populatedClaim(upload)],
    ["is for another populator", claim({ spec: { dataSourceRef: { apiGroup: "a.test", kind: "Upload", name: "x" } } })],
    ["says no to the profile", claim({ labels: { "cdi.kubevirt.io/applyStorageProfile": "false" } })],
  ] as const) {
    it(`says nothing of a claim that ${what}`, () => assert.deepEqual(tellOf(target), []));
  }

  it("says it once, and not where a DataVolume speaks for the claim", () => {
    const target = claim(upload);
    const draft = new ImportDraft(observed({ target }));
    tellUnsupportedClaim(draft, target);
    assert.deepEqual(outline(draft.actions), ["patch PersistentVolumeClaim fedora", "event SourceNotSupported"]);
    assert.deepEqual(tellOf(draft.now.target ?? assert.fail()), []);
    const spoken = new ImportDraft(observed({ target, dataVolume: dataVolume() }));
    tellUnsupportedClaim(spoken, target);
    assert.deepEqual(spoken.actions, []);
  });
});

function tellOf(target: Claim): string[] {
  const draft = new ImportDraft(observed({ target }));
  tellUnsupportedClaim(draft, target);
  return outline(draft.actions);
}
