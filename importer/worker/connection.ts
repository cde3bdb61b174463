/**
 * How the worker reaches the network: its configuration as the HTTP client's options. Pure but for a look at whether the
 * folders of certificates are there.
 */
import fs from "node:fs";
import type { WorkerConfig } from "../config.ts";
import { UsageError } from "../errors.ts";
import type { Credentials } from "../http/authorization.ts";
import { defaultHttpOptions } from "../http/http-options.ts";
import type { HttpOptions } from "../http/http-options.ts";

/** Servers and proxies are configured by it, so it is CDI's. */
const WORKER_USER_AGENT = "cdi-golang-importer";

/** @throws UsageError where the folder of certificates that was named is not there */
export function connectionOf(config: WorkerConfig): HttpOptions {
  return {
    ...defaultHttpOptions,
    trust: { folders: certificateFolders(config), insecure: config.insecureTls },
    proxies: { http: config.proxy.http, https: config.proxy.https, except: config.proxy.none ?? "" },
    userAgent: WORKER_USER_AGENT,
    auth: basicAuth(config),
    headers: config.extraHeaders.map(({ name, value }) => [name, value] as const),
    stallMs: config.stallMs,
    // The digest vouches for the bytes, whoever serves them.
    allowsDowngrade: config.checksum !== undefined,
  };
}

/** Half of a name and password is none. */
function basicAuth({ accessKey, secretKey }: WorkerConfig): Credentials | undefined {
  if (accessKey === undefined || secretKey === undefined) return undefined;
  return { kind: "basic", user: accessKey, password: secretKey };
}

/** A volume for a proxy's certificates is mounted only where there are some. */
function certificateFolders({ certDir, proxyCertDir, insecureTls }: WorkerConfig): readonly string[] {
  if (certDir !== undefined && !insecureTls && !fs.existsSync(certDir)) {
    throw new UsageError(`there is no folder ${certDir} with certificates`, {
      remedy: "Mount it, or leave IMPORTER_CERT_DIR out.",
    });
  }
  const own = certDir === undefined ? [] : [certDir];
  return fs.existsSync(proxyCertDir) ? [proxyCertDir, ...own] : own;
}
