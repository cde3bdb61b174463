/**
 * docs/controller.md says what there is: flags, settings, log messages and metrics are compared with the program's.
 */
import assert from "node:assert/strict";
import { existsSync, globSync, readFileSync } from "node:fs";
import path from "node:path";
import { describe, it } from "node:test";
import * as controller from "../cmd/controller.ts";
import { ClusterCache } from "../controller/cache.ts";
import { cdiConfigDefinition } from "../controller/crds/cdi-config.ts";
import { createMetrics } from "../controller/metrics.ts";
import { runCommand } from "./support/command-io.ts";

const ROOT = path.join(import.meta.dirname, "..");
const page = readFileSync(path.join(ROOT, "docs/controller.md"), "utf8");

describe("docs/controller.md", () => {
  it("has every flag, and none that is not there", async () => {
    const { stdout } = await runCommand(controller, ["--help"]);
    const flags = [...stdout.matchAll(/^ {2}(?:-\w, )?(--[a-z-]+)/gm)].map((found) => found[1] ?? "");
    assert.deepEqual(firstCells("Flag"), flags.filter((flag) => flag !== "--help").sort());
  });

  it("has every setting of CDIConfig", () => {
    const [version] = cdiConfigDefinition.spec.versions;
    const settings = version?.schema.openAPIV3Schema.properties?.["spec"]?.properties ?? {};
    assert.deepEqual(firstCells("In `spec` of CDIConfig"), Object.keys(settings).sort());
  });

  it("has every message of the log, with its level", () => {
    const files = [...globSync("controller/**/*.ts", { cwd: ROOT }), "cmd/controller.ts"];
    const code = files.map((file) => readFileSync(path.join(ROOT, file), "utf8")).join("\n");
    const logged = [...code.matchAll(/log\.(info|warn|error)\(\s*"([^"]+)"/g)].map(
      (found) => `${found[1]}: ${found[2]}`,
    );
    const rows = rowsUnder("`msg`").flatMap(([messages = "", level = ""]) => {
      return namesIn(messages).map((message) => `${level.trim()}: ${message}`);
    });
    assert.deepEqual(rows.sort(), [...new Set(logged)].sort());
  });

  it("has every metric of its own", async () => {
    const { text } = await createMetrics({ queue: () => undefined, cache: new ClusterCache() }).page();
    const names = [...text.matchAll(/^# TYPE (decant_\w+)/gm)].map((found) => found[1] ?? "");
    assert.deepEqual(firstCells("Metric"), names.sort());
    for (const [name] of page.matchAll(/(?<=`)(?:process|nodejs)_\w+(?=`)/g))
      assert.ok(text.includes(`# TYPE ${name} `), name);
  });

  it("links to files, and to headings of its own, that are there", () => {
    const headings = [...page.matchAll(/^## (.+)$/gm)].map((found) => anchorOf(found[1] ?? ""));
    const links = [...page.matchAll(/\]\(([^)]+)\)/g)].map((found) => found[1] ?? "");
    const dead = links.filter((link) => {
      return link.startsWith("#") ? !headings.includes(link.slice(1)) : !existsSync(path.join(ROOT, "docs", link));
    });
    assert.deepEqual(dead, []);
    const files = [...page.matchAll(/deploy\/[\w./-]*/g)].map(([file]) => file.replace(/\.$/, ""));
    assert.deepEqual(
      files.filter((file) => !existsSync(path.join(ROOT, file))),
      [],
    );
  });
});

/** Cells of the table whose first column has this heading. */
function rowsUnder(heading: string): string[][] {
  const lines = page.split("\n");
  const from = lines.findIndex((line) => line.startsWith(`| ${heading} `));
  assert.notEqual(from, -1, heading);
  const rows = lines.slice(from + 2);
  return rows
    .slice(
      0,
      rows.findIndex((line) => !line.startsWith("|")),
    )
    .map((row) => row.split("|").slice(1, -1));
}

function firstCells(heading: string): string[] {
  return rowsUnder(heading)
    .flatMap(([first = ""]) => namesIn(first).map((name) => name.split(" ", 1)[0] ?? ""))
    .sort();
}

function namesIn(cell: string): string[] {
  return [...cell.matchAll(/`([^`]+)`/g)].map((found) => found[1] ?? "");
}

function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\w -]/g, "")
    .replaceAll(" ", "-");
}
