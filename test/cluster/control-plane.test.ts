/**
 * The API server alone, which other tests ask about CRDs and rights.
 */
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { describe, it } from "node:test";
import { askKubectl } from "./api-server.ts";
import { requireControlPlane, startControlPlane, withControlPlane } from "./control-plane.ts";
import { isRunning } from "./processes.ts";

const skip = await requireControlPlane();

describe("control plane", { skip }, () => {
  it("is a Kubernetes of the version that is asked for, with CEL rules in CRDs", async () => {
    await withControlPlane(async (controlPlane) => {
      const run = (args: readonly string[], input = ""): string => askKubectl(controlPlane, args, input);
      assert.match(run(["version"]), /^Server Version: v1\.34\.4$/m);
      run(["apply", "-f", "-"], JSON.stringify(definition()));
      run(["wait", "--for", "condition=Established", "crd/pours.test.decant", "--timeout=10s"]);
      const pour = (liters: number): string => {
        const spec = { liters };
        return JSON.stringify({ apiVersion: "test.decant/v1", kind: "Pour", metadata: { name: "red" }, spec });
      };
      assert.throws(() => run(["create", "-f", "-"], pour(2)), /a bottle holds less/);
      assert.match(run(["create", "-f", "-"], pour(1)), /created/);
    });
  });

  it("leaves nothing behind", async () => {
    const controlPlane = await startControlPlane();
    const { kubeconfig, processes } = controlPlane;
    assert.deepEqual(processes.map(isRunning), [true, true]);
    await controlPlane.stop();
    assert.deepEqual(processes.map(isRunning), [false, false]);
    assert.equal(fs.existsSync(path.dirname(kubeconfig)), false);
  });
});

function definition(): object {
  const rule = { rule: "self.liters < 2", message: "a bottle holds less" };
  const spec = {
    type: "object",
    properties: { liters: { type: "integer" } },
    "x-kubernetes-validations": [rule],
  };
  const schema = { openAPIV3Schema: { type: "object", properties: { spec } } };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: "pours.test.decant" },
    spec: {
      group: "test.decant",
      scope: "Cluster",
      names: { plural: "pours", singular: "pour", kind: "Pour" },
      versions: [{ name: "v1", served: true, storage: true, schema }],
    },
  };
}
