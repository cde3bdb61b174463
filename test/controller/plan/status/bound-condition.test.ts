/**
 * The condition Bound: the rows of the contract's table, what a pending claim's events add, and what steps report.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ANNOTATIONS } from "../../../../controller/api/names.ts";
import { boundFinding, newsDueInMs } from "../../../../controller/plan/status/bound-condition.ts";
import { viewImport } from "../../../../controller/plan/status/import-view.ts";
import { claim, dataVolume, observed, primeOf } from "../../../support/observed-import.ts";
import { ownClaim, ownPopulatedClaim, viewOf } from "../../../support/status-pass.ts";
import type { Seen } from "../../../support/status-pass.ts";

const BOUND = { phase: "Bound" } as const;
const HELD_BACK = {
  [ANNOTATIONS.bound]: "false",
  [ANNOTATIONS.boundReason]: "CreatingScratchSpace",
  [ANNOTATIONS.boundMessage]: "Creating scratch space",
};

const populated = ownPopulatedClaim();
/** Claims of the tests are an hour old; this one is ten seconds old. */
const young = primeOf(populated, { metadata: { creationTimestamp: "2026-09-01T11:59:50Z" } });
const { [ANNOTATIONS.prime]: _, ...unnamed } = populated.metadata.annotations ?? {};
const event = (name: string, reason: string, message = "what it says") => ({ claim: name, reason, message });

const ROWS: readonly [name: string, seen: Seen, status: "True" | "False", reason: string, message: string][] = [
  ["no claim", {}, "False", "NotFound", "No PVC found"],
  ["a foreign claim", { target: claim({ status: BOUND }) }, "False", "NotFound", "No PVC found"],
  ["bound", { target: ownClaim({ status: BOUND }) }, "True", "Bound", "PVC fedora Bound"],
  [
    "bound, and said so",
    { target: ownClaim({ status: BOUND, annotations: { [ANNOTATIONS.bound]: "true" } }) },
    "True",
    "Bound",
    "PVC fedora Bound",
  ],
  [
    "bound, but held back",
    { target: ownClaim({ status: BOUND, annotations: HELD_BACK }) },
    "False",
    "CreatingScratchSpace",
    "Creating scratch space",
  ],
  ["pending", { target: ownClaim() }, "False", "Pending", "PVC fedora Pending"],
  ["just made", { target: ownClaim({ status: {} }) }, "False", "Pending", "PVC fedora Pending"],
  ["pending on the populator path", { target: populated }, "False", "Pending", "PVC fedora Pending"],
  [
    "pending, held back",
    { target: ownClaim({ annotations: HELD_BACK }) },
    "False",
    "CreatingScratchSpace",
    "Creating scratch space",
  ],
  [
    "pending with a prime, held back",
    { target: ownPopulatedClaim({ annotations: HELD_BACK }) },
    "False",
    "CreatingScratchSpace",
    "target PVC fedora Pending and [prime-target-uid] : Creating scratch space",
  ],
  [
    "held back by a text that names the prime already",
    {
      target: ownPopulatedClaim({
        annotations: { ...HELD_BACK, [ANNOTATIONS.boundMessage]: "[prime-target-uid] : no" },
      }),
    },
    "False",
    "CreatingScratchSpace",
    "target PVC fedora Pending and [prime-target-uid] : no",
  ],
  ["lost", { target: ownClaim({ status: { phase: "Lost" } }) }, "False", "ClaimLost", "Claim Lost"],

  [
    "its provisioner failed",
    { target: ownClaim(), pending: event("fedora", "ProvisioningFailed", "no space in pool a") },
    "False",
    "ProvisioningFailed",
    "no space in pool a",
  ],
  [
    "its prime's provisioner failed",
    { target: populated, prime: primeOf(populated), pending: event("prime-target-uid", "ProvisioningFailed") },
    "False",
    "ProvisioningFailed",
    "target PVC fedora Pending and [prime-target-uid] : what it says",
  ],
  [
    "the same, before the target names it",
    {
      target: { ...populated, metadata: { ...populated.metadata, annotations: unnamed } },
      prime: primeOf(populated),
      pending: event("prime-target-uid", "ProvisioningFailed"),
    },
    "False",
    "ProvisioningFailed",
    "target PVC fedora Pending and [prime-target-uid] : what it says",
  ],
  [
    "the prime is bound by now",
    {
      target: populated,
      prime: primeOf(populated, { status: BOUND }),
      pending: event("prime-target-uid", "ProvisioningFailed"),
    },
    "False",
    "Pending",
    "PVC fedora Pending",
  ],
  [
    "the claim is bound by now",
    { target: ownClaim({ status: BOUND }), pending: event("fedora", "ProvisioningFailed") },
    "True",
    "Bound",
    "PVC fedora Bound",
  ],
  [
    "the event is about another claim",
    { target: ownClaim(), pending: event("debian", "ProvisioningFailed") },
    "False",
    "Pending",
    "PVC fedora Pending",
  ],
  [
    "what every claim waits for",
    { target: populated, prime: young, pending: event("prime-target-uid", "ExternalProvisioning") },
    "False",
    "Pending",
    "PVC fedora Pending",
  ],
  [
    "what every claim waits for, for long",
    { target: populated, prime: primeOf(populated), pending: event("prime-target-uid", "ExternalProvisioning") },
    "False",
    "ExternalProvisioning",
    "target PVC fedora Pending and [prime-target-uid] : what it says",
  ],
  [
    "a target that is to be populated",
    { target: populated, pending: event("fedora", "Provisioning") },
    "False",
    "Pending",
    "PVC fedora Pending",
  ],
  [
    "a consumer has to come",
    { target: ownClaim(), pending: event("fedora", "WaitForFirstConsumer") },
    "False",
    "Pending",
    "PVC fedora Pending",
  ],
];

