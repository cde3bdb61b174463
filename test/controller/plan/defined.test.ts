import assert from "node:assert/strict";
import { it } from "node:test";
import { defined } from "../../../controller/plan/defined.ts";

it("defined leaves out what is undefined, and nothing else", () => {
  const fields = { none: undefined, empty: "", zero: 0, no: false, text: "text", list: [undefined] };
  const { none: _, ...kept } = fields;
  assert.deepEqual(defined(fields), kept);
});
