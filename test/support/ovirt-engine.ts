/**
 * An oVirt engine and the host that serves its image transfers, in one: as much of both as a download sees.
 *
 * The host's half answers as ovirt-imageio 2.5 does over a qemu-nbd export (headers, texts, statuses seen with it); the
 * engine's half answers in the XML of its REST API and looks closely at what it is asked: `complaints` has to stay empty.
 */
import http from "node:http";
import https from "node:https";
import type { AddressInfo, Socket } from "node:net";

export interface EngineSettings {
  readonly disk: Buffer;
  /** Of the ticket; the host's volume may be longer. */
  readonly ticketSize?: number;
  /** What OPTIONS tells; undefined: checksum and extents. */
  readonly features?: readonly string[];
  readonly maxReaders?: number | undefined;
  /** Body of `/extents`; undefined: what is in the disk. */
  readonly extents?: string;
  /** How often the disk is locked before a transfer can be made. */
  readonly lockedTimes?: number;
  /** Phases of the transfer as they are asked for, the last one for good. Default: `transferring`. */
  readonly phases?: readonly string[];
  /** Replaces an answer. */
  readonly misdeed?: (call: Call) => EngineMisdeed | undefined;
  readonly tls?: { readonly key: string; readonly cert: string };
  /** What is inside of the transfer's answer where its URLs are; undefined: a transfer_url. */
  readonly urls?: (origin: string) => string;
}

export interface EngineMisdeed {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Bytes of an image's body after which the connection is reset. */
  readonly cutAfter?: number;
  /** Forgets all tokens, then answers as ever. */
  readonly expires?: true;
}

export interface Call {
  /** `POST /ovirt-engine/api/imagetransfers` */
  readonly what: string;
  /** Of those with the same words, from 1 on. */
  readonly number: number;
  readonly range: string | undefined;
  readonly body: string;
}

export interface OvirtStub {
  readonly origin: string;
  /** What a user gives. */
  readonly endpoint: string;
  readonly calls: readonly Call[];
  /** What a real engine would not have liked. */
  readonly complaints: readonly string[];
  /** Everything that must be shown nowhere. */
  readonly secrets: readonly string[];
  /** `finalize` or `cancel`, once it was asked for. */
  readonly ended: () => string | undefined;
  readonly tokensInUse: () => number;
}

export const USER = "admin@internal";
export const PASSWORD = "pass&word<1>";
export const DISK_ID = "0b3c6f6a-3c52-4b0e-9d0e-7d4b8f3f5d11";
/** What asks the worker for the disk. */
export function importEnvironment(endpoint: string) {
  return {
    IMPORTER_SOURCE: "imageio",
    IMPORTER_ENDPOINT: endpoint,
    IMPORTER_DISK_ID: DISK_ID,
    IMPORTER_ACCESS_KEY_ID: USER,
    IMPORTER_SECRET_KEY: PASSWORD,
  } as const;
}

const TRANSFER_ID = "d4a1b2c3-55aa-4c0e-8f61-0e4d5f6a7b8c";
const TICKET = "ticket-74ca180f";
const API = "/ovirt-engine/api";

/** Granularity of qemu's allocation map for a file. */
const BLOCK = 4096;
const ZEROS = Buffer.alloc(BLOCK);

