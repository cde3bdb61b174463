import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ownLabels, passingLabels } from "../../../controller/plan/own-labels.ts";
import { settings } from "../../support/observed-import.ts";

const OWN = {
  app: "containerized-data-importer",
  "app.kubernetes.io/component": "storage",
  "app.kubernetes.io/managed-by": "cdi-controller",
};

describe("ownLabels", () => {
  it("adds the installer's labels, but none in the place of its own", () => {
    const recommendedLabels = { "app.kubernetes.io/part-of": "virtualization", app: "other" };
    assert.deepEqual(ownLabels(settings({ recommendedLabels })), {
      ...OWN,
      "app.kubernetes.io/part-of": "virtualization",
    });
  });
});

describe("passingLabels", () => {
  it("keeps backups from what will be gone", () => {
    assert.deepEqual(passingLabels(settings()), { ...OWN, "velero.io/exclude-from-backup": "true" });
  });
});
