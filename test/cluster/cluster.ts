/**
 * The running test cluster, as tests use it. `npm run cluster:up` or `npm run test:cluster` has started it; each test works
 * in namespaces of its own, so several test files may use it at the same time.
 */
import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import fs from "node:fs";
import net from "node:net";
import path from "node:path";
import { decantTarball } from "../support/decant-tarball.ts";
import { openApi } from "./api.ts";
import type { Api } from "./api.ts";
import { importImage } from "./images.ts";
import { isRunning } from "./processes.ts";
import { readState } from "./state.ts";
import type { NodeFacts } from "./state.ts";

export interface Cluster {
  readonly api: Api;
  /** Of an admin. */
  readonly kubeconfig: string;
  readonly nodes: readonly NodeFacts[];
  /** Where pods reach this machine, as their DNS knows it: `host.test`. It knows no other name. */
  readonly hostName: string;
  /** @returns what it wrote to its standard output */
  kubectl(args: readonly string[], options?: KubectlOptions): Promise<string>;
  /**
   * Builds decant's image unless these sources' is there already, and gives it to both nodes as `decant:test`.
   * @returns a name of these sources
   */
  loadDecantImage(): Promise<string>;
  /** Lets nodes pull over plain HTTP from a port that is exposed. */
  trustRegistry(port: number): void;
  /** Makes a server on a port of 127.0.0.1 reachable for pods and nodes, also as `hostName:port`, while `use` runs. */
  expose<T>(port: number, use: (origin: string) => Promise<T>): Promise<T>;
  /** A file for somebody who has the rights of a service account, for an hour. */
  kubeconfigFor(namespace: string, serviceAccount: string): Promise<string>;
  /** Runs `use` with a new namespace, which then goes with all that is in it, volumes included. */
  withNamespace<T>(use: (namespace: string) => Promise<T>): Promise<T>;
  close(): void;
}

export interface KubectlOptions {
  /** Default: the admin's. */
  readonly kubeconfig?: string;
}

const KUBECTL_TIMEOUT_MS = 2 * 60 * 1000;
const GONE_MS = 2 * 60 * 1000;

/** False if there is a cluster to use, else the reason to skip; with CI=true it throws. */
export function requireRunningCluster(): false | string {
  const state = readState();
  if (state?.running !== undefined && state.processes.every(isRunning)) return false;
  const reason = "needs the test cluster: npm run cluster:up";
  if (process.env["CI"] !== "true") return reason;
  throw new Error(`CI=true allows no skipped test, and this one ${reason}`);
}

/** @throws Error if there is none */
export function openCluster(): Cluster {
  const state = readState();
  const running = state?.running;
  if (state === undefined || running === undefined) throw new Error("there is no cluster: npm run cluster:up");
  const { kubeconfig, nodes, hostAddress } = running;
  const api = openApi(kubeconfig);
  const kubectl = async (args: readonly string[], options: KubectlOptions = {}): Promise<string> => {
    const cache = ["--cache-dir", path.join(state.folder, "kubectl-cache")];
    const who = ["--kubeconfig", options.kubeconfig ?? kubeconfig];
    return await run(running.kubectl, [...who, ...cache, ...args]);
  };
  return {
    api,
    kubeconfig,
    nodes,
    hostName: running.hostName,
    kubectl,
    loadDecantImage: async () => {
      const tarball = await decantTarball();
      const name = path.basename(tarball, ".tar");
      // One image at a time has its name on the nodes: whoever comes back to earlier sources loads theirs again.
      const mark = path.join(state.folder, "decant-image");
      if (fs.existsSync(mark) && fs.readFileSync(mark, "utf8") === name) return name;
      await importImage(nodes, tarball);
      fs.writeFileSync(mark, name);
      return name;
    },
    trustRegistry: (port) => trustRegistry(nodes, `${hostAddress}:${port}`),
    expose: async (port, use) => await expose(hostAddress, port, use),
    kubeconfigFor: async (namespace, serviceAccount) => {
      const token = (await kubectl(["create", "token", "-n", namespace, serviceAccount])).trim();
      const config = JSON.parse(fs.readFileSync(kubeconfig, "utf8")) as object;
      const file = path.join(state.folder, `${namespace}-${serviceAccount}.kubeconfig`);
      const own = { ...config, users: [{ name: "user", user: { token } }] };
      fs.writeFileSync(file, JSON.stringify(own), { mode: 0o600 });
      return file;
    },
    withNamespace: async (use) => await withNamespace(api, use),
    close: () => api.close(),
  };
}

async function withNamespace<T>(api: Api, use: (namespace: string) => Promise<T>): Promise<T> {
  const name = `test-${randomUUID().slice(0, 8)}`;
  await api.request("POST", "/api/v1/namespaces", { apiVersion: "v1", kind: "Namespace", metadata: { name } });
  try {
    // Without it no pod can be created.
    await api.until(`/api/v1/namespaces/${name}/serviceaccounts/default`, (object) => object !== undefined);
    return await use(name);
  } finally {
    await api.request("DELETE", `/api/v1/namespaces/${name}`);
    await api.untilGone(`/api/v1/namespaces/${name}`, GONE_MS);
  }
}

async function expose<T>(address: string, port: number, use: (origin: string) => Promise<T>): Promise<T> {
  const open = new Set<net.Socket>();
  const server = net.createServer((client) => {
    const upstream = net.connect(port, "127.0.0.1");
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      open.add(from);
      from.pipe(to);
      from.on("error", () => to.destroy());
      from.on("close", () => {
        open.delete(from);
        to.destroy();
      });
    }
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, address, resolve);
  });
  try {
    return await use(`${address}:${port}`);
  } finally {
    for (const socket of open) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  }
}

function trustRegistry(nodes: readonly NodeFacts[], host: string): void {
  for (const { folder } of nodes) {
    const place = path.join(folder, "registries", host);
    fs.mkdirSync(place, { recursive: true });
    // containerd 1.6 takes a server without hosts for one with TLS.
    const hosts = `server = "http://${host}"\n[host."http://${host}"]\ncapabilities = ["pull", "resolve"]\n`;
    fs.writeFileSync(path.join(place, "hosts.toml"), hosts);
  }
}

async function run(command: string, args: readonly string[]): Promise<string> {
  const options = { timeout: KUBECTL_TIMEOUT_MS, maxBuffer: 64 * 1024 * 1024 };
  return await new Promise((resolve, reject) => {
    const child = execFile(command, args, options, (error, stdout, stderr) => {
      if (error === null) resolve(stdout);
      else reject(new Error(stderr.trim() === "" ? error.message : stderr.trim(), { cause: error }));
    });
    child.stdin?.end();
  });
}
