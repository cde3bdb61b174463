/**
 * The ways that a secret comes in by: of each a server that is sent it, and how a program is told. What goes wrong is the
 * test's to say.
 */
import fs from "node:fs";
import type http from "node:http";
import path from "node:path";
import { baseDisk } from "./base-disk.ts";
import { buildImage, buildLayer, digestOf, file } from "./build-image.ts";
import { makeAuthority } from "./certificates.ts";
import { withGoogleAccount } from "./google-account.ts";
import { withProxy } from "./http-proxy.ts";
import { withServer } from "./misbehaving-server.ts";
import type { MisbehavingServer, Misdeed, ServerSettings } from "./misbehaving-server.ts";
import { DISK_ID, PASSWORD, USER, withOvirt } from "./ovirt-engine.ts";
import { secretFor } from "./secrets.ts";
import { challenge, withStubRegistry } from "./stub-registry.ts";

export type Env = Readonly<Record<string, string>>;
type Request = Pick<http.IncomingMessage, "url" | "headers">;

export interface Failure {
  readonly name: string;
  /** One of these ends the run, or a signal. */
  readonly codes: readonly string[];
  /** In the place of the disk. */
  readonly bytes?: Buffer;
  /** What the server does with the request of this number for the image. */
  readonly misdeed?: (number: number, request: Request) => Misdeed | undefined;
  readonly env?: Env;
  /** Of `convert`; undefined: it cannot fail so. */
  readonly args?: readonly string[] | undefined;
  readonly hasStrangersCertificate?: true;
  readonly hasFullVolume?: true;
  readonly isKilled?: true;
  readonly proxyPassword?: string;
}

export interface Certificates {
  /** A folder with the authority of `ours`, in `ca.pem`. */
  readonly trusted: string;
  readonly ours: NonNullable<ServerSettings["tls"]>;
  readonly strangers: NonNullable<ServerSettings["tls"]>;
}

/** What a carrier may use. */
export interface CarrierPlace {
  /** For files that hold secrets. */
  readonly folder: string;
  readonly certificates: Certificates;
}

export interface Served {
  /** For the program. */
  readonly env: Env;
  /** Of `convert`: options and the source; undefined: it is the worker that runs. */
  readonly args?: readonly string[];
  /** All that the servers were sent so far. */
  readonly seen: () => string;
  /** Texts that servers gave out, and that files hold. */
  readonly secrets?: () => readonly string[];
}

export interface Carrier {
  readonly name: string;
  /** What of the secrets the servers have to be sent as it is, or in base64; undefined: only what is made with them. */
  readonly sends?: RegExp;
  /** The kinds of failure that it does not come to. */
  readonly without?: readonly string[];
  readonly serve: (failure: Failure, place: CarrierPlace, use: (served: Served) => Promise<void>) => Promise<void>;
}

const disk = baseDisk(8 * 1024 * 1024);
const password = secretFor("password");

/** A query. */
export const SIGNED = `?X-Amz-Signature=${encodeURIComponent(secretFor("signature"))}`;

/** The server's certificate by its authority, and one that nobody trusts. Needs openssl. */
export function makeCertificates(folder: string): Certificates {
  const [own, other] = ["own", "other"].map((name) => {
    fs.mkdirSync(path.join(folder, name));
    return makeAuthority(path.join(folder, name));
  });
  if (own === undefined || other === undefined) throw new Error("no authorities");
  const trusted = path.join(folder, "trusted");
  fs.mkdirSync(trusted);
  fs.writeFileSync(path.join(trusted, "ca.pem"), own.certificate);
  return { trusted, ours: own.issue("DNS:images.test"), strangers: other.issue("DNS:images.test", "IP:127.0.0.1") };
}

const NO_PROXY = ["another password of the proxy"];

