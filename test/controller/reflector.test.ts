/**
 * From where a kind is watched after something went wrong, and that nobody is asked without a pause.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { WatchEvent } from "../../controller/api-client.ts";
import { ApiError } from "../../controller/api-error.ts";
import { ClusterCache } from "../../controller/cache.ts";
import { reflect } from "../../controller/reflector.ts";
import { claim } from "../support/observed-import.ts";
import { silentLog } from "../support/silent-log.ts";

const ENOUGH = 5;
const MANY = 50;
const event: WatchEvent = { type: "MODIFIED", object: claim({ metadata: { resourceVersion: "20" } }) };

describe("reflect", () => {
  it("goes on where it stopped if only the connection broke", async () => {
    const { asked } = await reflectWith(() => new Error("socket hang up"), [event]);
    assert.deepEqual(asked.slice(0, 3), ["list", "watch 10", "watch 20"]);
  });

  it("lists again where the watch has expired, later and later", async () => {
    const { asked, pauses } = await reflectWith(() => new ApiError(410, "Expired", "too old"));
    assert.deepEqual(asked.slice(0, 4), ["list", "watch 10", "list", "watch 10"]);
    assert.deepEqual(pauses, [200, 400, 800, 1600, 3200]);
  });

  it("pauses where every watch ends at once", async () => {
    const { asked, pauses } = await reflectWith(() => undefined);
    assert.deepEqual(asked.slice(0, 3), ["list", "watch 10", "watch 10"]);
    assert.deepEqual(pauses, [200, 200, 200, 200, 200]);
  });
});

/** Every watch has these events and ends so; until there were enough pauses. */
async function reflectWith(endOf: () => Error | undefined, events: readonly WatchEvent[] = []) {
  const asked: string[] = [];
  const pauses: number[] = [];
  const stopping = new AbortController();
  const note = (what: string): void => {
    // One that never pauses ends, too.
    if (asked.push(what) === MANY) stopping.abort();
  };
  const client = {
    list: async () => {
      note("list");
      return { items: [], resourceVersion: "10" };
    },
    async *watch(_: unknown, version: string) {
      note(`watch ${version}`);
      yield* events;
      const end = endOf();
      if (end !== undefined) throw end;
    },
  };
  await reflect("PersistentVolumeClaim", {
    client,
    cache: new ClusterCache(),
    log: silentLog(),
    signal: stopping.signal,
    sleep: async (ms) => {
      if (pauses.push(ms) === ENOUGH) stopping.abort();
    },
    onSynced: () => undefined,
  });
  return { asked, pauses };
}
