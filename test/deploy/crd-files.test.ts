/**
 * The files of deploy/crds are those that the controller's own data makes. That they say the same as the data, a real kubectl
 * is asked in test/cluster/deploy.test.ts.
 */
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { describe, it } from "node:test";
import { crdFiles } from "../../deploy/crd-files.ts";

const FOLDER = path.join(import.meta.dirname, "../../deploy/crds");

describe("deploy/crds", () => {
  it("is up to date; if it is not: npm run crds", () => {
    const files = fs.readdirSync(FOLDER).sort();
    assert.deepEqual(files, [...crdFiles().keys()].sort());
    for (const [name, text] of crdFiles()) {
      assert.ok(fs.readFileSync(path.join(FOLDER, name), "utf8") === text, `deploy/crds/${name}: npm run crds`);
    }
  });
});