/** Runs `use` with both on the loopback interface, gone afterwards. */
export async function withOvirt<T>(settings: EngineSettings, use: (stub: OvirtStub) => Promise<T>): Promise<T> {
  const stub = new Stub(settings);
  const sockets = new Set<Socket>();
  const onRequest = (request: http.IncomingMessage, response: http.ServerResponse): void => {
    const pieces: Buffer[] = [];
    request.on("data", (piece: Buffer) => pieces.push(piece));
    request.on("end", () => stub.answer(request, Buffer.concat(pieces).toString(), response));
  };
  const server =
    settings.tls === undefined ? http.createServer(onRequest) : https.createServer(settings.tls, onRequest);
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
    socket.on("close", () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const scheme = settings.tls === undefined ? "http" : "https";
  stub.origin = `${scheme}://127.0.0.1:${(server.address() as AddressInfo).port}`;
  try {
    return await use(stub);
  } finally {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  }
}

interface Reply {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
}

class Stub implements OvirtStub {
  origin = "";
  readonly calls: Call[] = [];
  readonly complaints: string[] = [];
  readonly #settings: EngineSettings;
  readonly #tokens = new Set<string>();
  #issued = 0;
  #asked = 0;
  #ended: string | undefined;

  constructor(settings: EngineSettings) {
    this.#settings = settings;
  }

  get endpoint(): string {
    return this.origin + API;
  }

  get secrets(): readonly string[] {
    const tokens = Array.from({ length: this.#issued }, (_, index) => tokenOf(index + 1));
    return [PASSWORD, encodeURIComponent(PASSWORD), TICKET, ...tokens];
  }

  ended(): string | undefined {
    return this.#ended;
  }

  tokensInUse(): number {
    return this.#tokens.size;
  }

  answer(request: http.IncomingMessage, body: string, response: http.ServerResponse): void {
    const what = `${request.method ?? ""} ${request.url ?? ""}`;
    const number = this.calls.filter((call) => call.what === what).length + 1;
    const call = { what, number, body, range: request.headers.range };
    this.calls.push(call);
    const misdeed = this.#settings.misdeed?.(call);
    if (misdeed?.expires === true) this.#tokens.clear();
    const reply = this.#reply(call, request.headers);
    const changed = {
      status: misdeed?.status ?? reply.status,
      body: Buffer.from(misdeed?.body ?? (misdeed?.status === undefined ? (reply.body ?? "") : "")),
    };
    const { "content-length": _, ...kept } = misdeed?.status === undefined ? (reply.headers ?? {}) : {};
    response.writeHead(changed.status, {
      server: "imageio/2.5.1",
      "content-length": changed.body.length,
      ...kept,
      ...misdeed?.headers,
    });
    if (misdeed?.cutAfter === undefined) response.end(changed.body);
    else response.write(changed.body.subarray(0, misdeed.cutAfter), () => response.destroy());
  }

  #reply(call: Call, headers: http.IncomingHttpHeaders): Reply {
    const [method = "", path = ""] = call.what.split(" ");
    if (path === "/ovirt-engine/sso/oauth/token") return this.#login(method, call.body, headers);
    if (path === "/ovirt-engine/services/sso-logout") return this.#logout(call.body);
    if (path.startsWith(`${API}/`)) return this.#api(method, path.slice(API.length + 1), call.body, headers);
    if (path.startsWith("/images/")) return this.#images(method, path.slice("/images/".length), call, headers);
    return text(404, `No handler for '${path}'`);
  }

  #login(method: string, body: string, headers: http.IncomingHttpHeaders): Reply {
    const form = new URLSearchParams(body);
    if (method !== "POST" || headers["content-type"] !== "application/x-www-form-urlencoded") {
      this.#complain("a login that is no form");
    }
    if (form.get("grant_type") !== "password" || form.get("scope") !== "ovirt-app-api") {
      this.#complain("a login without grant_type and scope");
    }
    if (form.get("username") !== USER || form.get("password") !== PASSWORD) {
      const description = `Cannot authenticate user '${form.get("username")}': the password ${form.get("password")} is wrong..`;
      return json(400, { error_code: "access_denied", error: "access_denied", error_description: description });
    }
    this.#issued += 1;
    this.#tokens.add(tokenOf(this.#issued));
    const expiry = "9223372036854775807";
    return json(200, {
      access_token: tokenOf(this.#issued),
      scope: "ovirt-app-api",
      exp: expiry,
      token_type: "bearer",
    });
  }

  #logout(body: string): Reply {
    const token = new URLSearchParams(body).get("token") ?? "";
    if (!this.#tokens.delete(token)) this.#complain("a logout without a token in use");
    return json(200, {});
  }

  #api(method: string, path: string, body: string, headers: http.IncomingHttpHeaders): Reply {
    if (!this.#tokens.has((headers.authorization ?? "").replace(/^Bearer /, ""))) {
      return { status: 401, headers: { "www-authenticate": 'Bearer realm="oVirt Engine"' } };
    }
    if (headers.accept !== "application/xml" || headers["version"] !== "4")
      this.#complain(`${path}: not XML of version 4`);
    if (method === "GET" && path === `disks/${DISK_ID}`) {
      return xml(
        200,
        `<disk id="${DISK_ID}"><status>ok</status><total_size>${this.#settings.disk.length}</total_size></disk>`,
      );
    }
    if (method === "POST" && path === "imagetransfers") return this.#create(body, headers);
    const [transfer, action] = path.slice("imagetransfers/".length).split("/");
    if (!path.startsWith("imagetransfers/") || transfer !== TRANSFER_ID || this.#asked === 0)
      return fault(404, "Not Found", "");
    if (method === "GET" && action === undefined) return xml(200, this.#transfer());
    if (method !== "POST" || body !== "<action/>") this.#complain(`${path}: no action`);
    if (action === "extend") return xml(200, "<action><status>complete</status></action>");
    if (action !== "finalize" && action !== "cancel") return fault(404, "Not Found", "");
    this.#ended ??= action;
    return xml(200, "<action><status>complete</status></action>");
  }

  #create(body: string, headers: http.IncomingHttpHeaders): Reply {
    const wanted =
      `<image_transfer><disk id="${DISK_ID}"/><direction>download</direction><format>raw</format>` +
      "<inactivity_timeout>60</inactivity_timeout></image_transfer>";
    if (body !== wanted || headers["content-type"] !== "application/xml") this.#complain(`a transfer of ${body}`);
    const tries = this.calls.filter(({ what }) => what === `POST ${API}/imagetransfers`).length;
    if (tries <= (this.#settings.lockedTimes ?? 0)) {
      return fault(409, "Operation Failed", "[Cannot transfer Virtual Disk: Disk is locked. Please try again later.]");
    }
    return xml(202, this.#transfer());
  }

  #transfer(): string {
    const phases = this.#settings.phases ?? ["transferring"];
    const phase =
      this.#ended === undefined ? phases[Math.min(this.#asked, phases.length - 1)] : `finalizing_${this.#ended}`;
    this.#asked += 1;
    const urls = this.#settings.urls?.(`${this.origin}/images/${TICKET}`);
    return (
      `<image_transfer href="${API}/imagetransfers/${TRANSFER_ID}" id="${TRANSFER_ID}"><direction>download</direction>` +
      `<phase>${phase}</phase>${urls ?? `<transfer_url>${this.origin}/images/${TICKET}</transfer_url>`}</image_transfer>`
    );
  }

  #images(method: string, path: string, { range }: Call, headers: http.IncomingHttpHeaders): Reply {
    if (headers.authorization !== undefined) this.#complain("credentials for the image's server");
    const [ticket, rest] = path.split("/");
    if (ticket !== TICKET || this.#ended !== undefined) {
      const refusal = text(403, `You are not allowed to access this resource: No such ticket ${ticket}`);
      return { ...refusal, headers: { ...refusal.headers, connection: "close" } };
    }
    const { disk, features = ["checksum", "extents"], maxReaders = 8, ticketSize = disk.length } = this.#settings;
    if (method === "OPTIONS") {
      const allow = { allow: "OPTIONS,GET" };
      const reply = json(200, { features, max_readers: maxReaders, max_writers: 8 });
      return { ...reply, headers: { ...reply.headers, ...allow } };
    }
    if (rest === "extents")
      return { ...json(200, {}), body: this.#settings.extents ?? JSON.stringify(extentsOf(disk)) };
    const parts = /^bytes=(\d+)-(\d*)$/.exec(range ?? "");
    const type = { "content-type": "application/octet-stream", "content-disposition": "attachment" };
    if (parts === null) return { status: 200, headers: type, body: disk.subarray(0, ticketSize) };
    const start = Number(parts[1]);
    const end = parts[2] === "" ? ticketSize : Number(parts[2]) + 1;
    if (end > ticketSize) {
      const reply = text(416, "Requested range out of allowed range");
      return { ...reply, headers: { ...reply.headers, "content-range": `bytes */${ticketSize}` } };
    }
    const contentRange = { "content-range": `bytes ${start}-${end - 1}/${ticketSize}` };
    return { status: 206, headers: { ...type, ...contentRange }, body: disk.subarray(start, end) };
  }

  #complain(what: string): void {
    this.complaints.push(what);
  }
}

/** As the server lists them. */
export function extentsOf(disk: Buffer): { start: number; length: number; zero: boolean; hole: boolean }[] {
  const extents: { start: number; length: number; zero: boolean; hole: boolean }[] = [];
  for (let start = 0; start < disk.length; start += BLOCK) {
    const block = disk.subarray(start, start + BLOCK);
    const zero = block.equals(ZEROS.subarray(0, block.length));
    const last = extents.at(-1);
    if (last?.zero === zero) last.length += block.length;
    else extents.push({ start, length: block.length, zero, hole: false });
  }
  return extents;
}

function tokenOf(number: number): string {
  return `sso-token-${number}-secret`;
}

function json(status: number, value: unknown): Reply {
  return { status, headers: { "content-type": "application/json" }, body: JSON.stringify(value) };
}

function xml(status: number, body: string): Reply {
  const declaration = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n';
  return { status, headers: { "content-type": "application/xml" }, body: declaration + body };
}

function fault(status: number, reason: string, detail: string): Reply {
  return xml(status, `<fault><detail>${detail}</detail><reason>${reason}</reason></fault>`);
}

function text(status: number, body: string): Reply {
  return { status, headers: { "content-type": "text/plain; charset=UTF-8" }, body };
}
