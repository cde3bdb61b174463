/**
 * etcd and a kube-apiserver, and nothing else: enough to check CRDs, their rules, RBAC and everything that a client sees.
 *
 * Nothing schedules a pod, binds a claim or deletes what has no owner any more; test/cluster/cluster.ts starts what does.
 * By default both listen on free loopback ports, keep everything in a temporary folder, and are killed by the kernel when the
 * process that started them ends, so several test files may have one each at the same time.
 */
import { generateKeyPairSync, randomBytes } from "node:crypto";
import fs from "node:fs";
import https from "node:https";
import os from "node:os";
import path from "node:path";
import { freePort } from "../support/server-process.ts";
import { requireTools } from "../support/tools.ts";
import { startProgram, stopPrograms, untilReady } from "./processes.ts";
import type { StartedProcess } from "./processes.ts";
import { clusterProgram } from "./programs.ts";

export interface ControlPlane {
  /** The file of a user who may do everything (group system:masters). */
  readonly kubeconfig: string;
  /** For kubectl and the like. */
  readonly kubectl: string;
  /** The server's certificate and its authority, PEM. */
  readonly certificateFile: string;
  readonly processes: readonly StartedProcess[];
  /** Writes a kubeconfig for a user of `users`, or for anybody who has a token. */
  writeKubeconfig(name: string, token?: string): string;
  stop(): Promise<void>;
}

export interface ControlPlaneOptions {
  /** Default: a temporary folder that goes with `stop`. */
  readonly folder?: string;
  /** Where the API server listens; default: a free port of the loopback interface. */
  readonly address?: { readonly ip: string; readonly port: number };
  /** More users by name, with their groups. */
  readonly users?: Readonly<Record<string, readonly string[]>>;
  /** More arguments of the API server. */
  readonly apiServerArgs?: readonly string[];
  /** See StartOptions; default: false. */
  readonly outlives?: boolean;
  readonly onStart?: (program: StartedProcess) => void;
}

export const SERVICE_RANGE = "10.87.0.0/24";
const ADMIN = "admin";
const READY_MS = 90_000;

/**
 * False if a control plane can be started here, else the reason. Builds the programs, which takes minutes the first time.
 * @throws Error instead of a reason to skip with CI=true
 */
export async function requireControlPlane(): Promise<false | string> {
  const reason = requireTools("etcd");
  if (reason !== false) return reason;
  for (const name of ["kube-apiserver", "kubectl"] as const) {
    const { skip } = await clusterProgram(name);
    if (skip !== false) return skip;
  }
  return false;
}

