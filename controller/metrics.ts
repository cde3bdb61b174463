/**
 * What the controller counts, for Prometheus.
 */
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from "prom-client";
import type { Verb } from "./api-client.ts";
import type { ClusterCache } from "./cache.ts";
import type { WorkQueue } from "./queue.ts";

export interface Metrics {
  /** The page, and its content type. */
  page(): Promise<{ readonly text: string; readonly type: string }>;
  countCall(verb: Verb, kind: string): void;
  /** How long a unit was worked on. */
  observePlan(of: string, ms: number): void;
  countFailure(of: string): void;
  setLeading(isLeading: boolean): void;
}

export interface MetricsSources {
  readonly queue: () => Pick<WorkQueue, "depth" | "scheduled"> | undefined;
  readonly cache: ClusterCache;
}

const BUCKETS_SECONDS = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 30];

export function createMetrics({ queue, cache }: MetricsSources): Metrics {
  const registry = new Registry();
  const registers = [registry];
  // The process itself: memory, CPU time, delays of the event loop.
  collectDefaultMetrics({ register: registry });
  const calls = new Counter({
    name: "decant_controller_api_calls_total",
    help: "Calls of the Kubernetes API",
    labelNames: ["verb", "kind"],
    registers,
  });
  const plans = new Histogram({
    name: "decant_controller_reconcile_seconds",
    help: "Time from taking a unit off the queue until its actions are done",
    labelNames: ["of"],
    buckets: BUCKETS_SECONDS,
    registers,
  });
  const failures = new Counter({
    name: "decant_controller_reconcile_failures_total",
    help: "Units that have to be planned again because an action failed",
    labelNames: ["of"],
    registers,
  });
  const leading = new Gauge({ name: "decant_controller_leading", help: "1 in the replica that works", registers });
  gauge("decant_controller_queue_depth", "Units that wait to be planned", [], (self) => {
    self.set(queue()?.depth ?? 0);
  });
  gauge("decant_controller_queue_scheduled", "Units that are planned again later", [], (self) => {
    self.set(queue()?.scheduled ?? 0);
  });
  gauge("decant_controller_objects", "Objects in memory", ["kind"], (self) => {
    for (const [kind, size] of Object.entries(cache.sizes())) self.set({ kind }, size);
  });
  const importsHelp = "DataVolumes by phase, and by the reason of their Running condition";
  gauge("decant_controller_imports", importsHelp, ["phase", "reason"], (self) => {
    self.reset();
    for (const { phase, reason } of importsOf(cache)) self.inc({ phase, reason });
  });

  /** One that is read when the page is asked for. */
  function gauge<T extends string>(name: string, help: string, labelNames: T[], read: (self: Gauge<T>) => void): void {
    registry.registerMetric(
      new Gauge<T>({
        name,
        help,
        labelNames,
        registers: [],
        collect() {
          read(this);
        },
      }),
    );
  }

  return {
    page: async () => ({ text: await registry.metrics(), type: registry.contentType }),
    countCall: (verb, kind) => calls.inc({ verb, kind }),
    observePlan: (of, ms) => plans.observe({ of }, ms / 1000),
    countFailure: (of) => failures.inc({ of }),
    setLeading: (isLeading) => leading.set(isLeading ? 1 : 0),
  };
}

/** What phases and reasons there are is up to others: only short ones, and only the first few, count as labels. */
const MAX_VALUES = 50;
const VALUE = /^[\w .-]{0,64}$/;
const OTHER = "other";

function importsOf(cache: ClusterCache): { readonly phase: string; readonly reason: string }[] {
  const [phase, reason] = [fewValues(), fewValues()];
  return [...cache.dataVolumes.all()].map(({ status }) => {
    const running = status?.conditions?.find(({ type }) => type === "Running");
    return { phase: phase(status?.phase ?? ""), reason: reason(running?.reason ?? "") };
  });
}

function fewValues(): (value: string) => string {
  const seen = new Set<string>();
  return (value) => {
    if (seen.size < MAX_VALUES && VALUE.test(value)) seen.add(value);
    return seen.has(value) ? value : OTHER;
  };
}
