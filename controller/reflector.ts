/**
 * Keeps one kind in the cache the same as in the cluster: list, watch from there, and list again when the watch has fallen
 * too far behind. Ends only by its signal; whatever goes wrong is tried again, later and later.
 */
import type { ApiClient, Listed } from "./api-client.ts";
import { ApiError } from "./api-error.ts";
import type { CachedKind } from "./api/kinds.ts";
import { CACHED_KINDS } from "./api/kinds.ts";
import type { ClusterCache } from "./cache.ts";
import type { Log } from "./log.ts";
import { trim } from "./trim.ts";

export interface ReflectorOptions {
  readonly client: Pick<ApiClient, "list" | "watch">;
  readonly cache: ClusterCache;
  readonly log: Log;
  readonly signal: AbortSignal;
  /** Resolves early when the signal is aborted. */
  readonly sleep: (ms: number) => Promise<void>;
  /** Called each time that the cache has all of the kind. */
  readonly onSynced: (kind: CachedKind) => void;
}

const FIRST_PAUSE_MS = 200;
const LAST_PAUSE_MS = 30_000;

export async function reflect(kind: CachedKind, options: ReflectorOptions): Promise<void> {
  const { client, cache, log, signal, sleep, onSynced } = options;
  let pauseMs = FIRST_PAUSE_MS;
  let version = "";
  while (!signal.aborted) {
    try {
      if (version === "") {
        version = await listInto(kind, client, cache, signal);
        onSynced(kind);
        if (version === "") {
          await sleep(LAST_PAUSE_MS);
          continue;
        }
      }
      for await (const { type, object } of client.watch(CACHED_KINDS[kind], version, signal)) {
        version = object.metadata.resourceVersion ?? version;
        pauseMs = FIRST_PAUSE_MS;
        if (type === "DELETED") cache.forget(object);
        else if (type !== "BOOKMARK") cache.apply(object);
      }
      // Each watch ends after some minutes; whoever ends them all at once is not asked without a pause.
      await sleep(FIRST_PAUSE_MS);
    } catch (error) {
      if (signal.aborted) return;
      // Nothing was missed if only the connection broke: the next watch goes on where this one stopped.
      if (error instanceof ApiError) version = "";
      if (!(error instanceof ApiError && error.isExpired)) log.warn("cannot watch objects", { kind, error });
      await sleep(pauseMs);
      pauseMs = Math.min(pauseMs * 2, LAST_PAUSE_MS);
    }
  }
}

/** A kind that nobody installed has no objects. */
async function listInto(
  kind: CachedKind,
  client: ReflectorOptions["client"],
  cache: ClusterCache,
  signal: AbortSignal,
): Promise<string> {
  let listed: Listed;
  try {
    listed = await client.list(CACHED_KINDS[kind], { signal }, (object) => trim(kind, object));
  } catch (error) {
    if (!(error instanceof ApiError && error.isNotFound)) throw error;
    listed = { items: [], resourceVersion: "" };
  }
  cache.replace(kind, listed.items, listed.resourceVersion);
  return listed.resourceVersion;
}
