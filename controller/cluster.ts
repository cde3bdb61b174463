/**
 * Which cluster, and how one gets in: the service account of a pod, or a kubeconfig file with tokens, certificates, plug-ins.
 *
 * Of the official client only those modules are loaded that read and apply credentials. All of it takes 90 MB and more than
 * a second for its generated models (@kubernetes/client-node 2.0.1: 134 MB resident after the import, 45 MB without it), and
 * the controller is to keep 2,000 imports in 200 MB. Requests are made by api-client.ts.
 */
import fs from "node:fs";
import http from "node:http";
import https from "node:https";
import net from "node:net";
import path from "node:path";
import { newClusters, newContexts, newUsers } from "@kubernetes/client-node/dist/config_types.js";
import type { Cluster, User } from "@kubernetes/client-node/dist/config_types.js";
import { ExecAuth } from "@kubernetes/client-node/dist/exec_auth.js";
import { FileAuth } from "@kubernetes/client-node/dist/file_auth.js";
import { Refusal } from "./refusal.ts";

export interface Connection {
  /** `https://10.0.0.1:6443`, without a slash at its end. */
  readonly server: string;
  /** Of the service account or the context. */
  readonly namespace: string | undefined;
  /** What each request needs. Credentials are read again when they are due, and after `fresh`. */
  access(options?: { readonly fresh?: boolean }): Promise<Access>;
  close(): void;
}

export interface Access {
  readonly headers: Readonly<Record<string, string>>;
  readonly agent: http.Agent;
}

