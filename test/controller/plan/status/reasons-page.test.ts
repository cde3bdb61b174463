/**
 * docs/data-volume-status.md: each reason that a plan gives is explained, and each that is explained can be given.
 */
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import path from "node:path";
import { describe, it } from "node:test";
import { PHASES } from "../../../../controller/plan/status/phase.ts";

const ROOT = path.join(import.meta.dirname, "../../../..");
const page = readFileSync(path.join(ROOT, "docs/data-volume-status.md"), "utf8");
const sources = globSync("controller/plan/**/*.ts", { cwd: ROOT }).filter((file) => !file.includes("/cluster/"));
const code = sources.map((file) => readFileSync(path.join(ROOT, file), "utf8")).join("\n");

/** Where steps say a reason. */
const GIVEN = [
  /\.problem\(\s*"([^"]+)"/g,
  /warnOnce\(\s*draft,\s*\w+,\s*"([^"]+)"/g,
  /refuse\(\s*draft,\s*\w+,\s*"([^"]+)"/g,
  /stopped\(\s*"([^"]+)"/g,
  /finding\(\s*"\w+",\s*"\w+",\s*"([^"]+)"/g,
  /refused: \{ reason: "([^"]+)"/g,
  /\bREASON = "([^"]+)"/g,
  /(?:normal|warning)\(\s*"([^"]+)"/g,
];

describe("the page on what a DataVolume says", () => {
  it("explains each reason that a plan gives", () => {
    const given = GIVEN.flatMap((pattern) => [...code.matchAll(pattern)].map((found) => found[1] ?? ""));
    assert.ok(new Set(given).size > 20, "the patterns find them");
    const missing = [...new Set(given)].filter((reason) => !page.includes(`\`${reason}\``));
    assert.deepEqual(missing, []);
  });

  it("explains no reason that no plan gives", () => {
    const [, running = "", bound = ""] = page.split(/^## /m).slice(1);
    const rows = [...`${running}${bound}`.matchAll(/^\| `([^`]+)`/gm)].map((found) => found[1] ?? "");
    assert.ok(rows.length > 25);
    const unknown = rows.filter((reason) => !code.includes(`"${reason}"`));
    assert.deepEqual(unknown, []);
  });

  it("explains each phase, and none that there is not", () => {
    const [phases = ""] = page.split(/^## /m).slice(1);
    const rows = [...phases.matchAll(/^\| `([^`]+)`/gm)].map((found) => found[1] ?? "");
    assert.deepEqual(rows, PHASES.slice(1));
  });
});
