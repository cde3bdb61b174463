/**
 * What the controller is to show with many imports at once, and the table that says whether it did. Its workers are played and
 * end at once, so what is seen is what the controller costs.
 */
import { alignColumns } from "../cmd/bench/result-table.ts";
import type { ManyImports } from "../test/cluster/many-imports.ts";

export interface ControllerGoal {
  readonly name: string;
  readonly unit: string;
  readonly value: number;
  readonly atMost: number;
  readonly held: boolean;
}

/** 2,000 in 200 s. */
const SECONDS_EACH = 0.1;
/** With events, half of the imports by a prime and half in place. */
const WRITES_EACH = 15;
const RESIDENT_MB = 200;
const IDLE_WRITES = 0;

export function controllerGoals(found: ManyImports): readonly ControllerGoal[] {
  const goal = (name: string, unit: string, value: number, atMost: number): ControllerGoal => {
    return { name, unit, value, atMost, held: value <= atMost };
  };
  return [
    goal("until the last has Succeeded", "s", found.seconds, found.count * SECONDS_EACH),
    goal("API writes of each", "", found.writesEach, WRITES_EACH),
    goal("memory, the most ever", "MB", found.peakMb, RESIDENT_MB),
    goal("API writes while idle", "", found.idleWrites, IDLE_WRITES),
  ];
}

export function controllerTable(found: ManyImports): string {
  const rows = controllerGoals(found).map(({ name, unit, value, atMost, held }) => {
    return [name, shown(value, unit), `<= ${shown(atMost, unit)}`, held ? "yes" : "NO"];
  });
  const calls = Object.entries(found.callsEach).map(([call, each]) => ["", call, shown(each, "")]);
  const title = `${found.count} imports, ${shown(found.cpuSeconds, "s")} of CPU, ${shown(found.readsEach, "")} reads each`;
  const table = alignColumns([["", "found", "goal", ""], ...rows]).join("\n");
  return `${title}\n\n${table}\n\n${alignColumns([["", "call", "each"], ...calls]).join("\n")}\n`;
}

function shown(value: number, unit: string): string {
  return [Number(value.toFixed(2)), unit].join(" ").trim();
}
