/**
 * The Kubernetes API as a test asks it: requests by path, and waiting until an object is as it should be.
 */
import fs from "node:fs";
import https from "node:https";
import readline from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";

export interface Api {
  /** @throws ApiError where the answer is not a success */
  request<T>(method: string, path: string, body?: unknown): Promise<T>;
  get<T>(path: string): Promise<T>;
  /** The object, or undefined where there is none. */
  find<T>(path: string): Promise<T | undefined>;
  /**
   * The object once it is as `isReached` wants it; `undefined` is handed in while there is none.
   * @throws Error with what it is instead, after `timeoutMs`
   */
  until<T>(path: string, isReached: (object: T | undefined) => boolean, timeoutMs?: number): Promise<T>;
  /** Until there is no such object. */
  untilGone(path: string, timeoutMs?: number): Promise<void>;
  /** Hands over each state of the objects of a list, from how they are about now. @returns what ends it */
  watch<T>(path: string, onChange: (change: WatchChange<T>) => void): Promise<() => void>;
  close(): void;
}

export interface WatchChange<T> {
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly object: T;
}

export class ApiError extends Error {
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

const TIMEOUT_MS = 60_000;
const POLL_MS = 100;
const SHOWN = 3000;

interface Kubeconfig {
  readonly clusters: readonly { readonly cluster: Readonly<Record<string, string>> }[];
  readonly users: readonly { readonly user: { readonly token: string } }[];
}

/** @param kubeconfig a file that control-plane.ts wrote */
export function openApi(kubeconfig: string): Api {
  const { clusters, users } = JSON.parse(fs.readFileSync(kubeconfig, "utf8")) as Kubeconfig;
  const server = clusters[0]?.cluster["server"] ?? "";
  const ca = Buffer.from(clusters[0]?.cluster["certificate-authority-data"] ?? "", "base64");
  const authorization = `Bearer ${users[0]?.user.token ?? ""}`;
  const agent = new https.Agent({ keepAlive: true, ca });

  const request = async <T>(method: string, path: string, body?: unknown): Promise<T> => {
    const kind = method === "PATCH" ? "application/merge-patch+json" : "application/json";
    const headers = { authorization, accept: "application/json", "content-type": kind };
    const { status, text } = await send(`${server}${path}`, { method, agent, headers }, body);
    if (status >= 200 && status < 300) return JSON.parse(text) as T;
    throw new ApiError(status, `${method} ${path}: ${status} ${messageOf(text)}`);
  };
  const find = async <T>(path: string): Promise<T | undefined> => {
    try {
      return await request<T>("GET", path);
    } catch (error) {
      if (error instanceof ApiError && error.status === 404) return undefined;
      throw error;
    }
  };
  const poll = async <T>(path: string, isReached: (object: T | undefined) => boolean, timeoutMs: number) => {
    const deadline = Date.now() + timeoutMs;
    for (;;) {
      const object = await find<T>(path);
      if (isReached(object)) return object;
      if (Date.now() > deadline) throw new Error(`after ${timeoutMs} ms, ${path} is ${show(object)}`);
      await sleep(POLL_MS);
    }
  };
  return {
    request,
    get: async (path) => await request("GET", path),
    find,
    until: async <T>(path: string, isReached: (object: T | undefined) => boolean, timeoutMs = TIMEOUT_MS) => {
      const object = await poll(path, isReached, timeoutMs);
      if (object === undefined) throw new Error(`there is no ${path}`);
      return object;
    },
    untilGone: async (path, timeoutMs = TIMEOUT_MS) => {
      await poll(path, (object) => object === undefined, timeoutMs);
    },
    watch: async (path, onChange) => {
      // Without a version the API server waits for news of etcd 3.4 that never come.
      return await watch(
        `${server}${path}?watch=true&resourceVersion=0`,
        { ca, headers: { authorization } },
        (line) => {
          onChange(JSON.parse(line));
        },
      );
    },
    close: () => agent.destroy(),
  };
}

async function send(url: string, options: https.RequestOptions, body: unknown) {
  return await new Promise<{ readonly status: number; readonly text: string }>((resolve, reject) => {
    const request = https.request(url, options, (answer) => {
      let text = "";
      answer.setEncoding("utf8").on("data", (part: string) => (text += part));
      answer.on("end", () => resolve({ status: answer.statusCode ?? 0, text }));
      answer.on("error", reject);
    });
    request.on("error", reject);
    request.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

/** An object a line, for as long as nobody ends it. */
async function watch(url: string, options: https.RequestOptions, onLine: (line: string) => void): Promise<() => void> {
  return await new Promise((resolve, reject) => {
    const request = https.get(url, options, (answer) => {
      const lines = readline.createInterface({ input: answer }).on("line", onLine);
      // It is ended in the middle.
      for (const one of [answer, lines]) one.on("error", () => undefined);
      if (answer.statusCode === 200) resolve(() => request.destroy());
      else reject(new ApiError(answer.statusCode ?? 0, `GET ${url}: ${answer.statusCode}`));
    });
    request.on("error", reject);
  });
}

function messageOf(text: string): string {
  try {
    return (JSON.parse(text) as { readonly message?: string }).message ?? text;
  } catch {
    return text;
  }
}

/** What it has become first; what was asked for is known to the test. */
function show(object: unknown): string {
  if (object === undefined) return "not there";
  const { metadata, status, spec } = object as Readonly<Record<string, Readonly<Record<string, unknown>> | undefined>>;
  const { managedFields: _, ...shown } = metadata ?? {};
  return JSON.stringify({ status, metadata: shown, spec }, undefined, 1).slice(0, SHOWN);
}