export const CARRIERS: readonly Carrier[] = [
  {
    name: "user and password, a header from a file, a signed URL",
    sends: /Basic .*X-Amz-Signature|X-Amz-Signature.*Basic /,
    without: NO_PROXY,
    serve: async (failure, { folder, certificates }, use) => {
      write(folder, "header", `X-Secret: ${secretFor("header")}\n`);
      await web(failure, certificates, async ({ origin, requests }) => {
        const auth = { IMPORTER_ACCESS_KEY_ID: "me", IMPORTER_SECRET_KEY: password };
        const env = worker("http", `${origin}/disk${SIGNED}`, { ...auth, DECANT_EXTRA_HEADERS_DIR: folder });
        await use({ env, seen: () => JSON.stringify(requests) });
      });
    },
  },
  {
    name: "a password in the URL",
    sends: /Basic /,
    without: NO_PROXY,
    serve: async (failure, { certificates }, use) => {
      await web(failure, certificates, async ({ origin, requests }) => {
        await use({ env: worker("http", withUser(origin, `/disk${SIGNED}`)), seen: () => JSON.stringify(requests) });
      });
    },
  },
  {
    name: "a bearer token in a header, a proxy's password",
    sends: /proxy-authorization.*Basic /,
    serve: async (failure, { certificates }, use) => {
      await webBehindProxy(failure, certificates, async (https_proxy, seen) => {
        const token = { IMPORTER_EXTRA_HEADER_0: `Authorization: Bearer ${secretFor("token")}` };
        const env = worker("http", `https://images.test/disk${SIGNED}`, { https_proxy, ...token });
        await use({ env: { ...env, IMPORTER_PROXY_CERT_DIR: certificates.trusted }, seen });
      });
    },
  },
  {
    name: "keys and a session token of S3",
    sends: /x-amz-security-token/,
    without: NO_PROXY,
    serve: async (failure, { certificates }, use) => {
      await web(failure, certificates, async ({ origin, requests }) => {
        const env = worker("s3", `${origin}/bucket/disk`, {
          IMPORTER_ACCESS_KEY_ID: "key",
          IMPORTER_SECRET_KEY: secretFor("key"),
          IMPORTER_SESSION_TOKEN: secretFor("session"),
        });
        await use({ env, seen: () => JSON.stringify(requests), secrets: () => signaturesIn(requests) });
      });
    },
  },
  {
    name: "a service account of Google's, and its token",
    without: NO_PROXY,
    serve: async (failure, { folder, certificates }, use) => {
      await withGoogleAccount(folder, async (account) => {
        await web(failure, certificates, async ({ origin, requests }) => {
          const env = worker("gcs", `${origin}/bucket/disk`, {
            GOOGLE_APPLICATION_CREDENTIALS: account.file,
            https_proxy: account.http.proxies.https ?? "",
            IMPORTER_PROXY_CERT_DIR: account.http.trust.folders[0] ?? "",
          });
          const { private_key: key } = JSON.parse(fs.readFileSync(account.file, "utf8")) as { private_key: string };
          const secrets = ["token-1", ...key.split("\n").filter((line) => /^[^-]/.test(line))];
          await use({ env, seen: () => JSON.stringify(requests), secrets: () => secrets });
        });
      });
    },
  },
  {
    name: "a pull secret, and a registry's token",
    sends: /Basic .*Bearer /,
    without: NO_PROXY,
    serve: async (failure, { certificates }, use) => {
      await registry(failure, certificates, async (host, seen) => {
        const secret = { IMPORTER_ACCESS_KEY_ID: "", IMPORTER_SECRET_KEY: dockerConfig(host) };
        const insecure = failure.hasStrangersCertificate === true ? "false" : "true";
        await use({ env: worker("registry", `docker://${host}/a:v1`, { ...secret, INSECURE_TLS: insecure }), seen });
      });
    },
  },
  {
    name: "an oVirt engine's password, token and ticket",
    without: [...NO_PROXY, "redirects in a circle", "a signed redirect that has expired", "a stall", "a damaged image"],
    serve: async (failure, { certificates }, use) => {
      const { bytes = disk, misdeed, isKilled } = failure;
      const tls = strangersOnly(failure, certificates);
      const settings = {
        disk: bytes,
        ...(tls === undefined ? {} : { tls }),
        lockedTimes: isKilled === true ? 100 : 0,
        misdeed: ({ what, number }: { readonly what: string; readonly number: number }) => {
          if (!/^GET \/images\/[^/]+$/.test(what) || misdeed === undefined) return undefined;
          const { status, cutAfter, bytes: body } = misdeed(number, { url: what, headers: {} }) ?? {};
          return {
            ...(status === undefined ? {} : { status, body: `No such ticket ${what} ${body?.toString()}` }),
            ...(cutAfter === undefined ? {} : { cutAfter }),
          };
        },
      };
      await withOvirt(settings, async (stub) => {
        const env = worker("imageio", stub.endpoint, {
          IMPORTER_DISK_ID: DISK_ID,
          IMPORTER_ACCESS_KEY_ID: USER,
          IMPORTER_SECRET_KEY: PASSWORD,
        });
        await use({ env, seen: () => JSON.stringify(stub.calls), secrets: () => stub.secrets });
      });
    },
  },
  {
    name: "convert: a netrc password, a header file, a signed URL",
    sends: /Basic /,
    without: NO_PROXY,
    serve: async (failure, { folder, certificates }, use) => {
      const netrc = write(folder, "netrc", `machine 127.0.0.1 login me password ${password}\n`);
      const headers = write(folder, "headers", `X-Secret: ${secretFor("header")}\n`);
      await web(failure, certificates, async ({ origin, requests }) => {
        const args = ["--netrc-file", netrc, "--header-file", headers, `${origin}/disk${SIGNED}`];
        await use({ env: {}, args, seen: () => JSON.stringify(requests) });
      });
    },
  },
  {
    name: "convert: a password in the URL, a proxy's password",
    sends: /proxy-authorization.*Basic /,
    serve: async (failure, { certificates }, use) => {
      await webBehindProxy(failure, certificates, async (https_proxy, seen) => {
        const args = ["--cacert", path.join(certificates.trusted, "ca.pem"), withUser("https://images.test", "/disk")];
        await use({ env: { https_proxy }, args, seen });
      });
    },
  },
  {
    name: "convert: keys and a session token from the environment",
    sends: /x-amz-security-token/,
    without: NO_PROXY,
    serve: async (failure, { certificates }, use) => {
      await web(failure, certificates, async ({ origin, requests }) => {
        const env = {
          AWS_ENDPOINT_URL: origin,
          AWS_ACCESS_KEY_ID: "key",
          AWS_SECRET_ACCESS_KEY: secretFor("key"),
          AWS_SESSION_TOKEN: secretFor("session"),
        };
        const secrets = (): string[] => signaturesIn(requests);
        await use({ env, args: ["s3://bucket/disk"], seen: () => JSON.stringify(requests), secrets });
      });
    },
  },
  {
    name: "convert: docker's file, and a registry's token",
    sends: /Basic .*Bearer /,
    without: NO_PROXY,
    serve: async (failure, { folder, certificates }, use) => {
      await registry(failure, certificates, async (host, seen) => {
        const env = { REGISTRY_AUTH_FILE: write(folder, "auth.json", dockerConfig(host)) };
        await use({ env, args: [`docker://${host}/a:v1`], seen });
      });
    },
  },
];

