import { describeSlowTarget } from "../suites/slow-target.ts";

// The same as test/slow has it, with less of everything.
describeSlowTarget({ memory: 400e6, rate: 80e6, data: 768 * 2 ** 20, maxMs: 120_000 });
