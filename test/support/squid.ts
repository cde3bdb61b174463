/**
 * squid on the loopback interface, started for one test and stopped after it: the proxy that many networks have.
 *
 * It alone knows the names in `hosts`, so who reaches such a name went through it.
 */
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { withServerProcess } from "./server-process.ts";
import { withTemporaryFolder } from "./temporary-folder.ts";

export interface Squid {
  /** host:port */
  readonly host: string;
  /** Lines of its access log, once it was told to end: method, URL or host:port, status, user, user agent. */
  readonly log: () => string[];
}

export interface SquidSettings {
  /** Undefined: everybody may use it. */
  readonly auth?: { readonly user: string; readonly password: string };
  /** Speaks TLS with its clients. */
  readonly tls?: { readonly key: string; readonly cert: string };
  /** Names that lead to 127.0.0.1. */
  readonly hosts: readonly string[];
}

export async function withSquid<T>(settings: SquidSettings, use: (squid: Squid) => Promise<T>): Promise<T> {
  return await withTemporaryFolder(async (folder) => {
    fs.chmodSync(folder, 0o777); // squid that was started by root is another user
    const log = path.join(folder, "access.log");
    fs.writeFileSync(path.join(folder, "hosts"), `127.0.0.1 ${settings.hosts.join(" ")}\n`);
    const command = (port: number): string[] => {
      const file = path.join(folder, "squid.conf");
      fs.writeFileSync(file, `${configuration(folder, port, settings).join("\n")}\n`);
      return ["-N", "-f", file];
    };
    return await withServerProcess("squid", command, async ({ port }) => {
      return await use({
        host: `127.0.0.1:${port}`,
        log: () => (fs.existsSync(log) ? fs.readFileSync(log, "utf8").trimEnd().split("\n") : []),
      });
    });
  });
}

function configuration(folder: string, port: number, { auth, tls }: SquidSettings): string[] {
  const file = (name: string, text: string): string => {
    const place = path.join(folder, name);
    fs.writeFileSync(place, text);
    return place;
  };
  const listen =
    tls === undefined
      ? `http_port 127.0.0.1:${port}`
      : `https_port 127.0.0.1:${port} tls-cert=${file("proxy.crt", tls.cert)} tls-key=${file("proxy.key", tls.key)}`;
  return [
    listen,
    "logformat seen %rm %ru %>Hs %un %{User-Agent}>h",
    `access_log stdio:${path.join(folder, "access.log")} seen`,
    "buffered_logs off",
    `cache_log ${path.join(folder, "cache.log")}`,
    `coredump_dir ${folder}`,
    "pid_filename none",
    `hosts_file ${path.join(folder, "hosts")}`,
    "cache deny all",
    "memory_cache_shared off",
    "pinger_enable off",
    "netdb_filename none",
    "shutdown_lifetime 0 seconds",
    "max_filedescriptors 1024",
    ...(auth === undefined
      ? ["http_access allow all"]
      : [
          `auth_param basic program /usr/lib/squid/basic_ncsa_auth ${file("users", `${auth.user}:${hashed(auth.password)}\n`)}`,
          "auth_param basic children 1 startup=1",
          "acl known proxy_auth REQUIRED",
          "http_access allow known",
          "http_access deny all",
        ]),
  ];
}

function hashed(password: string): string {
  return execFileSync("openssl", ["passwd", "-apr1", "-stdin"], { input: password, encoding: "utf8" }).trim();
}