/** An http server, or one with a stranger's certificate. */
function web(
  failure: Failure,
  certificates: Certificates,
  use: (server: MisbehavingServer) => Promise<void>,
  isEncrypted = false,
): Promise<void> {
  const { bytes = disk, misdeed } = failure;
  const certificate = strangersOnly(failure, certificates) ?? (isEncrypted ? certificates.ours : undefined);
  return withServer(
    {
      bytes,
      etag: '"v1"',
      ...(misdeed === undefined ? {} : { misdeed }),
      ...(certificate === undefined ? {} : { tls: certificate }),
    },
    use,
  );
}

/** Behind a proxy with a password, where alone the server's name is known. */
function webBehindProxy(
  failure: Failure,
  certificates: Certificates,
  use: (proxyUrl: string, seen: () => string) => Promise<void>,
): Promise<void> {
  const password = secretFor("proxy");
  return web(
    failure,
    certificates,
    async ({ origin, requests }) => {
      const auth = `me:${failure.proxyPassword ?? password}`;
      await withProxy({ leadsTo: Number(new URL(origin).port), auth }, async (proxy) => {
        const url = `http://me:${encodeURIComponent(password)}@${proxy.host}`;
        await use(url, () => JSON.stringify([requests, proxy.requests]));
      });
    },
    true,
  );
}

/** A registry that gives tokens to who knows the password. */
async function registry(
  failure: Failure,
  certificates: Certificates,
  use: (host: string, seen: () => string) => Promise<void>,
): Promise<void> {
  const layer = buildLayer([file("disk/disk", failure.bytes ?? disk)], "none");
  const token = secretFor("token");
  let asked = 0;
  const misdeed = (name: string, _: number, request: http.IncomingMessage): Misdeed | undefined => {
    if (name === "/token") return { status: 200, bytes: Buffer.from(JSON.stringify({ token })) };
    if (name.startsWith("/elsewhere")) return failure.misdeed?.(0, request);
    if (request.headers.authorization !== `Bearer ${token}`) {
      return challenge(`Bearer realm="http://${request.headers.host}/token",service="stub"`);
    }
    return name.endsWith(digestOf(layer.bytes)) ? failure.misdeed?.((asked += 1), request) : undefined;
  };
  const tls = strangersOnly(failure, certificates);
  const images = { "a:v1": buildImage([layer]) };
  await withStubRegistry({ images, misdeed, ...(tls === undefined ? {} : { tls }) }, async ({ host, requests }) => {
    await use(host, () => JSON.stringify(requests));
  });
}

function strangersOnly(failure: Failure, { strangers }: Certificates): Certificates["strangers"] | undefined {
  return failure.hasStrangersCertificate === true ? strangers : undefined;
}

function write(folder: string, name: string, text: string): string {
  fs.writeFileSync(path.join(folder, name), text, { mode: 0o600 });
  return path.join(folder, name);
}

function withUser(origin: string, rest: string): string {
  return `${origin.replace("//", `//me:${encodeURIComponent(password)}@`)}${rest}`;
}

function worker(source: string, endpoint: string, env: Env = {}): Env {
  return { IMPORTER_SOURCE: source, IMPORTER_ENDPOINT: endpoint, ...env };
}

function dockerConfig(host: string): string {
  return JSON.stringify({ auths: { [host]: { auth: Buffer.from(`me:${password}`).toString("base64") } } });
}

/** Who sees one can ask for the same for some minutes. */
function signaturesIn(requests: MisbehavingServer["requests"]): string[] {
  return requests.flatMap(({ headers }) => /Signature=(\w+)/.exec(headers.authorization ?? "")?.[1] ?? []);
}

/** The command line, and not the worker. */
export function isConvert({ name }: Carrier): boolean {
  return name.startsWith("convert: ");
}