export interface ConnectionOptions {
  /** Files of kubeconfig, as in $KUBECONFIG; undefined: the pod's service account. */
  readonly kubeconfig: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Something that proves who asks; the official client's modules have this shape. */
interface Authenticator {
  isAuthProvider(user: User): boolean;
  applyAuthentication(user: User, options: https.RequestOptions): Promise<void>;
}

const SERVICE_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount";
const MAX_KUBECONFIG_BYTES = 4 * 1024 * 1024;

/** @throws Refusal if there is no cluster to be found */
export async function connect(options: ConnectionOptions): Promise<Connection> {
  const { cluster, user, namespace } = await findCluster(options);
  const { protocol } = new URL(cluster.server);
  if (protocol !== "https:" && protocol !== "http:")
    throw new Refusal(`${cluster.server} is no address of an API server`);
  const server = cluster.server.replace(/\/+$/, "");
  const isSecure = protocol === "https:";
  const fixed = tlsOf(cluster, user);
  let authenticators = await authenticatorsOf(user);
  let agent: http.Agent | undefined;
  let certificate: unknown;
  return {
    server,
    namespace,
    access: async ({ fresh = false } = {}) => {
      if (fresh) authenticators = await authenticatorsOf(user);
      const given: Record<string, string> = {};
      const asked: https.RequestOptions = { headers: given };
      for (const one of authenticators) if (one.isAuthProvider(user)) await one.applyAuthentication(user, asked);
      const headers = { ...headersOf(user), ...given };
      if (agent === undefined || asked.cert !== certificate) {
        agent?.destroy();
        certificate = asked.cert;
        const own = asked.cert === undefined ? {} : { cert: asked.cert, key: asked.key };
        agent = await newAgent(isSecure, { ...fixed, ...own }, cluster.proxyUrl);
      }
      return { headers, agent };
    },
    close: () => agent?.destroy(),
  };
}

interface FoundCluster {
  readonly cluster: Cluster;
  readonly user: User;
  readonly namespace: string | undefined;
}

async function findCluster({ kubeconfig, env }: ConnectionOptions): Promise<FoundCluster> {
  if (kubeconfig !== undefined && kubeconfig !== "") return await readKubeconfig(kubeconfig.split(path.delimiter));
  const [host, port] = [env["KUBERNETES_SERVICE_HOST"], env["KUBERNETES_SERVICE_PORT"]];
  if (host === undefined || port === undefined) {
    throw new Refusal("there is no cluster: this is no pod, and neither --kubeconfig nor KUBECONFIG names a file");
  }
  const namespaceFile = `${SERVICE_ACCOUNT}/namespace`;
  return {
    cluster: {
      name: "in-cluster",
      server: `https://${net.isIPv6(host) ? `[${host}]` : host}:${port}`,
      caFile: `${SERVICE_ACCOUNT}/ca.crt`,
      skipTLSVerify: false,
    },
    user: {
      name: "in-cluster",
      authProvider: { name: "tokenFile", config: { tokenFile: `${SERVICE_ACCOUNT}/token` } },
    },
    namespace: fs.existsSync(namespaceFile) ? fs.readFileSync(namespaceFile, "utf8").trim() : undefined,
  };
}

/** The first file that names something wins, as with kubectl. */
async function readKubeconfig(files: readonly string[]): Promise<FoundCluster> {
  const configs = await Promise.all(files.filter((file) => file !== "").map(readOneKubeconfig));
  const current = configs.find((one) => one.current !== undefined)?.current;
  const context = configs.flatMap((one) => one.contexts).find((one) => one.name === current);
  const cluster = configs.flatMap((one) => one.clusters).find((one) => one.name === context?.cluster);
  const user = configs.flatMap((one) => one.users).find((one) => one.name === context?.user);
  if (context === undefined || cluster === undefined || user === undefined) {
    throw new Refusal(`${files.join(", ")}: the current context, its cluster or its user is missing`);
  }
  return { cluster, user, namespace: context.namespace };
}

async function readOneKubeconfig(file: string) {
  if (fs.statSync(file).size > MAX_KUBECONFIG_BYTES) throw new Refusal(`${file} is too large for a kubeconfig file`);
  const { load } = await import("js-yaml");
  const found = load(fs.readFileSync(file, "utf8")) as Readonly<Record<string, unknown>> | null | undefined;
  if (typeof found !== "object" || found === null) throw new Refusal(`${file} is no kubeconfig file`);
  const list = (name: string): unknown => (Array.isArray(found[name]) ? found[name] : []);
  const absolute = (name: string | undefined): string | undefined => {
    return isText(name) ? path.resolve(path.dirname(file), name) : undefined;
  };
  const current = found["current-context"];
  // What kubectl would refuse is left out by the official client when it is told to.
  const lenient = { onInvalidEntry: "filter" } as const;
  return {
    clusters: newClusters(list("clusters"), lenient).map((one) => withFile(one, "caFile", absolute(one.caFile))),
    contexts: newContexts(list("contexts"), lenient),
    users: newUsers(list("users"), lenient).map((one) => {
      return withFile(withFile(one, "certFile", absolute(one.certFile)), "keyFile", absolute(one.keyFile));
    }),
    current: typeof current === "string" && current !== "" ? current : undefined,
  };
}

function withFile<T extends object>(object: T, field: keyof T, file: string | undefined): T {
  return file === undefined ? object : { ...object, [field]: file };
}

function tlsOf(cluster: Cluster, user: User): https.AgentOptions {
  return {
    ...(cluster.skipTLSVerify ? { rejectUnauthorized: false } : {}),
    ...(isText(cluster.tlsServerName) ? { servername: cluster.tlsServerName } : {}),
    ...optional("ca", fileOrData(cluster.caFile, cluster.caData)),
    ...optional("cert", fileOrData(user.certFile, user.certData)),
    ...optional("key", fileOrData(user.keyFile, user.keyData)),
  };
}

function fileOrData(file: string | undefined, base64: string | undefined): Buffer | undefined {
  if (isText(file)) return fs.readFileSync(file);
  return isText(base64) ? Buffer.from(base64, "base64") : undefined;
}

/** The official client's types say undefined where it may well say null. */
function isText(value: string | null | undefined): value is string {
  return value !== undefined && value !== null && value !== "";
}

function optional(name: string, value: Buffer | undefined): Readonly<Record<string, Buffer>> {
  return value === undefined ? {} : { [name]: value };
}

function headersOf(user: User): Record<string, string> {
  const headers: Record<string, string> = {};
  if (isText(user.token)) headers["authorization"] = `Bearer ${user.token.trim()}`;
  else if (isText(user.username)) {
    headers["authorization"] = `Basic ${Buffer.from(`${user.username}:${user.password ?? ""}`).toString("base64")}`;
  }
  if (isText(user.impersonateUser)) headers["impersonate-user"] = user.impersonateUser;
  return headers;
}

/** New ones know no credential yet: files are read and plug-ins are asked again. */
async function authenticatorsOf(user: User): Promise<Authenticator[]> {
  const light: Authenticator[] = [new ExecAuth(), new FileAuth()];
  const provider = (user.authProvider as { readonly name?: unknown } | null | undefined)?.name;
  if (provider === undefined || light.some((one) => one.isAuthProvider(user))) return light;
  if (provider !== "oidc") throw new Refusal(`credentials of the kind ${JSON.stringify(provider)} are not supported`);
  const { OpenIDConnectAuth } = await import("@kubernetes/client-node/dist/oidc_auth.js");
  return [new OpenIDConnectAuth()];
}

async function newAgent(
  isSecure: boolean,
  options: https.AgentOptions,
  proxyUrl: string | undefined,
): Promise<http.Agent> {
  const settings = { ...options, keepAlive: true, keepAliveMsecs: 30_000 };
  if (!isText(proxyUrl)) return isSecure ? new https.Agent(settings) : new http.Agent(settings);
  if (!/^https?:/.test(proxyUrl)) throw new Refusal("only a proxy that speaks HTTP can stand before an API server");
  if (!isSecure) return new (await import("http-proxy-agent")).HttpProxyAgent(proxyUrl, settings);
  return new (await import("https-proxy-agent")).HttpsProxyAgent(proxyUrl, settings);
}
