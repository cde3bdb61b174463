import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { systemPace } from "../../../importer/http/pace.ts";

describe("systemPace", () => {
  it("waits, and stops waiting when it is told to", async () => {
    const started = systemPace.now();
    await systemPace.delay(20, new AbortController().signal);
    assert.ok(systemPace.now() - started >= 15);
    const abort = new AbortController();
    setTimeout(() => abort.abort(), 10);
    await assert.rejects(systemPace.delay(60_000, abort.signal), { name: "AbortError" });
    assert.ok(systemPace.random() < 1);
  });
});
