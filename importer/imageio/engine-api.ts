/**
 * The few calls of the oVirt engine's REST API (version 4) that a download needs: find the disk; make, watch, extend and end
 * an image transfer.
 */
import { SourceError, UsageError } from "../errors.ts";
import { readDocument } from "../http/document.ts";
import type { Document } from "../http/document.ts";
import { HttpClient } from "../http/http-client.ts";
import type { HttpOptions } from "../http/http-options.ts";
import type { Pace } from "../http/pace.ts";
import { Place } from "../http/place.ts";
import { faultOf, hasDisk, parseTransfer } from "./engine-answer.ts";
import type { TransferState } from "./engine-answer.ts";
import { EngineSession } from "./engine-session.ts";
import type { Login } from "./engine-session.ts";

export interface EngineOptions extends Login {
  /** Its credentials and extra headers are left out: an engine has its own way to log in. */
  readonly http: HttpOptions;
  /** `https://host/ovirt-engine/api` */
  readonly endpoint: string;
  readonly pace: Pace;
}

/** A disk's description is some KiB, a transfer's less. */
const MAX_ANSWER_LENGTH = 1024 * 1024;

/** Where the API is if the endpoint names the host only. */
const API_PATH = "/ovirt-engine/api";

/** After so many seconds without a read the engine ends the transfer. It is what tidies up after a machine that lost power. */
const INACTIVITY_SECONDS = 60;

/** What the engine says of a disk that something else works on. */
const LOCKED = /\b(?:disk is|disks are) locked\b/i;

/** A refusal's body says why. */
const REFUSALS: readonly number[] = [400, 403, 404, 409, 500];

const XML = { Accept: "application/xml", "Content-Type": "application/xml", Version: "4" };

export class OvirtEngine {
  readonly #anonymous: HttpClient;
  readonly #client: HttpClient;
  readonly #session: EngineSession;
  readonly #api: URL;

  /** @throws UsageError for an endpoint that is no URL */
  constructor(options: EngineOptions) {
    this.#api = apiOf(options.endpoint);
    const http = { ...options.http, auth: undefined, headers: [] };
    this.#anonymous = new HttpClient(http, options.pace);
    this.#session = new EngineSession(this.#anonymous, this.#api, options);
    this.#client = new HttpClient(http, options.pace, this.#session);
  }

  get host(): string {
    return this.#api.host;
  }

  get isEncrypted(): boolean {
    return this.#api.protocol === "https:";
  }

  /** @throws SourceError SOURCE_DENIED, or as the request goes */
  async login(signal: AbortSignal): Promise<void> {
    await this.#session.login(signal);
  }

  /** @throws SourceError SOURCE_NOT_FOUND */
  async requireDisk(id: string, signal: AbortSignal): Promise<void> {
    const answer = await this.#ask("GET", `disks/${encodeURIComponent(id)}`, { statuses: [200, 404], signal });
    if (answer.status === 200 && hasDisk(answer.bytes)) return;
    throw new SourceError("SOURCE_NOT_FOUND", `disk ${id} not found`, {
      remedy: `Check the disk's id, and whether the user may see it at ${this.host}.`,
    });
  }

  /**
   * Not to be interrupted: the engine may have made one that nobody would know of.
   * @throws SourceError SOURCE_UNAVAILABLE with the engine's reason
   */
  async createTransfer(diskId: string): Promise<TransferState | "locked"> {
    const body =
      `<image_transfer><disk id="${escapeXml(diskId)}"/><direction>download</direction><format>raw</format>` +
      `<inactivity_timeout>${INACTIVITY_SECONDS}</inactivity_timeout></image_transfer>`;
    const statuses = [200, 201, 202, ...REFUSALS];
    const answer = await this.#ask("POST", "imagetransfers", { statuses, body });
    const state = REFUSALS.includes(answer.status) ? undefined : parseTransfer(answer.bytes);
    if (state !== undefined) return state;
    const fault = faultOf(answer.bytes);
    if (LOCKED.test(fault)) return "locked";
    const why = fault === "" ? `it answers ${answer.status}` : this.#session.shown(fault);
    throw new SourceError("SOURCE_UNAVAILABLE", `the oVirt engine at ${this.host} makes no image transfer: ${why}`, {
      context: { status: answer.status },
    });
  }

  /**
   * Undefined: there is none of this id any more.
   * @param options `repeats`: whether the question is asked again where it fails for a passing reason
   * @throws SourceError
   */
  async transfer(
    id: string,
    options: { readonly signal?: AbortSignal; readonly repeats?: boolean } = {},
  ): Promise<TransferState | undefined> {
    const answer = await this.#ask("GET", transferPath(id), { ...options, statuses: [200, 404] });
    if (answer.status === 404) return undefined;
    const state = parseTransfer(answer.bytes);
    if (state !== undefined) return state;
    throw new SourceError(
      "SOURCE_UNAVAILABLE",
      `the oVirt engine at ${this.host} does not say how the transfer stands`,
    );
  }

  /** @throws SourceError */
  async act(id: string, action: "extend" | "finalize" | "cancel"): Promise<void> {
    await this.#ask("POST", `${transferPath(id)}/${action}`, { statuses: [200, 201, 202, 204], body: "<action/>" });
  }

  /** Logs out. Never fails. */
  async close(): Promise<void> {
    await this.#session.logout();
    this.#client.close();
    this.#anonymous.close();
  }

  async #ask(
    method: "GET" | "POST",
    path: string,
    request: {
      readonly statuses: readonly number[];
      readonly signal?: AbortSignal;
      readonly body?: string;
      readonly repeats?: boolean;
    },
  ): Promise<Document> {
    const place = Place.parse(`${this.#api.href}/${path}`);
    return await readDocument(this.#client, place, { ...request, method, headers: XML }, MAX_ANSWER_LENGTH);
  }
}

function transferPath(id: string): string {
  return `imagetransfers/${encodeURIComponent(id)}`;
}

function apiOf(endpoint: string): URL {
  const { first } = Place.parse(endpoint);
  const path = first.pathname.replace(/\/+$/, "");
  if (first.search !== "") throw new UsageError("the URL of an oVirt engine has no query");
  return new URL(path === "" ? API_PATH : path, first.origin);
}

function escapeXml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
}
