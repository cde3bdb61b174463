/**
 * Go's words for a truth value.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { parseGoBool } from "../../../controller/api/go-bool.ts";

describe("parseGoBool", () => {
  for (const [wanted, words] of [
    [true, ["1", "t", "T", "TRUE", "true", "True"]],
    [false, ["0", "f", "F", "FALSE", "false", "False"]],
    [undefined, [undefined, "", "yes", "tRUE", " true", "constructor"]],
  ] as const) {
    it(String(wanted), () => {
      for (const word of words) assert.equal(parseGoBool(word), wanted, word);
    });
  }
});
