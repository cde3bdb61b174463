import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { openTarget } from "../../../importer/targets/open-target.ts";

describe("null target", () => {
  it("takes everything and keeps nothing", () => {
    const target = openTarget("null:");
    assert.equal(target.kind, "null");
    assert.equal(target.writer, undefined);
    assert.equal(target.startsZeroed, true);
    target.begin(2 ** 50);
    target.writeAt(new Uint8Array(10), 2 ** 49);
    assert.equal(target.zeroAt(0, 2 ** 49), true);
    target.resize(2 ** 50);
    target.flush();
    assert.throws(() => target.readAt(new Uint8Array(1), 0), { code: "USAGE" });
    target.commit();
    target.abort();
  });
});
