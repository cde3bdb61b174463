/**
 * The layers are lint rules, and a rule that matches nothing looks the same as a tree that is clean. So each is broken once
 * here, in a copy of the layout, and must be reported.
 */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { after, before, describe, it } from "node:test";

const ROOT = path.join(import.meta.dirname, "..");
const IMPORT_RULE = "eslint(no-restricted-imports)";

/** A line of source, where it stands, and the rule that must speak of it; undefined: it is allowed. */
const LINES: readonly (readonly [file: string, line: string, rule: string | undefined])[] = [
  ["formats/files.ts", 'import fs from "node:fs";', IMPORT_RULE],
  ["formats/sockets.ts", 'import net from "node:net";', IMPORT_RULE],
  ["formats/children.ts", 'import children from "node:child_process";', IMPORT_RULE],
  ["formats/zlib.ts", 'import zlib from "node:zlib";', undefined],
  ["formats/importer.ts", 'import { run } from "../importer/run.ts";', IMPORT_RULE],
  ["formats/codecs/importer.ts", 'import { run } from "../../importer/run.ts";', IMPORT_RULE],
  ["formats/native.ts", 'import koffi from "koffi";', IMPORT_RULE],
  ["formats/process.ts", "export const id = process.pid;", "eslint(no-restricted-globals)"],
  ["formats/codecs/system/native.ts", 'import koffi from "koffi";', undefined],
  ["formats/codecs/system/files.ts", 'import fs from "node:fs";', IMPORT_RULE],
  ["importer/command.ts", 'import { convert } from "../cmd/convert.ts";', IMPORT_RULE],
  ["importer/controller.ts", 'import { plan } from "../controller/plan.ts";', IMPORT_RULE],
  ["importer/engine/format.ts", 'import { qcow2 } from "../../formats/qcow2/qcow2.ts";', IMPORT_RULE],
  ["importer/registry.ts", 'import { diskFormats } from "../formats/registry.ts";', undefined],
  ["importer/native.ts", 'import koffi from "koffi";', IMPORT_RULE],
  ["importer/kernel.ts", 'import koffi from "koffi";', undefined],
  ["importer/aligned.ts", 'import directIo from "@ronomon/direct-io";', IMPORT_RULE],
  ["importer/direct-io.ts", 'import directIo from "@ronomon/direct-io";', undefined],
  ["importer/environment.ts", 'export const home = process.env["HOME"];', "node(no-process-env)"],
  ["controller/formats.ts", 'import { raw } from "../formats/raw.ts";', IMPORT_RULE],
  ["controller/engine.ts", 'import { run } from "../importer/run.ts";', IMPORT_RULE],
  ["controller/contract.ts", 'import { outcomeOf } from "../importer/outcome.ts";', undefined],
  ["cmd/native.ts", 'import koffi from "koffi";', IMPORT_RULE],
  ["cmd/tests.ts", 'import { answer } from "../test/support/parse.ts";', IMPORT_RULE],
  ["cmd/camelCase.ts", "export const a = 1;", "unicorn(filename-case)"],
  ["cmd/default.ts", "export default 1;", "import(no-default-export)"],
  ["cmd/promise.ts", "export function f(p: Promise<void>): void { p; }", "typescript(no-floating-promises)"],
];

describe("lint rules", () => {
  let folder = "";
  let report = "";
  before(() => {
    folder = mkdtempSync(path.join(os.tmpdir(), "decant-lint-"));
    for (const name of [".oxlintrc.json", "tsconfig.json"])
      copyFileSync(path.join(ROOT, name), path.join(folder, name));
    symlinkSync(path.join(ROOT, "node_modules"), path.join(folder, "node_modules"));
    for (const [file, line] of LINES) {
      mkdirSync(path.dirname(path.join(folder, file)), { recursive: true });
      writeFileSync(path.join(folder, file), `${line}\n`);
    }
    const oxlint = path.join(ROOT, "node_modules", "oxlint", "bin", "oxlint");
    report = spawnSync(process.execPath, [oxlint, "-f", "unix"], { cwd: folder, encoding: "utf8" }).stdout;
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  for (const [file, line, rule] of LINES) {
    it(`${rule === undefined ? "allows" : "refuses"} in ${file}: ${line}`, () => {
      const found = report.split("\n").filter((text) => text.startsWith(`${file}:`));
      const told = found.filter((text) => text.includes(rule ?? IMPORT_RULE));
      assert.equal(told.length > 0, rule !== undefined, found.join("\n"));
    });
  }
});
