import { describeResidentMemory } from "../suites/resident-memory.ts";

describeResidentMemory({ virtualSize: 10 * 2 ** 30, dataBytes: 750e6 }, [1, 2, 3, 8]);
