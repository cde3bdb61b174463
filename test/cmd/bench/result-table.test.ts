import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { resultTable } from "../../../cmd/bench/result-table.ts";
import { sampleReport } from "../../support/bench-report.ts";
import { golden } from "../../support/golden.ts";

describe("resultTable", () => {
  for (const columns of [80, 120]) {
    it(`fits a terminal of ${columns} columns`, () => {
      const text = resultTable(sampleReport(), columns);
      assert.equal(
        text,
        golden(`cmd/bench-${columns}.txt`, () => text),
      );
      const tooLong = text.split("\n").filter((line) => line.length > columns);
      assert.deepEqual(tooLong, []);
    });
  }

  it("moves no cursor, whatever a name says", () => {
    assert.doesNotMatch(resultTable(sampleReport(), 80).replaceAll("\n", ""), /\p{Cc}/u);
  });
});
