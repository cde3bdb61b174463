import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { parseContentDigest } from "../../../importer/oci/content-digest.ts";
import { isSelected, nameOf, TITLE } from "../../../importer/oci/select-descriptor.ts";

describe("isSelected and nameOf", () => {
  it("know digest, title and annotations", () => {
    const digest = parseContentDigest(`sha256:${"1".repeat(64)}`);
    assert.ok(digest !== undefined);
    const bare = { mediaType: "", digest, size: 0, annotations: {}, platform: undefined };
    const titled = { ...bare, annotations: { [TITLE]: "disk.qcow2", kind: "qemu" } };
    for (const selector of [digest.text, digest.hex, "disk.qcow2", "qemu"]) assert.ok(isSelected(titled, selector));
    for (const selector of ["", "disk", "kind", "11"]) assert.ok(!isSelected(titled, selector), selector);
    assert.deepEqual([nameOf(titled), nameOf(bare)], ["disk.qcow2", digest.text]);
  });
});
