/**
 * How commands reach the network: options of every command that opens an image, and what comes of them and the environment.
 *
 * Credentials come from files and the environment, never from arguments: those are seen by every user of the machine.
 */
import fs from "node:fs";
import { InvalidArgumentError, Option } from "commander";
import type { Command } from "commander";
import type { Warning } from "../formats/disk-format.ts";
import { UsageError } from "../importer/errors.ts";
import type { Credentials } from "../importer/http/authorization.ts";
import { defaultHttpOptions } from "../importer/http/http-options.ts";
import type { HttpOptions } from "../importer/http/http-options.ts";
import { proxySettings } from "../importer/http/proxies.ts";
import { newRateLimit } from "../importer/http/rate-limit.ts";
import type { RateLimit } from "../importer/http/rate-limit.ts";
import type { TrustSettings } from "../importer/http/tls-trust.ts";
import { isHttpUrl, URL_KINDS } from "../importer/sources/open-source.ts";
import type { SourceOptions, UrlKind } from "../importer/sources/open-source.ts";
import type { CommandIo } from "./command-io.ts";
import { MAX_HEADER_FILE_BYTES, parseHeaders } from "./header-file.ts";
import { quantityArgument } from "./image-options.ts";
import type { ImageOptions } from "./image-options.ts";
import { findNetrc, netrcAuth } from "./netrc.ts";
import { readSmallFile } from "./small-file.ts";

export interface ConnectionOptions extends ImageOptions {
  readonly source?: UrlKind;
  readonly region?: string;
  readonly architecture?: string;
  readonly cacert?: readonly string[];
  readonly insecure?: true;
  /** What stands in it: it may be a pipe, which is read once. */
  readonly headerFile?: readonly (readonly [name: string, value: string])[];
  readonly netrcFile?: string;
  /** Made once for a command, so that all its sources keep one pace. */
  readonly limitRate?: RateLimit;
  /** Seconds. */
  readonly stallTimeout?: number;
}

/** A source's options, and what is odd about where they came from. */
export interface Connection {
  readonly source: SourceOptions;
  readonly warnings: readonly Warning[];
}

/** What a command will do with a source. */
export interface SourceUse {
  /** A digest of the bytes is compared, so it matters less who serves them. */
  readonly isChecked?: boolean;
  /** Only its first bytes are looked at. */
  readonly isForStart?: boolean;
}

/** Headers, and the first tables of most formats. */
const START_LENGTH = 256 * 1024;

/** A day; a connection that is silent for longer is none. */
const MAX_STALL_S = 86_400;

const GROUP = "Options for sources in the network:";

/** Adds the options in a group of their own, after those that the command has. */
export function addConnectionOptions(command: Command): Command {
  const options = [
    new Option("--source <kind>", "what an http(s) URL leads to; default: http").choices(URL_KINDS),
    new Option("--region <name>", "the region of an S3 bucket"),
    new Option("--architecture <name>", "which of a container image's: amd64, arm64, …"),
    new Option(
      "--cacert <path>",
      "file or folder of certificates to believe besides the system's; may be repeated",
    ).argParser((place, places: readonly string[] | undefined) => [...(places ?? []), place]),
    new Option("--insecure", "believe any certificate"),
    new Option("--header-file <file>", "headers for the server, one `Name: value` a line").argParser(readHeaders),
    new Option("--netrc-file <file>", "user and password by host; default: $NETRC, else ~/.netrc"),
    new Option("--limit-rate <bytes>", "take no more a second, e.g. 10M; all connections together").argParser(rate),
    new Option(
      "--stall-timeout <seconds>",
      `how long a connection may be silent until it is made anew; default: ${defaultHttpOptions.stallMs / 1000}`,
    ).argParser(seconds),
  ];
  for (const option of options) command.addOption(option.helpGroup(GROUP));
  return command;
}

/**
 * @param name of the source
 * @throws UsageError for a file that was named and cannot be used
 */
export function connect(name: string, options: ConnectionOptions, io: CommandIo, use: SourceUse = {}): Connection {
  const warnings: Warning[] = [];
  const http: HttpOptions = {
    ...defaultHttpOptions,
    trust: trustSettings(options),
    proxies: proxySettings(io.env),
    auth: credentials(name, options, io, warnings),
    headers: options.headerFile ?? [],
    stallMs: options.stallTimeout === undefined ? defaultHttpOptions.stallMs : options.stallTimeout * 1000,
    allowsDowngrade: use.isChecked === true,
    firstLength: use.isForStart === true ? START_LENGTH : undefined,
    rateLimit: options.limitRate,
  };
  const source = {
    env: io.env,
    http,
    formatNamed: options.format !== undefined,
    kind: options.source,
    region: options.region,
    architecture: options.architecture,
    member: options.member,
  };
  return { source, warnings };
}

/** For commands whose output has no place for them. */
export function tellWarnings(warnings: readonly Warning[], io: CommandIo): void {
  for (const { code, message } of warnings) io.stderr.write(`decant: warning: ${message} [${code}]\n`);
}

function trustSettings({ cacert = [], insecure }: ConnectionOptions): TrustSettings {
  const files: string[] = [];
  const folders: string[] = [];
  for (const place of cacert) {
    const stat = fs.statSync(place, { throwIfNoEntry: false });
    if (stat === undefined) throw new UsageError(`there is no file or folder ${place} with certificates`);
    (stat.isDirectory() ? folders : files).push(place);
  }
  return { files, folders, insecure: insecure === true };
}

function readHeaders(file: string): [name: string, value: string][] {
  // As bytes: what is not ASCII goes out as it stands in the file.
  return parseHeaders(readSmallFile(file, MAX_HEADER_FILE_BYTES).bytes.toString("latin1"), file);
}

/** Only for http(s) itself: registries and clouds have files of their own. */
function credentials(
  name: string,
  { source = "http", netrcFile }: ConnectionOptions,
  io: CommandIo,
  warnings: Warning[],
): Credentials | undefined {
  if (source !== "http" || !isHttpUrl(name)) return undefined;
  const url = URL.parse(name);
  const netrc = url === null ? undefined : findNetrc(netrcFile, io.env);
  if (url === null || netrc === undefined) return undefined;
  try {
    const auth = netrcAuth(netrc.text, url.hostname);
    if (auth === undefined) return undefined;
    if (netrc.isOpenToOthers) warnings.push(openToOthers(netrc.file));
    return { kind: "basic", ...auth };
  } catch (error) {
    const message = `${netrc.file} is no netrc file: ${error instanceof Error ? error.message : String(error)}`;
    if (netrcFile !== undefined) throw new UsageError(message);
    warnings.push({ code: "NETRC_DAMAGED", message });
    return undefined;
  }
}

function openToOthers(file: string): Warning {
  return { code: "NETRC_OPEN", message: `the passwords in ${file} can be read by others; chmod 600 changes that` };
}

function rate(text: string): RateLimit {
  const bytesPerSecond = quantityArgument(text.replace(/\/s$/, ""));
  if (bytesPerSecond < 1) throw new InvalidArgumentError("It is at least one byte a second.");
  return newRateLimit(bytesPerSecond);
}

function seconds(text: string): number {
  const value = Number(text);
  if (text.trim() !== "" && value > 0 && value <= MAX_STALL_S) return value;
  throw new InvalidArgumentError(`It is a number of seconds up to ${MAX_STALL_S}.`);
}
