import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import { describe, it } from "node:test";
import { FormatError } from "../../formats/errors.ts";
import { Interrupted, SourceError, TargetError, UsageError } from "../../importer/errors.ts";
import { consequences, errorCode, errorText, exitMeanings, workerExit } from "../../importer/outcome.ts";

const ROOT = path.join(import.meta.dirname, "..", "..");

/** The codes that an errors.ts declares, from its text. */
function declaredCodes(file: string): string[] {
  const text = readFileSync(path.join(ROOT, file), "utf8");
  return [...text.matchAll(/^ {2}\| "([A-Z_]+)"|(?:TargetErrorCode =|\|) "([A-Z_]+)"/gm)].map(
    (found) => found[1] ?? found[2] ?? "",
  );
}

describe("consequences", () => {
  it("has a row for every code that is declared", () => {
    const declared = new Set([...declaredCodes("formats/errors.ts"), ...declaredCodes("importer/errors.ts")]);
    assert.ok(declared.size >= 16, [...declared].join());
    const rows = new Set(Object.keys(consequences));
    for (const code of declared) assert.ok(rows.delete(code), `${code} has no row`);
    assert.deepEqual([...rows].sort(), ["INTERNAL", "INTERRUPTED", "USAGE"]);
  });

  it("uses only exit statuses that are explained, and the README explains them too", () => {
    const explained = new Map(exitMeanings);
    const readme = readFileSync(path.join(ROOT, "README.md"), "utf8");
    for (const { exit } of Object.values(consequences)) assert.ok(explained.has(exit), `${exit}`);
    const used = new Set([0, ...Object.values(consequences).map(({ exit }) => exit)]);
    for (const [exit] of exitMeanings) {
      assert.ok(used.has(exit), `${exit} is explained and not used`);
      assert.match(readme, new RegExp(`\\b${exit}\\b`));
    }
  });

  it("never asks to try again what cannot change", () => {
    for (const [code, { exit, retry }] of Object.entries(consequences)) {
      if (exit === 2 || exit === 3 || exit === 6) assert.equal(retry, "terminal", code);
    }
  });
});

describe("workerExit", () => {
  it("is 1 for all but an interruption and a wrong checksum", () => {
    for (const code of Object.keys(consequences) as (keyof typeof consequences)[]) {
      const expected = code === "INTERRUPTED" ? 143 : code === "SOURCE_CHECKSUM" ? 0 : 1;
      assert.equal(workerExit(code, false), expected, code);
    }
  });

  it("is 0 under our own controller for what no restart can mend", () => {
    for (const code of ["USAGE", "FORMAT_CORRUPT", "TARGET_TOO_SMALL", "SOURCE_CHECKSUM"] as const) {
      assert.equal(workerExit(code, true), 0, code);
    }
    for (const code of ["SOURCE_NOT_FOUND", "TARGET_NO_SPACE", "INTERNAL"] as const) {
      assert.equal(workerExit(code, true), 1, code);
    }
    assert.equal(workerExit("INTERRUPTED", true), 143);
  });
});

describe("errorCode", () => {
  it("finds the code of each family, and calls the rest a bug", () => {
    assert.equal(errorCode(new FormatError("FORMAT_CORRUPT", "m")), "FORMAT_CORRUPT");
    assert.equal(errorCode(new SourceError("SOURCE_TLS", "m")), "SOURCE_TLS");
    assert.equal(errorCode(new TargetError("TARGET_BUSY", "m")), "TARGET_BUSY");
    assert.equal(errorCode(new UsageError("m")), "USAGE");
    assert.equal(errorCode(new Interrupted()), "INTERRUPTED");
    assert.equal(errorCode(Object.assign(new Error("m"), { code: "FORMAT_CORRUPT" })), "INTERNAL");
    assert.equal(errorCode("thrown text"), "INTERNAL");
  });
});

describe("errorText", () => {
  it("is the sentence, its causes once each, and what to do", () => {
    const kernel = new Error("EIO: i/o error, read");
    const between = new Error("the disk is gone", { cause: new Error("the disk is gone", { cause: kernel }) });
    const error = new SourceError("SOURCE_UNAVAILABLE", "cannot read x", { cause: between, remedy: "Look at dmesg." });
    assert.equal(errorText(error), "cannot read x: the disk is gone: EIO: i/o error, read. Look at dmesg.");
    assert.equal(errorText(new UsageError("no")), "no");
    assert.equal(errorText(42), "42");
  });

  it("ends, also where causes go round", () => {
    const error = new Error("round");
    error.cause = new Error("and round", { cause: error });
    assert.equal(errorText(error), "round: and round");
  });
});
