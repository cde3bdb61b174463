import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { listed, quoted } from "../../../formats/archives/shown-names.ts";

describe("names in messages", () => {
  it("have no control characters and an end", () => {
    assert.equal(quoted('a\u001b[2J\n"b"'), String.raw`"a\u001b[2J\n\"b\""`);
    assert.equal(quoted("x".repeat(101)), `"${"x".repeat(100)}…"`);
  });

  it("are listed up to twenty", () => {
    const names = Array.from({ length: 21 }, (_, i) => `${i}`);
    assert.equal(listed(names.slice(0, 2)), '"0", "1"');
    assert.match(listed(names), /"19" and 1 more$/);
    assert.equal(listed([]), "");
  });
});