describe("boundFinding", () => {
  for (const [name, seen, status, reason, message] of ROWS) {
    it(name, () => {
      assert.deepEqual(boundFinding(viewOf(seen), "Pending"), { type: "Bound", status, reason, message });
    });
  }

  it("has nothing to say of a claim in no known phase", () => {
    const target = ownClaim({ status: { phase: "Odd" as "Lost" } });
    assert.deepEqual(boundFinding(viewOf({ target }), "Unknown"), { type: "Bound", status: "False" });
  });

  it("says that a claim is to be restored", () => {
    const restored = dataVolume({ annotations: { [ANNOTATIONS.prePopulated]: "fedora" } });
    const { message } = boundFinding(viewImport(observed({ dataVolume: restored }), restored, undefined), "Pending");
    assert.match(message ?? "", /^No PVC found: annotation \S+prePopulated says that PVC fedora is restored/);
  });

  it("says what stops the import before there is a bound claim", () => {
    const problem = { reason: "ErrExceededQuota", message: "exceeded quota: disks" };
    for (const seen of [{}, { target: ownClaim() }, { target: claim({ status: BOUND }) }]) {
      const found = boundFinding(viewOf(seen, { problem }), "Pending");
      assert.deepEqual(found, { type: "Bound", status: "False", ...problem });
    }
    assert.equal(boundFinding(viewOf({ target: ownClaim({ status: BOUND }) }, { problem }), "PVCBound").status, "True");
  });
});

describe("newsDueInMs", () => {
  for (const [name, seen, wanted] of [
    ["nothing waits", { target: ownClaim() }, undefined],
    ["a failure is news at once", { target: ownClaim(), pending: event("fedora", "ProvisioningFailed") }, undefined],
    ["soon", { target: populated, prime: young, pending: event("prime-target-uid", "Provisioning") }, 20_000],
    ["it was told", { target: ownClaim(), pending: event("fedora", "Provisioning") }, undefined],
    [
      "of no known age: new",
      { target: ownClaim({ metadata: { creationTimestamp: "yesterday" } }), pending: event("fedora", "Provisioning") },
      30_000,
    ],
  ] as const) {
    it(name, () => {
      assert.equal(newsDueInMs(viewOf(seen)), wanted);
    });
  }
});
