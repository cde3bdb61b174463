/**
 * A disk of oVirt, by way of its engine and of the host that serves the image for as long as a transfer lasts.
 *
 * What the engine was asked for has to be given back: `finish` ends the transfer, or the disk stays locked. Nothing that the
 * engine hands out is ever shown, the transfer's URL neither: who knows it can read the disk.
 */
import type { ByteStream } from "../../formats/byte-stream.ts";
import type { Warning } from "../../formats/disk-format.ts";
import { SourceError, UsageError } from "../errors.ts";
import { HttpClient } from "../http/http-client.ts";
import type { HttpOptions } from "../http/http-options.ts";
import { systemPace } from "../http/pace.ts";
import type { Pace } from "../http/pace.ts";
import { Place } from "../http/place.ts";
import { plainText } from "../http/redact.ts";
import { OvirtEngine } from "../imageio/engine-api.ts";
import { openServedDisk } from "../imageio/image-server.ts";
import type { ServedDisk } from "../imageio/image-server.ts";
import { ImageTransfer, pause } from "../imageio/transfer.ts";
import type { Source } from "./source.ts";

export interface ImageioOptions {
  readonly http: HttpOptions;
  /** The engine's API, `https://host/ovirt-engine/api`. */
  readonly endpoint: string;
  readonly user: string;
  readonly password: string;
  readonly diskId: string;
  readonly checkpoint: { readonly current: string | undefined; readonly previous: string | undefined };
  /** Ends the opening only. */
  readonly signal: AbortSignal;
  readonly pace?: Pace;
}

/** After so long without a byte fetched, the engine is told that the transfer is still wanted. */
const KEEP_ALIVE_MS = 30_000;

/** What the image's server answers once the transfer is over. */
const OVER: readonly unknown[] = [401, 403, 404, 410];

/**
 * @throws SourceError SOURCE_DENIED, SOURCE_NOT_FOUND for a disk that is not there, SOURCE_UNAVAILABLE; UsageError for
 *         checkpoints; Interrupted
 */
export async function openImageio(options: ImageioOptions): Promise<Source> {
  const { http, diskId, signal, pace = systemPace } = options;
  refuseCheckpoints(options);
  const engine = new OvirtEngine({ ...options, pace });
  try {
    await engine.login(signal);
    await engine.requireDisk(diskId, signal);
    const transfer = await ImageTransfer.start(engine, diskId, pace, signal);
    const name = `disk ${plainText(diskId)} of ${engine.host}`;
    const client = new HttpClient({ ...http, auth: undefined, headers: [] }, pace);
    const stop = (): void => client.close();
    signal.addEventListener("abort", stop, { once: true });
    if (signal.aborted) stop();
    try {
      const disk = await openServedDisk(client, placeOf(transfer, engine, options, name));
      return new ImageioSource({ name, engine, transfer, client, disk, pace });
    } catch (error) {
      client.close();
      await transfer.end(false);
      throw orEnded(error, name);
    } finally {
      signal.removeEventListener("abort", stop);
    }
  } catch (error) {
    await engine.close();
    throw error;
  }
}

interface Parts {
  readonly name: string;
  readonly engine: OvirtEngine;
  readonly transfer: ImageTransfer;
  readonly client: HttpClient;
  readonly disk: ServedDisk;
  readonly pace: Pace;
}

class ImageioSource implements Source {
  readonly name: string;
  readonly path = undefined;
  readonly size: number | undefined;
  readonly file = undefined;
  readonly #parts: Parts;
  readonly #closing = new AbortController();
  #end: Promise<void> | undefined;
  #leftBehind: Warning | undefined;

  constructor(parts: Parts) {
    this.name = parts.name;
    this.size = parts.disk.size;
    this.#parts = parts;
    void this.#keepAlive();
  }

  stream(): ByteStream {
    const { stream } = this.#parts.disk;
    return { read: async (into) => await this.#read(into), close: () => stream.close() };
  }

  resumes(): number {
    return this.#parts.disk.resumes();
  }

  warnings(): readonly Warning[] {
    return this.#leftBehind === undefined ? [] : [this.#leftBehind];
  }

  async finish(succeeded: boolean): Promise<void> {
    this.#end ??= this.#finish(succeeded);
    await this.#end;
  }

  /** What was not finished is given up. */
  close(): void {
    // Who finishes it is told.
    this.finish(false).catch(() => undefined);
  }

  async #read(into: Uint8Array): Promise<number> {
    try {
      return await this.#parts.disk.stream.read(into);
    } catch (error) {
      throw orEnded(error, this.name);
    }
  }

  async #finish(succeeded: boolean): Promise<void> {
    const { disk, client, transfer, engine } = this.#parts;
    this.#closing.abort();
    void disk.stream.close();
    client.close();
    this.#leftBehind = await transfer.end(succeeded);
    await engine.close();
  }

  /** A target that takes its time, or a long range of zeros, must not look like a client that is gone. */
  async #keepAlive(): Promise<void> {
    const { disk, transfer, pace } = this.#parts;
    const { signal } = this.#closing;
    while (!signal.aborted) {
      const before = disk.fetched?.();
      try {
        await pause(KEEP_ALIVE_MS, pace, signal);
        if (before !== undefined && disk.fetched?.() !== before) continue;
        await transfer.extend();
        await disk.touch?.();
      } catch {
        // If the transfer is really over, the next read says so.
      }
    }
  }
}

function refuseCheckpoints({ checkpoint: { current, previous } }: ImageioOptions): void {
  if (current === undefined && previous === undefined) return;
  throw new UsageError("checkpoints of oVirt disks are not supported: warm migration copies snapshots one by one", {
    remedy: "Import the disk as a whole, without checkpoints.",
  });
}

/** @throws SourceError for a place that is no better than none */
function placeOf(transfer: ImageTransfer, engine: OvirtEngine, { http }: ImageioOptions, name: string): Place {
  const url = URL.parse(transfer.url);
  if (url === null || (url.protocol !== "https:" && url.protocol !== "http:")) {
    throw new SourceError("SOURCE_UNAVAILABLE", `the oVirt engine at ${engine.host} gives no http or https URL`);
  }
  if (url.protocol === "http:" && engine.isEncrypted && !http.trust.insecure && !http.allowsDowngrade) {
    throw new SourceError("SOURCE_TLS", `${name} is served without encryption by ${url.host}`, {
      remedy: "Have the host's imageio daemon use TLS, or switch verification off.",
    });
  }
  return Place.parse(url.href, name);
}

/** An answer that means: no such transfer any more. */
function orEnded(error: unknown, name: string): unknown {
  if (!(error instanceof SourceError) || !OVER.includes(error.context["status"])) return error;
  return new SourceError("SOURCE_UNAVAILABLE", `the image transfer of ${name} is over before all of it was read`, {
    remedy: "The engine's events tell who or what ended it.",
    context: { status: error.context["status"] },
  });
}
