import assert from "node:assert/strict";
import { describe, it } from "node:test";

import type { Claim } from "../../../../controller/api/kube.ts";
import { ANNOTATIONS } from "../../../../controller/api/names.ts";
import { ImportDraft } from "../../../../controller/plan/draft.ts";
import { mirrorPrime } from "../../../../controller/plan/handover/mirror.ts";
import { dataVolume, observed, outline, pod, populatedClaim, primeOf } from "../../../support/observed-import.ts";

type Texts = Readonly<Record<string, string>>;

const MIRRORED = [
  "storage.pod.phase",
  "storage.pod.ready",
  "storage.pod.restarts",
  "storage.pod.schedulable",
  "storage.preallocation.requested",
  "storage.preallocation",
  "storage.checkpoint.current",
  "storage.checkpoint.done",
  "storage.condition.running",
  "storage.condition.running.message",
  "storage.condition.running.reason",
  "storage.import.fatalError",
].map((name) => `cdi.kubevirt.io/${name}`);

const PRIME = { [ANNOTATIONS.prime]: "prime-target-uid" };

function mirrored(from: Texts, to: Texts, parts: Parameters<typeof observed>[0] = {}): ImportDraft {
  const target = populatedClaim({ annotations: to, ...labels(parts.target) });
  const prime = parts.prime ?? primeOf(target, { annotations: from });
  const draft = new ImportDraft(observed({ ...parts, target, prime }));
  mirrorPrime(draft, target, prime);
  return draft;
}

function labels(given: Claim | undefined): { readonly labels?: Texts } {
  return given?.metadata.labels === undefined ? {} : { labels: given.metadata.labels };
}

function annotationsAfter(draft: ImportDraft): Texts {
  return draft.now.target?.metadata.annotations ?? {};
}

