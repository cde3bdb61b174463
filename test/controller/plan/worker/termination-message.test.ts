import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { isCutOff, parseTermination } from "../../../../controller/plan/worker/termination-message.ts";
import { SourceError, TargetError } from "../../../../importer/errors.ts";
import { failureEnding, scratchEnding, successEnding } from "../../../../importer/termination.ts";

const NOTHING = {
  scratchSpaceRequired: false,
  preallocationApplied: false,
  labels: {},
  message: undefined,
  code: undefined,
};

describe("what a worker said", () => {
  it("is read as the worker writes it", () => {
    const labels = { "instancetype.kubevirt.io/default-preference": "fedora", "kubevirt.io/test": "" };
    const done = parseTermination(successEnding({ preallocationApplied: true, labels }).message);
    assert.deepEqual(done, { ...NOTHING, preallocationApplied: true, labels, message: "Import Complete" });
    assert.equal(parseTermination(scratchEnding().message)?.scratchSpaceRequired, true);
  });

  it("knows what our worker calls terminal", () => {
    const options = { ownController: true, secrets: [] };
    const site = { stage: "Convert", source: "http", contentType: "kubevirt", endpoint: "http://a.example/b" } as const;
    const small = failureEnding(new TargetError("TARGET_TOO_SMALL", "too small"), site, options);
    assert.equal(small.exit, 0);
    const said = parseTermination(small.message);
    assert.equal(said?.terminal, true);
    assert.equal(said?.code, "TARGET_TOO_SMALL");
    const sum = failureEnding(new SourceError("SOURCE_CHECKSUM", "checksum mismatch: …"), site, options);
    assert.equal(parseTermination(sum.message)?.code, "SOURCE_CHECKSUM");
  });

  it("is cut off where the kubelet had room for half of it, wherever that is", () => {
    const whole = JSON.stringify({ message: "é too small", code: "TARGET_TOO_SMALL", terminal: true });
    for (let end = 1; end < whole.length; end++) assert.equal(isCutOff(whole.slice(0, end)), true, whole.slice(0, end));
    for (const text of [whole, "{}", "", undefined, "Import Complete", "[1", `"{`]) assert.equal(isCutOff(text), false);
    assert.equal(isCutOff(JSON.stringify({ message: "x".repeat(4096) })), true, "longer than any worker says");
  });

  for (const text of [
    undefined,
    "",
    "no JSON",
    "[]",
    "null",
    "1",
    `"text"`,
    "{",
    `{"message":"${"x".repeat(4096)}"}`,
  ]) {
    it(`is none: ${String(text).slice(0, 20)}`, () => {
      assert.equal(parseTermination(text), undefined);
    });
  }

  for (const text of [
    `{}`,
    `{"message":1,"code":"NO_CODE","terminal":"yes","scratchSpaceRequired":1,"preallocationApplied":"true","labels":[]}`,
    `{"code":"constructor","labels":null,"__proto__":{"terminal":true}}`,
    `{"labels":{"kubevirt.io/a":1,"kubevirt.io/b":null,"app":"mine","example.org/a":"b"}}`,
    `{"labels":{"cdi.kubevirt.io/applyStorageProfile":"true","prometheus.cdi.kubevirt.io/a":"b","evilkubevirt.io/a":"b"}}`,
    `{"labels":{"kubevirt.io/a":"no label value!","kubevirt.io/":"x","kubevirt.io/${"n".repeat(64)}":"x","__proto__":"x"}}`,
    `{"labels":{"kubevirt.io/a":"${"v".repeat(64)}"}}`,
  ]) {
    it(`leaves out what is not believed: ${text.slice(0, 50)}`, () => {
      assert.deepEqual(parseTermination(text), NOTHING);
    });
  }
});
