import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Cdi } from "../../../../controller/api/cdi.ts";
import { API_VERSION, ANNOTATIONS } from "../../../../controller/api/names.ts";
import { readPlacement } from "../../../../controller/plan/worker/placement.ts";

const { placementNodeSelector, placementTolerations, placementAffinity } = ANNOTATIONS;

const cdi: Cdi = {
  apiVersion: API_VERSION,
  kind: "CDI",
  metadata: { name: "cdi" },
  spec: {
    workload: {
      nodeSelector: { disk: "ssd", zone: "a" },
      tolerations: [{ key: "virt", operator: "Exists" }],
      affinity: { nodeAffinity: { of: "cdi" } },
    },
  },
};

describe("where a worker may run", () => {
  it("is nowhere in particular without a CDI object and annotations", () => {
    assert.deepEqual(readPlacement(undefined, {}), { placement: {} });
  });

  it("is as the CDI object says", () => {
    assert.deepEqual(readPlacement(cdi, {}), { placement: cdi.spec.workload });
  });

  it("is as the annotations add to it", () => {
    const reading = readPlacement(cdi, {
      [placementNodeSelector]: `{"zone":"b","vm":"yes"}`,
      [placementTolerations]: `[{"key":"gpu","operator":"Exists","effect":"NoExecute","tolerationSeconds":60}]`,
      [placementAffinity]: `{"podAffinity":{}}`,
    });
    assert.deepEqual(reading, {
      placement: {
        nodeSelector: { disk: "ssd", zone: "b", vm: "yes" },
        tolerations: [
          { key: "virt", operator: "Exists" },
          { key: "gpu", operator: "Exists", effect: "NoExecute", tolerationSeconds: 60 },
        ],
        affinity: { podAffinity: {} },
      },
    });
  });

  const REFUSED: readonly (readonly [string, string])[] = [
    [placementNodeSelector, "zone=a"],
    [placementNodeSelector, `["zone"]`],
    [placementNodeSelector, `{"zone":1}`],
    [placementNodeSelector, "null"],
    [placementNodeSelector, JSON.stringify(Object.fromEntries(Array.from({ length: 101 }, (_, n) => [`k${n}`, ""])))],
    [placementTolerations, `{"key":"gpu"}`],
    [placementTolerations, `[1]`],
    [placementTolerations, `[{"key":1}]`],
    [placementTolerations, `[{"tolerationSeconds":"60"}]`],
    [placementTolerations, `[{"unknown":"field"}]`],
    [placementAffinity, `[]`],
    [placementAffinity, `"near"`],
    [placementAffinity, `{"a":"${"x".repeat(16 * 1024)}"}`],
  ];
  for (const [name, text] of REFUSED) {
    it(`refuses ${name} ${text.slice(0, 40)}`, () => {
      const reading = readPlacement(cdi, { [name]: text });
      assert.ok("refused" in reading);
      assert.match(reading.refused, new RegExp(`^annotation ${name.replace(".", "\\.")} is not a JSON`));
    });
  }
});
