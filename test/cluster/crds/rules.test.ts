/**
 * Every rule of the CRDs against a real API server: what passes, and what is refused with the rule's own sentence.
 */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { allCrds } from "../../../controller/crds/all-crds.ts";
import type { Rule, Schema } from "../../../controller/crds/schema.ts";
import { ApiError, openApi } from "../api.ts";
import type { Api } from "../api.ts";
import { requireControlPlane, startControlPlane } from "../control-plane.ts";
import type { ControlPlane } from "../control-plane.ts";
import { changed, createCrds, folderOf, goodObject } from "./good-objects.ts";
import { RULE_CASES } from "./rule-cases.ts";

const skip = await requireControlPlane();

describe("rules of the CRDs", { skip }, () => {
  let controlPlane: ControlPlane;
  let api: Api;
  before(async () => {
    controlPlane = await startControlPlane();
    api = openApi(controlPlane.kubeconfig);
    await createCrds(api);
  });
  after(async () => {
    api?.close();
    await controlPlane?.stop();
  });

  for (const { kind, says, good, bad } of RULE_CASES) {
    it(`${kind}: ${says}`, async () => {
      for (const patch of good) await create(kind, patch);
      for (const patch of bad) {
        await assert.rejects(create(kind, patch), (error) => {
          assert.ok(error instanceof ApiError, String(error));
          assert.equal(error.status, 422, error.message);
          assert.ok(error.message.includes(says), `${JSON.stringify(patch)} is refused with ${error.message}`);
          return true;
        });
      }
    });
  }

  async function create(kind: string, patch: object): Promise<unknown> {
    const object = changed(goodObject(kind), patch);
    return await api.request("POST", `${folderOf(kind)}?dryRun=All&fieldValidation=Strict`, object);
  }
});

describe("examples of the rules", () => {
  for (const { spec } of allCrds()) {
    const { kind } = spec.names;
    it(`${kind}: every rule is there`, () => {
      const schema = spec.versions[0]?.schema.openAPIV3Schema ?? {};
      const says = RULE_CASES.filter((one) => one.kind === kind).map((one) => one.says);
      const missing = rulesOf(schema)
        .filter(({ rule }) => !rule.includes("oldSelf"))
        .filter(({ message }) => !says.some((beginning) => message.startsWith(beginning)));
      assert.deepEqual(missing, []);
    });
  }
});

/** The rules of a DataVolume are not asked for again in the template of a DataImportCron. */
function rulesOf({ properties = {}, items, additionalProperties, ...schema }: Schema): readonly Rule[] {
  const { template: _, ...others } = properties;
  const parts = [...Object.values(others), items, additionalProperties].filter((part) => part !== undefined);
  return [...(schema["x-kubernetes-validations"] ?? []), ...parts.flatMap(rulesOf)];
}
