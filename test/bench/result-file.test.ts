import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { describe, it } from "node:test";
import { QUICK } from "../../bench/corpus.ts";
import { ROWS } from "../../bench/goals.ts";
import { Results } from "../../bench/result-file.ts";
import { judge } from "../../bench/verdict.ts";
import { sampleReport } from "../support/bench-report.ts";
import { withTemporaryFolder } from "../support/temporary-folder.ts";

const SETTINGS = {
  size: QUICK,
  runs: 2,
  to: "/dev/shm",
  threads: 2,
  command: "npm run bench --",
};

const START_UP = { seconds: { value: 0.07, atMost: 0.08, held: true }, starts: 20 };

describe("Results", () => {
  it("keeps each work as soon as it is there, in one file", async () => {
    await withTemporaryFolder((folder) => {
      const results = new Results(path.join(folder, "results"), SETTINGS, START_UP);
      const report = sampleReport();
      const [row] = ROWS;
      assert.ok(row !== undefined);
      for (const work of report.works) {
        results.add(judge(row, work, { threads: 2, load: 0 }), work, report);
        const [file = ""] = fs.readdirSync(path.join(folder, "results"));
        assert.match(file, /^\d{4}-\d\d-\d\dT\d{6}-quick\.json$/);
        const kept = JSON.parse(fs.readFileSync(path.join(folder, "results", file), "utf8"));
        assert.equal(kept.works.length, results.verdicts.length);
        assert.deepEqual(kept.works.at(-1), JSON.parse(JSON.stringify(work)));
        assert.deepEqual(kept.machine, report.machine);
        assert.deepEqual(kept.startUp, START_UP);
        assert.deepEqual([kept.sink, kept.runs, kept.corpus.virtualSize], ["/dev/shm", 2, 2 ** 30]);
      }
      assert.equal(fs.readdirSync(path.join(folder, "results")).length, 1);
      return Promise.resolve();
    });
  });
});
