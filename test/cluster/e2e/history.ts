/**
 * What became of the objects of a namespace, in order: phases, conditions and events are gone as soon as the next ones come.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { DataVolume } from "../../../controller/api/cdi.ts";
import { API_VERSION } from "../../../controller/api/names.ts";
import type { Cluster } from "../cluster.ts";
import { conditionOf } from "./imports.ts";
import type { EventObject } from "./imports.ts";

const WATCH_MS = 10_000;

export interface History {
  /** Of a DataVolume, each once for as long as it stays. */
  phases(name: string): readonly string[];
  /** Waits for the watch to show it, which may be later than an answer that has it. @throws Error after ten seconds */
  untilPhase(name: string, phase: string): Promise<void>;
  /** `status reason` of its condition, the same way. */
  conditions(name: string, type: string): readonly string[];
  progress(name: string): readonly string[];
  /** `type reason: message` of each event on an object, in the order in which they came. */
  events(kind: string, name: string): readonly string[];
}

/** Runs `use` while everything is written down. */
export async function withHistory<T>(
  cluster: Cluster,
  namespace: string,
  use: (history: History) => Promise<T>,
): Promise<T> {
  const states: DataVolume[] = [];
  const events: EventObject[] = [];
  const ends = [
    await cluster.api.watch<DataVolume>(`/apis/${API_VERSION}/namespaces/${namespace}/datavolumes`, (change) => {
      if (change.type !== "DELETED") states.push(change.object);
    }),
    await cluster.api.watch<EventObject>(`/api/v1/namespaces/${namespace}/events`, ({ object }) => events.push(object)),
  ];
  const of = (name: string, what: (state: DataVolume) => string | undefined): readonly string[] => {
    const own = states.filter(({ metadata }) => metadata.name === name).map((state) => what(state) ?? "");
    return own.filter((value, at) => value !== own[at - 1]);
  };
  const phases = (name: string): readonly string[] => of(name, ({ status }) => status?.phase);
  try {
    return await use({
      phases,
      untilPhase: async (name, phase) => {
        const deadline = Date.now() + WATCH_MS;
        while (phases(name).at(-1) !== phase) {
          if (Date.now() > deadline) throw new Error(`${name} was seen as ${phases(name).join(", ")}`);
          await sleep(50);
        }
      },
      progress: (name) => of(name, ({ status }) => status?.progress),
      conditions: (name, type) => {
        return of(name, (state) => {
          const found = conditionOf(state, type);
          return found === undefined ? "" : [found.status, found.reason ?? ""].join(" ").trim();
        });
      },
      events: (kind, name) => {
        const own = events.filter(({ involvedObject }) => involvedObject.kind === kind && involvedObject.name === name);
        return own.map(({ type, reason, message }) => `${type} ${reason}: ${message}`);
      },
    });
  } finally {
    for (const end of ends) end();
  }
}
