import { describeResidentMemory } from "../suites/resident-memory.ts";

describeResidentMemory({ virtualSize: 2 * 2 ** 30, dataBytes: 200e6 }, [1, 2]);
