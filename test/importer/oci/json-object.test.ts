import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { FormatError } from "../../../formats/errors.ts";
import { arrayAt, asObject, objectAt, parseObject, textAt, textsOf } from "../../../importer/oci/json-object.ts";

const parse = (text: string | Buffer) => parseObject(Buffer.from(text), "the document");

describe("parseObject", () => {
  it("refuses everything but an object, and does not repeat it", () => {
    const bad = ["", "{", "[]", "null", "1", `"secret"`, "<html>secret", Buffer.from([0x7b, 0xff, 0x7d])];
    for (const text of bad) {
      assert.throws(
        () => parse(text),
        (error) => {
          assert.ok(error instanceof FormatError && error.code === "FORMAT_INVALID");
          assert.match(error.message, /^the document is not/);
          assert.ok(!error.message.includes("secret") && error.cause === undefined);
          return true;
        },
      );
    }
  });

  it("survives a million levels", () => {
    const depth = 1_000_000;
    const document = parse(`{"a":${"[".repeat(depth)}${"]".repeat(depth)},"b":"c"}`);
    assert.equal(textAt(document, "b"), "c");
  });
});

describe("fields", () => {
  it("are there in their own type or not at all", () => {
    const object = parse(`{"text":"a","number":1,"object":{"b":"c","d":1},"array":[1],"null":null}`);
    const keys = ["text", "number", "object", "array", "null", "missing", "constructor", "__proto__", "toString"];
    assert.deepEqual(
      keys.map((key) => textAt(object, key)),
      ["a", ...Array.from({ length: 8 }, () => undefined)],
    );
    assert.deepEqual(
      keys.filter((key) => arrayAt(object, key) !== undefined),
      ["array"],
    );
    assert.deepEqual(textsOf(objectAt(object, "object")), { b: "c" });
    assert.deepEqual(textsOf(undefined), {});
    assert.equal(asObject([]), undefined);
    assert.equal(objectAt(object, "array"), undefined);
  });
});
