import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { withoutSecrets } from "../../importer/without-secrets.ts";

describe("without secrets", () => {
  it("blots out every place, and the longer of two that overlap", () => {
    assert.equal(withoutSecrets("a pass, a password, a pass", ["pass", "password"]), "a ***, a ***, a ***");
  });

  it("takes secrets as they are, not as patterns", () => {
    assert.equal(withoutSecrets("x.*$& $&y", ["x.*$&"]), "*** $&y");
  });

  it("leaves alone what is too short to be one", () => {
    assert.equal(withoutSecrets("abc and more", ["abc", ""]), "abc and more");
  });
});
