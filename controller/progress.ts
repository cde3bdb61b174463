/**
 * How far running workers are, from the metrics page that each serves in its pod: `45.31%`. The page is a stranger's (so is
 * its certificate, which it makes for itself): it is read up to a limit, for a short time, for one number.
 */
import https from "node:https";
import net from "node:net";
import type { Pod } from "./api/kube.ts";
import { ask, readText } from "./http-exchange.ts";
import { PROGRESS_METRIC } from "../importer/progress-metric.ts";

/** A worker that can be asked. */
export interface ProgressPage {
  readonly host: string;
  readonly port: number;
  readonly ownerUid: string;
}

const METRICS_PORT = 8443;
const METRICS_PORT_NAME = "metrics";
const TIMEOUT_MS = 2_000;
const MAX_PAGE_BYTES = 256 * 1024;

/** @returns undefined while there is nobody to ask */
export function progressPageOf(pod: Pod | undefined): ProgressPage | undefined {
  const host = pod?.status?.podIP;
  if (pod === undefined || host === undefined || host === "" || pod.status?.phase !== "Running") return undefined;
  if (pod.metadata.deletionTimestamp !== undefined) return undefined;
  const { containers } = pod.spec;
  const ownerUid = containers.flatMap(({ env }) => env ?? []).find(({ name }) => name === "OWNER_UID")?.value;
  if (ownerUid === undefined || ownerUid === "") return undefined;
  const ports = containers.flatMap((one) => one.ports ?? []);
  const port = ports.find(({ name }) => name === METRICS_PORT_NAME)?.containerPort ?? METRICS_PORT;
  return { host, port, ownerUid };
}

/**
 * @returns undefined where the page says nothing that is shown: 100 comes before the last steps are done, and is for whoever
 *   knows that they are
 */
export function progressIn(page: string, ownerUid: string): string | undefined {
  const start = `${PROGRESS_METRIC.name}{${PROGRESS_METRIC.label}="${ownerUid}"} `;
  const line = page.split("\n").find((one) => one.startsWith(start));
  const number = /^(\d{1,3}(?:\.\d+)?)\s*$/.exec(line?.slice(start.length) ?? "")?.[1];
  if (number === undefined || number.startsWith("100")) return undefined;
  return `${Number(number).toFixed(2)}%`;
}

/** @returns undefined if nobody answers in time; a worker may be just starting, or ending */
export async function askProgress({ host, port, ownerUid }: ProgressPage): Promise<string | undefined> {
  const page = await readPage(host, port);
  return page === undefined ? undefined : progressIn(page, ownerUid);
}

async function readPage(host: string, port: number): Promise<string | undefined> {
  const url = `https://${net.isIPv6(host) ? `[${host}]` : host}:${port}/metrics`;
  const agent = new https.Agent({ rejectUnauthorized: false });
  try {
    const answer = await ask({ url, method: "GET", agent, headers: {}, timeoutMs: TIMEOUT_MS });
    const page = await readText(answer, MAX_PAGE_BYTES);
    return answer.status === 200 ? page : undefined;
  } catch {
    return undefined;
  }
}

export interface ProgressOptions {
  /** The pages of all running workers, by the key of their unit. */
  readonly pages: () => ReadonlyMap<string, ProgressPage>;
  readonly onProgress: (key: string) => void;
  readonly now: () => number;
  readonly ask?: (page: ProgressPage) => Promise<string | undefined>;
}

const CONCURRENT_QUESTIONS = 16;

/**
 * Each new figure is two writes, to the claim and to its DataVolume, and every write goes to all who watch. Asked every two
 * seconds, an import of a minute would make sixty of them; so it has four figures, and one that is over at once has none. A
 * long one has two a minute, which is enough for whoever watches that long.
 */
const FIRST_PAUSE_MS = 2_000;
const LAST_PAUSE_MS = 30_000;

interface Known {
  /** Undefined: nothing yet. */
  readonly text: string | undefined;
  readonly pauseMs: number;
  /** From then on the worker is asked again. */
  readonly dueAt: number;
}

/** What each worker said last. */
export class Progress {
  readonly #options: ProgressOptions;
  readonly #known = new Map<string, Known>();

  constructor(options: ProgressOptions) {
    this.#options = options;
  }

  of(key: string): string | undefined {
    return this.#known.get(key)?.text;
  }

  /** Asks every running worker once that is due, a few at a time. */
  async askAll(): Promise<void> {
    const { pages: all, ask = askProgress, onProgress, now } = this.#options;
    const pages = all();
    for (const key of this.#known.keys()) if (!pages.has(key)) this.#known.delete(key);
    const waiting = [...pages].filter(([key]) => this.#isDue(key));
    const askNext = async (): Promise<void> => {
      for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
        const [key, page] = next;
        const text = await ask(page);
        const before = this.#known.get(key);
        if (before === undefined || text === undefined || text === before.text) continue;
        const pauseMs = Math.min(before.pauseMs * 2, LAST_PAUSE_MS);
        this.#known.set(key, { text, pauseMs, dueAt: now() + pauseMs });
        onProgress(key);
      }
    };
    await Promise.all(Array.from({ length: Math.min(CONCURRENT_QUESTIONS, waiting.length) }, askNext));
  }

  /** A worker that has just started is given time. */
  #isDue(key: string): boolean {
    const now = this.#options.now();
    const known = this.#known.get(key);
    if (known !== undefined) return known.dueAt <= now;
    this.#known.set(key, { text: undefined, pauseMs: FIRST_PAUSE_MS, dueAt: now + FIRST_PAUSE_MS });
    return false;
  }
}
