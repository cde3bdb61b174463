import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Condition } from "../../../controller/api/cdi.ts";
import { saysTheSame } from "../../../controller/plan/condition-times.ts";

const LONG_AGO = { lastTransitionTime: "2026-08-01T00:00:00Z", lastHeartbeatTime: "2026-08-02T00:00:00Z" };

describe("saysTheSame", () => {
  it("compares all but times", () => {
    const one: Condition = { type: "Ready", status: "True" };
    assert.equal(saysTheSame(one, { ...one, reason: "", ...LONG_AGO }), true);
    assert.equal(saysTheSame(one, { ...one, reason: "Bound" }), false);
    assert.equal(saysTheSame(one, { ...one, message: "Bound" }), false);
    assert.equal(saysTheSame(one, { ...one, status: "False" }), false);
    assert.equal(saysTheSame(one, undefined), false);
  });
});
