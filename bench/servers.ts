/**
 * The servers that a benchmark reads from, on free ports of the loopback interface: nginx, nginx from far away, and a
 * registry. They are those of the tests, and each is started only where a work asks for it.
 */
import fs from "node:fs";
import { goProgram } from "../test/support/go-programs.ts";
import { withDockerRegistry } from "../test/support/docker-registry.ts";
import { withNginx } from "../test/support/nginx.ts";
import { withLatency } from "../test/support/toxiproxy.ts";
import type { Place } from "./goals.ts";

/** In each direction: 20 ms for question and answer. */
const LATENCY_MS = 10;

/** Nothing of this keeps nginx from what it can do; its log would be written to the disk that is measured. */
const DIRECTIVES = "sendfile on; tcp_nopush on; keepalive_requests 1000000; access_log off;";

export interface Servers {
  /** The URL of a file in the folder. @throws Error for a server that was not asked for */
  readonly urlOf: (file: string, place: "http" | "http 20 ms") => string;
  /** `127.0.0.1:port`. @throws Error as above */
  readonly registry: () => string;
}

/**
 * Runs `use` with what the places need. Every server has ended afterwards.
 * @param folder of the images
 * @param registryFolder keeps what was pushed
 */
export async function withServers<T>(
  folder: string,
  registryFolder: string,
  places: ReadonlySet<Place>,
  use: (servers: Servers) => Promise<T>,
): Promise<T> {
  const isFar = places.has("http 20 ms");
  return await optional(places.has("http") || isFar, nginxOver(folder), async (nginx) => {
    return await optional(isFar, farFrom(nginx ?? 0), async (far) => {
      return await optional(places.has("registry"), registryOver(registryFolder), async (registry) => {
        const ports = { http: nginx, "http 20 ms": far };
        return await use({
          urlOf: (file, place) => `http://127.0.0.1:${started(ports[place])}/${encodeURIComponent(file)}`,
          registry: () => started(registry),
        });
      });
    });
  });
}

/** Starts something, and hands on what tells where it is. */
type Start<P> = <T>(use: (where: P) => Promise<T>) => Promise<T>;

async function optional<P, T>(wanted: boolean, start: Start<P>, use: (where: P | undefined) => Promise<T>): Promise<T> {
  return wanted ? await start(use) : await use(undefined);
}

function started<P>(where: P | undefined): P {
  if (where === undefined) throw new Error("the server was not asked for");
  return where;
}

function nginxOver(folder: string): Start<number> {
  return async (use) => await withNginx(folder, { directives: DIRECTIVES }, async ({ port }) => await use(port));
}

function farFrom(upstream: number): Start<number> {
  return async (use) => {
    const { skip, path } = await goProgram("toxiproxy-server");
    if (skip !== false) throw new Error(`no server is far away: ${skip}`);
    return await withLatency(path, upstream, LATENCY_MS, use);
  };
}

function registryOver(folder: string): Start<string> {
  return async (use) => {
    fs.mkdirSync(folder, { recursive: true });
    return await withDockerRegistry(folder, {}, async ({ host }) => await use(host));
  };
}
