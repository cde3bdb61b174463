import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { readConfig } from "../../importer/config.ts";
import { settings } from "../../importer/settings.ts";
import { workerPaths } from "../../importer/worker/paths.ts";

/** The table's way to write any number. */
const NUMBERED = "IMPORTER_EXTRA_HEADER_<n>";

describe("settings", () => {
  it("are all read, and nothing else is", () => {
    const read = new Set<string>();
    const env = new Proxy<Record<string, string>>(
      { PREALLOCATION: "true", IMPORTER_EXTRA_HEADER_0: "a: b" },
      {
        get: (variables, name) => {
          read.add(String(name));
          return variables[String(name)];
        },
      },
    );
    readConfig(env);
    workerPaths(env);
    const upperCase = ["HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"];
    for (const name of upperCase) assert.ok(read.delete(name), name);
    assert.ok(read.delete("IMPORTER_EXTRA_HEADER_0"));
    assert.deepEqual([...read, NUMBERED].sort(), Object.keys(settings).sort());
  });

  it("each say what they mean and what their absence means, short enough for a table", () => {
    for (const [name, { meaning, default: unset }] of Object.entries(settings)) {
      for (const text of [meaning, unset])
        assert.ok(text.length > 0 && text.length <= 100 && !/[|\n]/.test(text), name);
    }
  });
});
