/**
 * Labels of metrics have few values, whatever the cluster's objects say.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ClusterCache } from "../../controller/cache.ts";
import { createMetrics } from "../../controller/metrics.ts";
import { dataVolume } from "../support/observed-import.ts";

const MANY = 200;
const MAX_SERIES = 51;

describe("imports by phase and reason", () => {
  it("are counted together", async () => {
    const page = await pageOf([
      ["Succeeded", "Completed"],
      ["Succeeded", "Completed"],
      ["Failed", "ChecksumError"],
      [],
    ]);
    assert.deepEqual(page.sort(), [
      '{phase="",reason=""} 1',
      '{phase="Failed",reason="ChecksumError"} 1',
      '{phase="Succeeded",reason="Completed"} 2',
    ]);
  });

  for (const [what, rowOf] of [
    ["reasons", (index: number) => ["ImportInProgress", `Reason${index}`]],
    ["phases", (index: number) => [`Phase${index}`, "Error"]],
  ] as const) {
    it(`are few, however many ${what} there are`, async () => {
      const page = await pageOf(Array.from({ length: MANY }, (_, index) => rowOf(index)));
      assert.equal(page.length, MAX_SERIES);
      assert.ok(page.some((line) => line.includes('"other"') && line.endsWith(` ${MANY - MAX_SERIES + 1}`)));
    });
  }

  it("show no sentence", async () => {
    assert.deepEqual(await pageOf([["Failed", "https://user:password@images.example.org/ said no"]]), [
      '{phase="Failed",reason="other"} 1',
    ]);
    assert.deepEqual(await pageOf([["Failed", "R".repeat(100)]]), ['{phase="Failed",reason="other"} 1']);
  });
});

/** What the page says of imports in these phases, with these reasons. */
async function pageOf(rows: readonly (readonly string[])[]): Promise<string[]> {
  const cache = new ClusterCache();
  for (const [index, [phase, reason]] of rows.entries()) {
    const conditions = reason === undefined ? [] : [{ type: "Running", status: "False", reason } as const];
    const status = phase === undefined ? {} : { phase, conditions };
    cache.apply(dataVolume({ name: `disk-${index}`, status }));
  }
  const metrics = createMetrics({ queue: () => undefined, cache });
  const { text } = await metrics.page();
  const name = "decant_controller_imports{";
  return text.split("\n").flatMap((line) => (line.startsWith(name) ? [line.slice(name.length - 1)] : []));
}
