import { describeSlowTarget } from "../suites/slow-target.ts";

describeSlowTarget({ memory: 600e6, rate: 10e6, data: 4 * 2 ** 30, maxMs: 20 * 60_000 });
