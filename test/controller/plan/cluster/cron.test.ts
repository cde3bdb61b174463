/**
 * A DataImportCron is told that nobody acts on it, once; what others say of it stays.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { DataImportCron } from "../../../../controller/api/cdi.ts";
import { planCron } from "../../../../controller/plan/cluster/cron.ts";
import { applyPatch } from "../../../../controller/plan/draft.ts";
import { outline } from "../../../support/observed-import.ts";

const NOW = new Date("2026-09-01T12:00:00Z");
const CRON: DataImportCron = {
  apiVersion: "cdi.kubevirt.io/v1beta1",
  kind: "DataImportCron",
  metadata: { namespace: "golden", name: "fedora", uid: "cron-uid" },
};

describe("planCron", () => {
  it("says so in both conditions and an event, and says it once", () => {
    const [patch, ...others] = planCron(CRON, NOW);
    assert.deepEqual(outline(others), ["event NotSupported"]);
    assert.ok(patch?.do === "patch");
    const told = applyPatch(CRON, patch.patch);
    assert.deepEqual(
      told.status?.conditions?.map(({ type, status, reason }) => [type, status, reason]),
      [
        ["Progressing", "False", "NotSupported"],
        ["UpToDate", "False", "NotSupported"],
      ],
    );
    assert.deepEqual(planCron(told, new Date(NOW.getTime() + 60_000)), []);
  });

  it("takes the place of what was true before, and leaves the rest", () => {
    const conditions = [
      { type: "UpToDate", status: "True", reason: "UpToDate", lastTransitionTime: "2026-01-01T00:00:00Z" },
      { type: "Approved", status: "True" },
    ] as const;
    const [patch] = planCron({ ...CRON, status: { conditions } }, NOW);
    assert.ok(patch?.do === "patch");
    const told = applyPatch<DataImportCron>(CRON, patch.patch).status?.conditions ?? [];
    assert.deepEqual(
      told.map(({ type, status }) => [type, status]),
      [
        ["Progressing", "False"],
        ["UpToDate", "False"],
        ["Approved", "True"],
      ],
    );
    assert.equal(told[1]?.lastTransitionTime, "2026-09-01T12:00:00Z");
  });

  it("leaves alone what is going, or not there yet", () => {
    const { uid: _, ...unborn } = CRON.metadata;
    for (const metadata of [{ ...CRON.metadata, deletionTimestamp: "2026-09-01T12:00:00Z" }, unborn]) {
      assert.deepEqual(planCron({ ...CRON, metadata }, NOW), []);
    }
  });
});
