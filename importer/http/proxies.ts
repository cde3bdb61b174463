/**
 * Which proxy a URL goes through, by the environment: `http_proxy`, `https_proxy` and `no_proxy`, in lower or upper case.
 *
 * `no_proxy` is a list with commas: `*`, `host` (and what is below it), `.domain` (only what is below), either with `:port`,
 * an IP address, a CIDR block. This machine itself is never reached through a proxy: node pull asks localhost.
 */
import { BlockList, isIP } from "node:net";
import { UsageError } from "../errors.ts";

/** Plain data. The URLs may hold a password. */
export interface ProxySettings {
  readonly http: string | undefined;
  readonly https: string | undefined;
  readonly except: string;
}

export const noProxies: ProxySettings = { http: undefined, https: undefined, except: "" };

/** Lower case goes first, as with curl. An empty variable is none. */
export function proxySettings(env: Readonly<Record<string, string | undefined>>): ProxySettings {
  const read = (name: string): string | undefined => {
    return [env[name], env[name.toUpperCase()]]
      .map((value) => value?.trim())
      .find((value) => value !== undefined && value !== "");
  };
  return { http: read("http_proxy"), https: read("https_proxy"), except: read("no_proxy") ?? "" };
}

/**
 * The proxy for `url`; undefined: none.
 * @throws UsageError for a proxy that is neither http nor https
 */
export function proxyFor(url: URL, settings: ProxySettings): URL | undefined {
  const named = url.protocol === "https:" ? settings.https : settings.http;
  if (named === undefined) return undefined;
  const host = bareHost(url);
  if (isThisMachine(host) || isExcepted(host, portOf(url), settings.except)) return undefined;
  return parseProxy(named);
}

/** @throws UsageError for a proxy that is neither http nor https */
export function parseProxy(text: string): URL {
  const proxy = URL.parse(/^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `http://${text}`);
  if (proxy === null || proxy.hostname === "") throw new UsageError("the proxy in the environment is no URL");
  if (proxy.protocol === "http:" || proxy.protocol === "https:") return proxy;
  throw new UsageError(`proxies of the kind ${proxy.protocol}// are not supported; http:// and https:// are`);
}

/** Without the brackets of an IPv6 address, and without the dot that ends a full name. */
function bareHost(url: URL): string {
  return url.hostname
    .replace(/^\[(.*)\]$/, "$1")
    .replace(/\.$/, "")
    .toLowerCase();
}

function portOf(url: URL): string {
  if (url.port !== "") return url.port;
  return url.protocol === "https:" ? "443" : "80";
}

const loopback = new BlockList();
loopback.addSubnet("127.0.0.0", 8, "ipv4");
loopback.addAddress("::1", "ipv6");

function isThisMachine(host: string): boolean {
  if (host === "localhost" || host.endsWith(".localhost")) return true;
  return isIP(host) !== 0 && loopback.check(host, family(host));
}

function family(address: string): "ipv4" | "ipv6" {
  return isIP(address) === 6 ? "ipv6" : "ipv4";
}

function isExcepted(host: string, port: string, list: string): boolean {
  const entries = list.split(/[\s,]+/).filter((entry) => entry !== "");
  return entries.some((entry) => matches(entry.toLowerCase(), host, port));
}

function matches(entry: string, host: string, port: string): boolean {
  if (entry === "*") return true;
  const [network, prefix] = entry.split("/");
  if (network !== undefined && prefix !== undefined) return isInNetwork(host, network, prefix);
  const { name, onlyPort } = splitPort(entry);
  if (onlyPort !== undefined && onlyPort !== port) return false;
  if (isIP(name) !== 0 || isIP(host) !== 0) return sameAddress(name, host);
  const domain = name.replace(/^\*?\./, "").replace(/\.$/, "");
  if (host.endsWith(`.${domain}`)) return true;
  return host === domain && !/^\*?\./.test(name);
}

function splitPort(entry: string): { readonly name: string; readonly onlyPort: string | undefined } {
  const bracketed = /^\[(.*)\](?::(\d+))?$/.exec(entry);
  if (bracketed !== null) return { name: bracketed[1] ?? "", onlyPort: bracketed[2] };
  if (isIP(entry) === 6) return { name: entry, onlyPort: undefined };
  const parts = /^(.*?)(?::(\d+))?$/.exec(entry);
  return { name: parts?.[1] ?? entry, onlyPort: parts?.[2] };
}

/** IPv6 has many spellings of one address. */
function sameAddress(a: string, b: string): boolean {
  if (isIP(a) === 0 || isIP(a) !== isIP(b)) return false;
  const list = new BlockList();
  list.addAddress(a, family(a));
  return list.check(b, family(b));
}

function isInNetwork(host: string, network: string, prefix: string): boolean {
  const bits = Number(prefix);
  const most = isIP(network) === 6 ? 128 : 32;
  if (isIP(host) === 0 || isIP(host) !== isIP(network) || !/^\d+$/.test(prefix) || bits > most) return false;
  const list = new BlockList();
  list.addSubnet(network, bits, family(network));
  return list.check(host, family(host));
}
