import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { attribute, children, parseXml } from "../../../formats/archives/xml.ts";
import { FormatError } from "../../../formats/errors.ts";

const parse = (text: string): ReturnType<typeof parseXml> => parseXml(Buffer.from(text));

describe("parseXml", () => {
  it("finds elements and attributes by their local names", () => {
    const root = children(
      parse('<x:a><b c="1"/><y:b v:c="no" ovf:c="2"/>text<b y:c="3"></b><![CDATA[<b/>]]></x:a>'),
      "a",
    )[0];
    assert.ok(root !== undefined);
    assert.deepEqual(new Set(children(root, "b").map((node) => attribute(node, "c"))), new Set(["1", "2", "3"]));
    assert.deepEqual([children(root, "c"), attribute(root, "c")], [[], undefined]);
  });

  it("decodes XML's own entities once, and no others", () => {
    const a = children(parse('<a b="&amp;lt; &lt;&gt;&quot;&apos; &#65;&#x42; &nbsp; &#1114112;"/>'), "a")[0];
    assert.ok(a !== undefined);
    assert.equal(attribute(a, "b"), "&lt; <>\"' AB &nbsp; &#1114112;");
  });

  it("bounds the depth", () => {
    const nested = (depth: number): string => "<a>".repeat(depth) + "</a>".repeat(depth);
    assert.equal(children(parse(nested(60)), "a").length, 1);
    assert.throws(
      () => parse(nested(100)),
      (error) => error instanceof FormatError && error.code === "FORMAT_INVALID",
    );
  });
});
