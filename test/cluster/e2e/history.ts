/**
 * What became of the objects of a namespace, in order: phases, conditions and events are gone as soon as the next ones come.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { DataVolume, VolumeImportSource } from "../../../controller/api/cdi.ts";
import type { Claim, KubeObject, Pod } from "../../../controller/api/kube.ts";
import { API_VERSION } from "../../../controller/api/names.ts";
import type { Cluster } from "../cluster.ts";
import { conditionOf } from "./imports.ts";
import type { EventObject } from "./imports.ts";

const WATCH_MS = 10_000;
/** For what needs the controller to do something first. */
const PATIENCE_MS = 150_000;

/** Where objects are that are watched. */
const PLACES = {
  datavolumes: `/apis/${API_VERSION}`,
  volumeimportsources: `/apis/${API_VERSION}`,
  persistentvolumeclaims: "/api/v1",
  pods: "/api/v1",
} as const satisfies Readonly<Record<keyof Watched, string>>;

interface Watched {
  readonly datavolumes: DataVolume;
  readonly volumeimportsources: VolumeImportSource;
  readonly persistentvolumeclaims: Claim;
  readonly pods: Pod;
}

export interface History {
  /** Of an object, from how it was made to how it was last seen. */
  states<P extends keyof Watched>(plural: P, name: string): readonly Watched[P][];
  /** As it was made, when it is, whatever became of it. @throws Error after two and a half minutes */
  untilMade<P extends keyof Watched>(plural: P, name: string): Promise<Watched[P]>;
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
  const seen: (readonly [string, KubeObject])[] = [];
  const events: EventObject[] = [];
  const ends = [
    await cluster.api.watch<EventObject>(`/api/v1/namespaces/${namespace}/events`, ({ object }) => events.push(object)),
  ];
  for (const [plural, place] of Object.entries(PLACES)) {
    const watched = `${place}/namespaces/${namespace}/${plural}`;
    ends.push(
      await cluster.api.watch<KubeObject>(watched, ({ type, object }) => {
        if (type !== "DELETED") seen.push([plural, object]);
      }),
    );
  }
  const states = <P extends keyof Watched>(plural: P, name: string): readonly Watched[P][] => {
    const own = seen.filter(([of, { metadata }]) => of === plural && metadata.name === name);
    return own.map(([, object]) => object as Watched[P]);
  };
  const of = (name: string, what: (state: DataVolume) => string | undefined): readonly string[] => {
    const own = states("datavolumes", name).map((state) => what(state) ?? "");
    return own.filter((value, at) => value !== own[at - 1]);
  };
  const phases = (name: string): readonly string[] => of(name, ({ status }) => status?.phase);
  try {
    return await use({
      states,
      untilMade: async <P extends keyof Watched>(plural: P, name: string): Promise<Watched[P]> => {
        await untilSeen(
          () => states(plural, name).length > 0,
          () => `${plural} ${name} was never seen`,
          PATIENCE_MS,
        );
        return states(plural, name)[0] as Watched[P];
      },
      phases,
      untilPhase: async (name, phase) => {
        await untilSeen(
          () => phases(name).at(-1) === phase,
          () => `${name} was seen as ${phases(name).join(", ")}`,
        );
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

async function untilSeen(isSeen: () => boolean, otherwise: () => string, timeoutMs = WATCH_MS): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  while (!isSeen()) {
    if (Date.now() > deadline) throw new Error(otherwise());
    await sleep(50);
  }
}
