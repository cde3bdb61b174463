/**
 * The connections of a client: direct or through a proxy, kept alive, with its own idea of whom TLS believes.
 *
 * Agents are made when the first URL needs them: a plain http transfer never reads a certificate.
 */
import http from "node:http";
import https from "node:https";
import type tls from "node:tls";
import type { PeerCertificate } from "node:tls";
import { HttpProxyAgent } from "http-proxy-agent";
import { HttpsProxyAgent } from "https-proxy-agent";
import { authOf, basicHeader, withoutAuth } from "./basic-auth.ts";
import { PROXY_STATUS } from "./failure.ts";
import { localLookup } from "./local-lookup.ts";
import { proxyFor } from "./proxies.ts";
import type { ProxySettings } from "./proxies.ts";
import { trustedConnection } from "./tls-trust.ts";
import type { TrustSettings } from "./tls-trust.ts";

export interface AgentSettings {
  readonly trust: TrustSettings;
  readonly proxies: ProxySettings;
  /** Told to a proxy too. */
  readonly userAgent: string;
  /** What a proxy that makes a tunnel is told instead. */
  readonly tunnelUserAgent?: string | undefined;
}

/** Eight threads read ranges in parallel, each with few connections at once; idle ones beyond this are closed. */
const KEPT_ALIVE = 16;

export class Agents {
  readonly #settings: AgentSettings;
  readonly #agents = new Map<string, http.Agent>();
  #tls: tls.ConnectionOptions | undefined;
  #warnings: readonly string[] = [];

  constructor(settings: AgentSettings) {
    this.#settings = settings;
  }

  /** What was left out of the certificates, once they were needed. */
  get warnings(): readonly string[] {
    return this.#warnings;
  }

  /** @throws UsageError for a proxy of an unknown kind */
  for(url: URL): http.Agent {
    const proxy = proxyFor(url, this.#settings.proxies);
    const key = `${url.protocol} ${proxy?.href ?? ""}`;
    const agent = this.#agents.get(key) ?? this.#make(url.protocol === "https:", proxy);
    this.#agents.set(key, agent);
    return agent;
  }

  close(): void {
    for (const agent of this.#agents.values()) agent.destroy();
    this.#agents.clear();
  }

  #make(isSecure: boolean, proxy: URL | undefined): http.Agent {
    const kept = { keepAlive: true, maxFreeSockets: KEPT_ALIVE, lookup: localLookup };
    if (proxy === undefined)
      return isSecure ? new https.Agent({ ...kept, ...this.#tlsOptions() }) : new http.Agent(kept);
    const settings = {
      ...kept,
      ...(isSecure || proxy.protocol === "https:" ? this.#tlsOptions() : {}),
      headers: this.#proxyHeaders(proxy, isSecure),
    };
    const bare = withoutAuth(proxy);
    return isSecure ? tunnel(bare, settings, this.#tlsOptions()) : new HttpProxyAgent(bare, settings);
  }

  /** Given as a header, not in the URL: the agents show the URL to whoever listens. */
  #proxyHeaders(proxy: URL, makesTunnel: boolean): Record<string, string> {
    const { userAgent, tunnelUserAgent = userAgent } = this.#settings;
    const headers = { "User-Agent": makesTunnel ? tunnelUserAgent : userAgent };
    const auth = authOf(proxy);
    return auth === undefined ? headers : { ...headers, "Proxy-Authorization": basicHeader(auth) };
  }

  #tlsOptions(): tls.ConnectionOptions {
    if (this.#tls !== undefined) return this.#tls;
    const { options, warnings } = trustedConnection(this.#settings.trust);
    this.#warnings = warnings;
    this.#tls = options;
    return options;
  }
}

type TunnelSettings = ConstructorParameters<typeof HttpsProxyAgent<string>>[1];

function tunnel(proxy: URL, settings: TunnelSettings, options: tls.ConnectionOptions): http.Agent {
  const agent = new HttpsProxyAgent<string>(proxy, settings);
  // The agent's own options serve its connection to the proxy only; the server behind it has to be verified as well. An IP
  // address would be lost on the way, and the certificate compared with "localhost".
  const connect = agent.connect.bind(agent);
  const { checkServerIdentity: check } = options;
  agent.connect = async (request, target) => {
    const host = target.host ?? "";
    const verified =
      check === undefined ? {} : { checkServerIdentity: (_: string, peer: PeerCertificate) => check(host, peer) };
    return await connect(request, { ...target, ...options, ...verified } as typeof target);
  };
  // Left to itself the agent passes a refusal on as if the server had answered it; a proxy could answer with an image.
  agent.on("proxyConnect", (answer: { readonly statusCode: number }) => {
    if (answer.statusCode === 200) return;
    throw Object.assign(new Error("refused"), { code: `${PROXY_STATUS}${answer.statusCode}` });
  });
  return agent;
}
