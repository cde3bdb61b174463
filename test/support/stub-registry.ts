/**
 * A registry in this process that serves the images it is given, and does on demand what real ones do only at times: tokens
 * that expire, blobs on another host, cuts, wrong types.
 */
import type http from "node:http";
import type { BuiltImage } from "./build-image.ts";
import { withServer } from "./misbehaving-server.ts";
import type { MisbehavingServer, Misdeed } from "./misbehaving-server.ts";

export interface StubSettings {
  /** By `repository:tag`. */
  readonly images: Readonly<Record<string, BuiltImage>>;
  /** Comes before what a registry would answer. */
  readonly misdeed?: (path: string, number: number, request: http.IncomingMessage) => Misdeed | undefined;
  readonly tls?: { readonly key: string; readonly cert: string };
}

export interface StubRegistry extends MisbehavingServer {
  /** `host:port`. */
  readonly host: string;
}

/** Runs `use` with the registry, which is gone afterwards. */
export async function withStubRegistry<T>(
  settings: StubSettings,
  use: (registry: StubRegistry) => Promise<T>,
): Promise<T> {
  const misdeed = (number: number, request: http.IncomingMessage): Misdeed => {
    const path = (request.url ?? "").replace(/\?.*$/, "");
    return { ...answerFor(settings.images, path), ...settings.misdeed?.(path, number, request) };
  };
  const server = {
    bytes: Buffer.alloc(0),
    etag: `"blob"`,
    misdeed,
    ...(settings.tls === undefined ? {} : { tls: settings.tls }),
  };
  return await withServer(server, async (running) => await use({ ...running, host: new URL(running.origin).host }));
}

/** A 401 with a challenge. */
export function challenge(text: string): Misdeed {
  return { status: 401, headers: { "www-authenticate": text } };
}

function answerFor(images: Readonly<Record<string, BuiltImage>>, path: string): Misdeed {
  if (path === "/v2/") return { bytes: Buffer.from("{}") };
  const [, repository, kind, version = ""] = /^\/v2\/(.+)\/(manifests|blobs)\/([^/]+)$/.exec(path) ?? [];
  const served = Object.entries(images).filter(([name]) => name.startsWith(`${repository}:`));
  for (const [name, image] of served) {
    const isNamed = name === `${repository}:${version}`;
    const bytes = kind === "blobs" ? image.blobs.get(version) : image.manifests.get(isNamed ? image.digest : version);
    if (bytes !== undefined) return { bytes };
  }
  return { status: 404 };
}
