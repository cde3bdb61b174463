import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ANNOTATIONS } from "../../../../controller/api/names.ts";
import { isBlankDevice, isStage, readRequest } from "../../../../controller/plan/worker/worker-request.ts";
import { claim } from "../../../support/observed-import.ts";

describe("what a worker is to do", () => {
  it("is an http import of a disk where words are missing or unknown", () => {
    for (const annotations of [{}, { [ANNOTATIONS.importSource]: "ftp", [ANNOTATIONS.contentType]: "zip" }]) {
      const { source, contentType, preallocation, nodePull } = readRequest(claim({ annotations }));
      assert.deepEqual(
        { source, contentType, preallocation, nodePull },
        {
          source: "http",
          contentType: "kubevirt",
          preallocation: false,
          nodePull: false,
        },
      );
    }
  });

  it("takes headers in the order of their numbers", () => {
    const annotations = Object.fromEntries(
      [10, 2, 0, 1].map((number) => [`${ANNOTATIONS.importExtraHeaders}${number}`, `X-${number}: v`]),
    );
    const { extraHeaders } = readRequest(
      claim({ annotations: { ...annotations, [`${ANNOTATIONS.importExtraHeaders}x`]: "last" } }),
    );
    assert.deepEqual(extraHeaders, ["X-0: v", "X-1: v", "X-2: v", "X-10: v", "last"]);
  });

  it("asks a blank disk for nothing but what it is to be", () => {
    const request = readRequest(
      claim({
        annotations: {
          [ANNOTATIONS.importSource]: "none",
          [ANNOTATIONS.importEndpoint]: "http://left.over",
          [ANNOTATIONS.importSecret]: "keys",
          [ANNOTATIONS.importCertConfigMap]: "ca",
          [`${ANNOTATIONS.importExtraHeaders}0`]: "A: b",
          [ANNOTATIONS.preallocationRequested]: "true",
        },
      }),
    );
    assert.equal(request.endpoint, "");
    assert.equal(request.secret, undefined);
    assert.equal(request.certConfigMap, undefined);
    assert.deepEqual(request.extraHeaders, []);
    assert.equal(request.preallocation, true);
  });

  it("pulls by the node where that is asked for, and for image streams", () => {
    const by = (annotations: Record<string, string>): boolean =>
      readRequest(claim({ annotations: { [ANNOTATIONS.importSource]: "registry", ...annotations } })).nodePull;
    assert.equal(by({}), false);
    assert.equal(by({ [ANNOTATIONS.importRegistryMethod]: "pod" }), false);
    assert.equal(by({ [ANNOTATIONS.importRegistryMethod]: "node" }), true);
    assert.equal(by({ [ANNOTATIONS.importRegistryImageStream]: "true" }), true);
    assert.equal(by({ [ANNOTATIONS.importSource]: "http", [ANNOTATIONS.importRegistryMethod]: "node" }), false);
  });

  it("knows a device that needs no worker", () => {
    const blank = { [ANNOTATIONS.importSource]: "none" };
    const block = { volumeMode: "Block" } as const;
    assert.equal(isBlankDevice(claim({ spec: block, annotations: blank })), true);
    assert.equal(isBlankDevice(claim({ annotations: blank })), false);
    const preallocated = { ...blank, [ANNOTATIONS.preallocationRequested]: "true" };
    assert.equal(isBlankDevice(claim({ spec: block, annotations: preallocated })), false);
    assert.equal(isBlankDevice(claim({ spec: block, annotations: { [ANNOTATIONS.importSource]: "http" } })), false);
  });

  it("knows one stage of several", () => {
    const { checkpointCurrent: current, checkpointPrevious: previous, checkpointFinal: final } = ANNOTATIONS;
    const of = (annotations: Record<string, string>): boolean => isStage(readRequest(claim({ annotations })));
    assert.equal(of({}), false);
    assert.equal(of({ [current]: "one", [final]: "true" }), false);
    assert.equal(of({ [current]: "one", [final]: "false" }), true);
    assert.equal(of({ [current]: "two", [previous]: "one", [final]: "true" }), true);
  });
});