describe("mirrorPrime", () => {
  it("copies what is known of the worker, and nothing else", () => {
    const from = Object.fromEntries(MIRRORED.map((name, at) => [name, `${at}`]));
    const private_ = {
      [ANNOTATIONS.importSource]: "http",
      [ANNOTATIONS.importPodName]: "importer-prime",
      [ANNOTATIONS.importRequiresScratch]: "false",
      [ANNOTATIONS.bound]: "false",
    };
    const draft = mirrored({ ...from, ...private_ }, {});
    assert.deepEqual(annotationsAfter(draft), { ...from, ...PRIME, [ANNOTATIONS.populatorProgress]: "N/A" });
    assert.deepEqual(outline(draft.actions), ["patch PersistentVolumeClaim fedora"]);
  });

  it("waits for the first news of a worker, and names the prime with them", () => {
    const worker = pod();
    const pending = { claim: "prime-target-uid", reason: "ProvisioningFailed", message: "no space" };
    assert.deepEqual(mirrored({}, {}, { worker }).actions, []);
    assert.deepEqual(mirrored({}, {}, { worker, pending, dataVolume: dataVolume() }).actions, []);
    for (const draft of [
      mirrored({}, {}),
      mirrored({}, {}, { worker, pending }),
      mirrored({}, { [ANNOTATIONS.podPhase]: "old" }, { worker }),
      mirrored({ [ANNOTATIONS.podPhase]: "Pending" }, {}, { worker }),
      mirrored({ [ANNOTATIONS.running]: "false" }, {}, { worker }),
    ]) {
      assert.equal(annotationsAfter(draft)[ANNOTATIONS.prime], "prime-target-uid");
    }
    const to = { ...PRIME, [ANNOTATIONS.preallocation]: "true" };
    assert.equal(annotationsAfter(mirrored({}, to, { worker }))[ANNOTATIONS.preallocation], undefined);
  });

  it("removes what the prime has no more", () => {
    const to = Object.fromEntries(MIRRORED.map((name) => [name, "old"]));
    assert.deepEqual(annotationsAfter(mirrored({}, { ...to, kept: "1" })), {
      kept: "1",
      ...PRIME,
      [ANNOTATIONS.populatorProgress]: "N/A",
    });
  });

  it("changes nothing the second time", () => {
    const from = { [ANNOTATIONS.podPhase]: "Running", [ANNOTATIONS.podRestarts]: "1" };
    const first = annotationsAfter(mirrored(from, {}, { progress: "10.00%" }));
    assert.deepEqual(mirrored(from, first, { progress: "10.00%" }).actions, []);
  });

  const progresses: readonly [string | undefined, string | undefined, string | undefined, string][] = [
    // phase of the worker, what it says, what was there, what is to be there
    [undefined, undefined, undefined, "N/A"],
    ["Pending", undefined, undefined, "N/A"],
    ["Running", undefined, undefined, "N/A"],
    ["Running", "0.00%", "N/A", "0.00%"],
    ["Running", "45.31%", "12.00%", "45.31%"],
    ["Running", undefined, "45.31%", "45.31%"],
    ["Running", "100.00%", "45.31%", "45.31%"],
    ["Running", "lots", "45.31%", "45.31%"],
    ["Pending", "45.31%", "12.00%", "12.00%"],
    ["Succeeded", "45.31%", "45.31%", "100.0%"],
    ["Succeeded", undefined, undefined, "100.0%"],
    ["Running", undefined, "100.0%", "N/A"],
    [undefined, undefined, "100.0%", "N/A"],
  ];
  for (const [phase, said, before, expected] of progresses) {
    it(`${phase ?? "no worker"} says ${said ?? "nothing"}, before ${before ?? "nothing"}: ${expected}`, () => {
      const from: Texts = phase === undefined ? {} : { [ANNOTATIONS.podPhase]: phase };
      const to: Texts = before === undefined ? {} : { [ANNOTATIONS.populatorProgress]: before };
      const draft = mirrored(from, to, { progress: said });
      assert.equal(annotationsAfter(draft)[ANNOTATIONS.populatorProgress], expected);
    });
  }

  it("brings KubeVirt's labels along, in the same patch, and overwrites none", () => {
    const target = populatedClaim({ labels: { "instancetype.kubevirt.io/default-instancetype": "mine" } });
    const brought = {
      "instancetype.kubevirt.io/default-instancetype": "theirs",
      "instancetype.kubevirt.io/default-preference": "fedora",
      "kubevirt.io/os": "linux",
      "example.org/kubevirt.io": "no",
      "notkubevirt.io/os": "no",
      app: "containerized-data-importer",
    };
    const prime = primeOf(target, { labels: brought, annotations: { [ANNOTATIONS.podPhase]: "Succeeded" } });
    const draft = mirrored({}, {}, { target, prime });
    assert.deepEqual(draft.now.target?.metadata.labels, {
      "instancetype.kubevirt.io/default-instancetype": "mine",
      "instancetype.kubevirt.io/default-preference": "fedora",
      "kubevirt.io/os": "linux",
    });
    assert.deepEqual(outline(draft.actions), ["patch PersistentVolumeClaim fedora", "event importSucceeded"]);
  });

  it("tells of an end once", () => {
    for (const [phase, event] of [
      ["Failed", "event importFailed"],
      ["Succeeded", "event importSucceeded"],
    ] as const) {
      const from = { [ANNOTATIONS.podPhase]: phase };
      const first = mirrored(from, {});
      assert.equal(outline(first.actions)[1], event);
      assert.deepEqual(mirrored(from, annotationsAfter(first)).actions, []);
      assert.equal(mirrored(from, {}, { dataVolume: dataVolume() }).actions.length, 1);
    }
  });

  it("says why the prime has no volume, to who has no DataVolume to look at", () => {
    const pending = { claim: "prime-target-uid", reason: "ProvisioningFailed", message: "no space" };
    const said = {
      [ANNOTATIONS.bound]: "false",
      [ANNOTATIONS.boundReason]: "ProvisioningFailed",
      [ANNOTATIONS.boundMessage]: "no space",
    };
    const rest = { ...PRIME, [ANNOTATIONS.populatorProgress]: "N/A" };
    assert.deepEqual(annotationsAfter(mirrored({}, {}, { pending })), { ...rest, ...said });
    assert.deepEqual(annotationsAfter(mirrored({}, {}, { pending, dataVolume: dataVolume() })), rest);
    assert.deepEqual(annotationsAfter(mirrored({}, {}, { pending: { ...pending, claim: "another" } })), rest);

    const prime = primeOf(populatedClaim(), { status: { phase: "Bound" } });
    assert.deepEqual(annotationsAfter(mirrored({}, { ...rest, ...said }, { prime, pending })), rest);
  });
});
