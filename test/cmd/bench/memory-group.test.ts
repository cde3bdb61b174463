import assert from "node:assert/strict";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { describe, it } from "node:test";
import { measure } from "../../../cmd/bench/measure.ts";
import { openMemoryGroup, places } from "../../../cmd/bench/memory-group.ts";

describe("places", () => {
  it("finds the group of this process for memory, of either version", () => {
    const v1 = "9:cpu,cpuacct:/a\n4:memory:/docker/one\n1:name=systemd:/x\n0::/";
    assert.deepEqual(places(v1, "/cg"), [
      { folder: "/cg/memory/docker/one", peakFile: "memory.max_usage_in_bytes" },
      { folder: "/cg/", peakFile: "memory.peak" },
    ]);
    const v2 = "0::/user.slice/user-0.slice/session.scope";
    assert.deepEqual(places(v2, "/cg"), [{ folder: "/cg/user.slice/user-0.slice", peakFile: "memory.peak" }]);
  });

  it("finds nothing in what it does not know", () => {
    for (const text of ["", "nonsense", "1:2", "x:memory:/"]) assert.deepEqual(places(text, "/cg"), []);
  });
});

describe("openMemoryGroup", () => {
  it("counts what a line allocates, and leaves no group behind", async (test) => {
    const group = openMemoryGroup();
    if (group === undefined) {
      test.skip("no control group can be made here");
      return;
    }
    const line = `"$NODE" -e 'Buffer.alloc(120e6, 1)'`;
    const { groupPeakBytes = 0 } = await measure(line, { NODE: process.execPath }, os.tmpdir(), { group });
    assert.ok(groupPeakBytes > 120e6 && groupPeakBytes < 400e6, `${groupPeakBytes} bytes`);
    group.close();
    assert.equal(fs.existsSync(path.dirname(group.door)), false);
  });
});
