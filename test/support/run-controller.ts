/**
 * The whole controller against a FakeApiServer, as a test starts, kills and starts it again.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { CallObserver } from "../../controller/api-client.ts";
import type { Connection } from "../../controller/cluster.ts";
import { openLog } from "../../controller/log.ts";
import type { ControllerSettings } from "../../controller/plan/observed.ts";
import { systemClock } from "../../controller/queue.ts";
import type { Clock } from "../../controller/queue.ts";
import { runController } from "../../controller/run.ts";
import type { RunEnd } from "../../controller/run.ts";
import { settings } from "./observed-import.ts";

export interface StartedController {
  readonly started: Promise<void>;
  readonly ended: Promise<RunEnd>;
  /** What it logged: an object a line. */
  readonly lines: readonly Readonly<Record<string, unknown>>[];
  /** In order, as by SIGTERM. */
  stop(): Promise<RunEnd>;
  /** At once: no call reaches the API server any more. */
  kill(): Promise<void>;
}

export interface StartControllerOptions {
  readonly identity?: string;
  /** Default: those of observed-import.ts. */
  readonly settings?: ControllerSettings;
  /** Of the Lease. */
  readonly namespace?: string;
  readonly clock?: Clock;
  /** Called before each call; what it throws takes the call's place. */
  readonly onCall?: CallObserver;
}

export function startController(connection: Connection, options: StartControllerOptions = {}): StartedController {
  const stopping = new AbortController();
  const lines: Record<string, unknown>[] = [];
  let isDead = false;
  const { promise: started, resolve: onStarted } = Promise.withResolvers<void>();
  const ended = runController({
    connection,
    settings: options.settings ?? settings(),
    namespace: options.namespace ?? "decant",
    identity: options.identity ?? "replica",
    metricsPort: 0,
    log: openLog({ verbosity: 1, write: (line) => void lines.push(JSON.parse(line)), now: () => new Date() }),
    clock: options.clock ?? systemClock,
    signal: stopping.signal,
    onCall: (verb, kind, subject) => {
      if (isDead) throw new Error("killed");
      options.onCall?.(verb, kind, subject);
    },
    onStarted,
  });
  ended.catch(() => undefined);
  return {
    started,
    ended,
    lines,
    stop: async () => {
      stopping.abort();
      return await ended;
    },
    kill: async () => {
      isDead = true;
      stopping.abort();
      await ended.catch(() => undefined);
    },
  };
}

/** @throws Error with what `describe` says if it does not come true in time */
export async function until(isTrue: () => boolean, describe: () => string, timeoutMs = 10_000): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  while (!isTrue()) {
    if (Date.now() > deadline) throw new Error(`this did not come true in ${timeoutMs} ms: ${describe()}`);
    await sleep(2);
  }
}
