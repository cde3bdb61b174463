import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { describe, it } from "node:test";
import { lacksRanges, mayRestart } from "../../importer/another-attempt.ts";
import { SourceError } from "../../importer/errors.ts";
import { changed, noRanges } from "../../importer/http/continuation.ts";
import { stallFailure } from "../../importer/http/failure.ts";
import { Place } from "../../importer/http/place.ts";
import { ROOT } from "../support/run-decant.ts";

const PLACE = Place.parse("http://host/disk?sig=secret");

describe("facts for whoever owns the target", () => {
  it("say whether all of it again, or one stream, may help", () => {
    for (const error of [changed(PLACE, "so"), noRanges(PLACE)])
      assert.deepEqual([mayRestart(error), lacksRanges(error)], [true, true]);
    for (const error of [
      stallFailure(PLACE, 1000).error,
      new SourceError("SOURCE_CHANGED", "x"),
      new Error("x"),
      undefined,
    ]) {
      assert.deepEqual([mayRestart(error), lacksRanges(error)], [false, false]);
    }
  });
});

/** What Node.js has loaded of its own once these modules are. */
function loadedBy(...modules: readonly string[]): string[] {
  const imports = modules.map((module) => `await import("./${module}");`).join("");
  const script = `${imports} console.log(process.moduleLoadList.join("\\n"));`;
  const args = ["--input-type=module", "--eval", script];
  const loaded = execFileSync(process.execPath, args, { cwd: ROOT, encoding: "utf8" }).split("\n");
  assert.ok(loaded.includes("NativeModule fs"));
  return loaded.flatMap((name) => (name.startsWith("NativeModule ") ? [name.slice("NativeModule ".length)] : []));
}

describe("what is loaded", () => {
  it("by a local conversion is no HTTP and no TLS: they are for URLs", () => {
    const loaded = loadedBy("cmd/convert.ts");
    assert.deepEqual(
      loaded.filter((name) => /^(http|https|http2|tls|_http_\w+)$/.test(name)),
      [],
    );
  });

  it("by a thread that reads ranges over its own sockets is no HTTP client", () => {
    const loaded = loadedBy("importer/engine/executor.ts", "importer/http/direct-ranges.ts");
    assert.ok(loaded.includes("tls"));
    assert.deepEqual(
      loaded.filter((name) => name.includes("undici") || name === "_http_agent"),
      [],
    );
  });
});
