import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { SourceError } from "../../../importer/errors.ts";
import { labelsFromEnvironment } from "../../../importer/labels.ts";
import { askLabels } from "../../../importer/worker/image-labels.ts";
import { openLog } from "../../../importer/worker/log.ts";

const NEVER = new AbortController().signal;

describe("askLabels", () => {
  const lines: string[] = [];
  const log = openLog({ verbosity: 0, write: (line) => void lines.push(line), now: () => new Date(0) });

  it("asks nobody where the disk came in no container image", async () => {
    assert.deepEqual(await askLabels(undefined, log, NEVER), {});
    assert.deepEqual(lines.splice(0), []);
  });

  it("tells the log which variables are no labels", async () => {
    const ask = () => Promise.resolve(labelsFromEnvironment(["KUBEVIRT_IO_A=b", "KUBEVIRT_IO_B=no label"]));
    assert.deepEqual(await askLabels(ask, log, NEVER), { "kubevirt.io/a": "b" });
    assert.match(lines.splice(0).join(""), /"keys":\["kubevirt.io\/b"\]/);
  });

  it("does without where they cannot be had", async () => {
    const ask = () => Promise.reject(new SourceError("SOURCE_UNAVAILABLE", "gone"));
    assert.deepEqual(await askLabels(ask, log, NEVER), {});
    assert.match(lines.splice(0).join(""), /"error":"gone".*"msg":"the labels of the image cannot be had"/);
  });

  it("waits no longer once it is told to stop", async () => {
    const stop = new AbortController();
    const asked = askLabels(() => new Promise(() => undefined), log, stop.signal);
    stop.abort();
    assert.deepEqual(await asked, {});
    assert.match(lines.splice(0).join(""), /"code":"INTERRUPTED"/);
  });
});
