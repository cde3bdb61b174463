import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { joinName, scratchName, workerName } from "../../../../controller/plan/worker/object-name.ts";

describe("names of what is made for a claim", () => {
  it("are the contract's", () => {
    assert.equal(workerName("fedora"), "importer-fedora");
    assert.equal(workerName("prime-1f2e"), "importer-prime-1f2e");
    assert.equal(scratchName("prime-1f2e"), "prime-1f2e-scratch");
  });

  it("keep what fits", () => {
    const claim = "c".repeat(253 - "importer-".length);
    assert.equal(workerName(claim), `importer-${claim}`);
  });

  it("cut a base that is too long, and hash it", () => {
    // FNV-1a of 32 bits, calculated by another program.
    const base = "a".repeat(250);
    const name = scratchName(base);
    assert.equal(name.length, 253);
    assert.match(name, /^a{236}-15da3d4f-scratch$/);
    assert.notEqual(scratchName(`b${base.slice(1)}`).slice(237, 245), name.slice(237, 245));
  });

  it("hash the whole where the suffix leaves no room", () => {
    const name = workerName("c".repeat(250));
    assert.equal(name, "importer-a2093020");
    assert.notEqual(workerName("c".repeat(249)), name);
    assert.match(joinName("b".repeat(250), "s".repeat(250)), /^b{244}-[0-9a-f]{8}$/);
  });
});
