/**
 * Every rule of the CRDs against a real API server: what passes, and what is refused with the rule's own sentence.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { allCrds } from "../../../controller/crds/all-crds.ts";
import type { Rule, Schema } from "../../../controller/crds/schema.ts";
import type { Api } from "../api.ts";
import { provideApiServer } from "../api-server.ts";
import { requireControlPlane } from "../control-plane.ts";
import { changed, createCrds, folderOf, goodObject, isInvalid } from "./good-objects.ts";
import { RULE_CASES } from "./rule-cases.ts";

const skip = await requireControlPlane();

describe("rules of the CRDs", { skip }, () => {
  let api: Api;
  provideApiServer(async (server) => {
    ({ api } = server);
    await createCrds(api);
  });

  for (const { kind, says, good, bad } of RULE_CASES) {
    it(`${kind}: ${says}`, async () => {
      for (const patch of good) await create(kind, patch);
      for (const patch of bad) {
        await isInvalid(create(kind, patch), patch, says);
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
