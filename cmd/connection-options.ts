/**
 * How commands reach the network.
 */
import { defaultHttpOptions } from "../importer/http/http-options.ts";
import type { HttpOptions } from "../importer/http/http-options.ts";
import { proxySettings } from "../importer/http/proxies.ts";
import type { CommandIo } from "./command-io.ts";

/** @param checked a digest of the bytes will be compared, so it matters less who served them */
export function httpOptions(io: CommandIo, checked = false): HttpOptions {
  return { ...defaultHttpOptions, proxies: proxySettings(io.env), allowsDowngrade: checked };
}