/** Starts both, and returns when the API server is ready: about 4 seconds. */
export async function startControlPlane(options: ControlPlaneOptions = {}): Promise<ControlPlane> {
  const reason = await requireControlPlane();
  if (reason !== false) throw new Error(reason);
  const folder = options.folder ?? fs.mkdtempSync(path.join(os.tmpdir(), "decant-control-plane-"));
  const processes: StartedProcess[] = [];
  const stop = async (): Promise<void> => {
    await stopPrograms(processes.toReversed());
    if (options.folder === undefined) fs.rmSync(folder, { recursive: true, force: true });
  };
  const start = async (name: string, command: string, args: readonly string[]): Promise<StartedProcess> => {
    const program = await startProgram(name, { command, args, folder, outlives: options.outlives ?? false });
    processes.push(program);
    options.onStart?.(program);
    return program;
  };
  try {
    const etcd = `http://127.0.0.1:${await freePort()}`;
    await start("etcd", "etcd", etcdArgs(folder, etcd, await freePort()));
    const { ip, port } = options.address ?? { ip: "127.0.0.1", port: await freePort() };
    const tokens = writeTokens(folder, { [ADMIN]: ["system:masters"], ...options.users });
    const { path: command } = await clusterProgram("kube-apiserver");
    const args = [...apiServerArgs(folder, { etcd, ip, port }), ...(options.apiServerArgs ?? [])];
    const apiServer = await start("kube-apiserver", command, args);
    const server = `https://${ip}:${port}`;
    const certificateFile = path.join(folder, "certificates", "apiserver.crt");
    const token = tokens[ADMIN] ?? "";
    await untilReady(apiServer, async () => await answersReady(server, certificateFile, token), READY_MS);
    const writeKubeconfig = (name: string, ofUser = tokens[name] ?? ""): string => {
      return writeFile(folder, `${name}.kubeconfig`, kubeconfigOf(server, certificateFile, ofUser));
    };
    const { path: kubectl } = await clusterProgram("kubectl");
    return { kubeconfig: writeKubeconfig(ADMIN), kubectl, certificateFile, processes, writeKubeconfig, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Runs `use` with a control plane of its own. */
export async function withControlPlane<T>(
  use: (controlPlane: ControlPlane) => Promise<T>,
  options: ControlPlaneOptions = {},
): Promise<T> {
  const controlPlane = await startControlPlane(options);
  try {
    return await use(controlPlane);
  } finally {
    await controlPlane.stop();
  }
}

function etcdArgs(folder: string, client: string, peerPort: number): string[] {
  const peer = `http://127.0.0.1:${peerPort}`;
  return [
    "--name=test",
    `--data-dir=${path.join(folder, "etcd")}`,
    // What is in it is worth nothing after a crash.
    "--unsafe-no-fsync",
    "--log-level=warn",
    `--listen-client-urls=${client}`,
    `--advertise-client-urls=${client}`,
    `--listen-peer-urls=${peer}`,
    `--initial-advertise-peer-urls=${peer}`,
    `--initial-cluster=test=${peer}`,
  ];
}

interface Addresses {
  readonly etcd: string;
  readonly ip: string;
  readonly port: number;
}

function apiServerArgs(folder: string, { etcd, ip, port }: Addresses): string[] {
  const { publicKey, privateKey } = generateKeyPairSync("ec", {
    namedCurve: "P-256",
    publicKeyEncoding: { type: "spki", format: "pem" },
    privateKeyEncoding: { type: "pkcs8", format: "pem" },
  });
  return [
    `--etcd-servers=${etcd}`,
    `--bind-address=${ip}`,
    `--advertise-address=${ip}`,
    `--secure-port=${port}`,
    // It signs its own certificate, and leaves it here with the authority's.
    `--cert-dir=${path.join(folder, "certificates")}`,
    `--service-cluster-ip-range=${SERVICE_RANGE}`,
    // Endpoints may not be on the loopback interface, and with one server there is nothing to reconcile.
    `--endpoint-reconciler-type=none`,
    `--token-auth-file=${path.join(folder, "tokens.csv")}`,
    `--authorization-mode=Node,RBAC`,
    `--enable-admission-plugins=NodeRestriction`,
    `--allow-privileged=true`,
    `--service-account-issuer=https://kubernetes.default.svc`,
    `--service-account-key-file=${writeFile(folder, "service-accounts.pub", publicKey)}`,
    `--service-account-signing-key-file=${writeFile(folder, "service-accounts.key", privateKey)}`,
    `--profiling=false`,
  ];
}

/** @returns the token of each user */
function writeTokens(folder: string, users: Readonly<Record<string, readonly string[]>>): Record<string, string> {
  const tokens = Object.fromEntries(Object.keys(users).map((name) => [name, randomBytes(24).toString("base64url")]));
  const lines = Object.entries(users).map(
    ([name, groups]) => `${tokens[name]},${name},${name},"${groups.join(",")}"\n`,
  );
  writeFile(folder, "tokens.csv", lines.join(""));
  return tokens;
}

function kubeconfigOf(server: string, certificateFile: string, token: string): string {
  const authority = fs.readFileSync(certificateFile).toString("base64");
  // JSON is YAML.
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "test", cluster: { server, "certificate-authority-data": authority } }],
    users: [{ name: "user", user: { token } }],
    contexts: [{ name: "test", context: { cluster: "test", user: "user" } }],
    "current-context": "test",
  });
}

async function answersReady(server: string, certificateFile: string, token: string): Promise<boolean> {
  const ca = fs.readFileSync(certificateFile);
  return await new Promise((resolve, reject) => {
    const options = { ca, agent: false, headers: { authorization: `Bearer ${token}` } };
    const request = https.get(`${server}/readyz`, options, (answer) => {
      answer.resume();
      resolve(answer.statusCode === 200);
    });
    request.on("error", reject);
  });
}

/** Readable for its owner only: keys and tokens are among them. */
function writeFile(folder: string, name: string, text: string): string {
  const file = path.join(folder, name);
  fs.writeFileSync(file, text, { mode: 0o600 });
  return file;
}
