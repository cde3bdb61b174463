/**
 * Debian's docker-registry (CNCF distribution) on the loopback interface, over a folder that outlives it: images are pushed
 * while it is open to everybody, and read while it is guarded.
 */
import assert from "node:assert/strict";
import { createSign, randomUUID } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import type { BuiltImage } from "./build-image.ts";
import { OCI_INDEX, OCI_MANIFEST } from "./build-image.ts";
import { withServerProcess } from "./server-process.ts";

export interface RegistrySettings {
  /** Lines of a htpasswd file. */
  readonly htpasswd?: string;
  readonly tls?: { readonly key: string; readonly cert: string };
  readonly token?: { readonly realm: string; readonly authority: string };
}

/** The line for user `me` with the password `hunter2`, as htpasswd -B makes it. */
export const HTPASSWD = "me:$2y$05$ZrREuR0Yaa1SzJ6dZB5ILO4S1dlbM91beEX4hbkkIFnbPJpGWhS52\n";

const SERVICE = "decant test registry";
const ISSUER = "decant test tokens";

export interface DockerRegistry {
  /** `127.0.0.1:port`. */
  readonly host: string;
  /** What it logged. */
  readonly log: () => string;
}

/** @param folder keeps the images */
export async function withDockerRegistry<T>(
  folder: string,
  settings: RegistrySettings,
  use: (registry: DockerRegistry) => Promise<T>,
): Promise<T> {
  const write = (name: string, text: string): string => {
    fs.writeFileSync(path.join(folder, name), text);
    return path.join(folder, name);
  };
  const command = (port: number): string[] => {
    const tls = settings.tls && {
      certificate: write("tls.crt", settings.tls.cert),
      key: write("tls.key", settings.tls.key),
    };
    const basic = settings.htpasswd && { htpasswd: { realm: "test", path: write("htpasswd", settings.htpasswd) } };
    const { token } = settings;
    const bearer = token && {
      token: {
        realm: token.realm,
        service: SERVICE,
        issuer: ISSUER,
        rootcertbundle: write("tokens.crt", token.authority),
      },
    };
    const configuration = {
      version: 0.1,
      storage: { filesystem: { rootdirectory: path.join(folder, "data") } },
      http: { addr: `127.0.0.1:${port}`, ...(tls === undefined ? {} : { tls }) },
      ...(basic || bearer ? { auth: basic || bearer } : {}),
    };
    // JSON is YAML.
    return ["serve", write("registry.yml", JSON.stringify(configuration))];
  };
  return await withServerProcess("docker-registry", command, async ({ port, output }) => {
    return await use({ host: `127.0.0.1:${port}`, log: output });
  });
}

/** Pushes as the distribution specification has it: blobs, then manifests, the one to begin with last and by its tag. */
export async function pushImage(host: string, repository: string, tag: string, image: BuiltImage): Promise<void> {
  const base = `http://${host}/v2/${repository}`;
  for (const [digest, bytes] of image.blobs) {
    const started = await fetch(`${base}/blobs/uploads/`, { method: "POST" });
    const place = new URL(started.headers.get("location") ?? "", base);
    place.searchParams.set("digest", digest);
    await put(place, bytes, "application/octet-stream");
  }
  for (const [digest, bytes] of image.manifests) {
    await put(new URL(`${base}/manifests/${digest}`), bytes, typeOf(bytes));
    if (digest === image.digest) await put(new URL(`${base}/manifests/${tag}`), bytes, typeOf(bytes));
  }
}

/** A token as the registry wants it, signed by a certificate's key. */
export function signToken(repository: string, { key, cert }: { readonly key: string; readonly cert: string }): string {
  const now = Math.floor(Date.now() / 1000);
  const chain = cert.replaceAll(/-----[A-Z ]+-----|\s/g, "");
  const header = { typ: "JWT", alg: "ES256", x5c: [chain] };
  const claims = {
    iss: ISSUER,
    sub: "",
    aud: SERVICE,
    exp: now + 300,
    nbf: now - 30,
    iat: now,
    jti: randomUUID(),
    access: [{ type: "repository", name: repository, actions: ["pull"] }],
  };
  const signed = [header, claims].map((part) => Buffer.from(JSON.stringify(part)).toString("base64url")).join(".");
  const signature = createSign("sha256").update(signed).sign({ key, dsaEncoding: "ieee-p1363" });
  return `${signed}.${signature.toString("base64url")}`;
}

async function put(place: URL, bytes: Buffer, type: string): Promise<void> {
  const answer = await fetch(place, { method: "PUT", body: new Uint8Array(bytes), headers: { "content-type": type } });
  assert.equal(answer.status, 201, await answer.text());
}

function typeOf(manifest: Buffer): string {
  return manifest.includes(`"manifests":[`) ? OCI_INDEX : OCI_MANIFEST;
}
