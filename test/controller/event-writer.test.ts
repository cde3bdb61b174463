import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ApiError } from "../../controller/api-error.ts";
import type { KubeObject } from "../../controller/api/kube.ts";
import { EventWriter } from "../../controller/event-writer.ts";
import type { EventAction } from "../../controller/event-writer.ts";
import { dataVolume } from "../support/observed-import.ts";
import { silentLog } from "../support/silent-log.ts";

const START = Date.parse("2026-09-01T12:00:00Z");

describe("EventWriter", () => {
  it("counts what it says again of the same object", async () => {
    const { say, calls } = setUp();
    for (let time = 0; time < 3; time++) await say("the server answered 503");
    assert.deepEqual(calls, [
      "create fedora.1a05cd72a00000: the server answered 503",
      "patch fedora.1a05cd72a00000: 2 at 2026-09-01T12:00:01Z",
      "patch fedora.1a05cd72a00000: 3 at 2026-09-01T12:00:02Z",
    ]);
  });

  it("makes another event of another message, type, or object", async () => {
    const { say, calls } = setUp();
    await say("the server answered 503");
    await say("the server answered 404");
    await say("the server answered 503", { type: "Normal" });
    await say("the server answered 503", { on: dataVolume({ uid: "another" }) });
    assert.equal(calls.filter((call) => call.startsWith("create")).length, 4);
  });

  it("makes a new one when the old one is gone", async () => {
    const { say, calls, lose } = setUp();
    await say("the server answered 503");
    lose();
    await say("the server answered 503");
    await say("the server answered 503");
    assert.deepEqual(
      calls.map((call) => call.split(" ", 1)[0]),
      ["create", "patch", "create", "patch"],
    );
    assert.match(calls.at(-1) ?? "", /: 2 at/);
  });

  it("forgets what was said long ago", async () => {
    const { say, calls } = setUp();
    for (let number = 0; number <= 1000; number++) await say(`message ${number}`);
    await say("message 1");
    await say("message 0");
    assert.deepEqual([calls.at(-2)?.split(" ", 1)[0], calls.at(-1)?.split(" ", 1)[0]], ["patch", "create"]);
  });

  it("goes on where events cannot be written", async () => {
    const { say, calls, refuse } = setUp();
    refuse();
    await say("the server answered 503");
    await say("the server answered 503");
    assert.deepEqual(calls, []);
  });
});

function setUp() {
  const calls: string[] = [];
  let now = START;
  let isGone = false;
  let isRefused = false;
  const client = {
    create: async (event: KubeObject): Promise<KubeObject> => {
      if (isRefused) throw new ApiError(403, "Forbidden", "no");
      calls.push(`create ${event.metadata.name}: ${(event as KubeObject & { message: string }).message}`);
      return { ...event, metadata: { ...event.metadata, uid: `uid-${calls.length}` } };
    },
    patch: async ({ name }: { name: string }, patch: Record<string, unknown>): Promise<KubeObject> => {
      calls.push(`patch ${name}: ${String(patch["count"])} at ${String(patch["lastTimestamp"])}`);
      if (!isGone) return { apiVersion: "v1", kind: "Event", metadata: { name } };
      isGone = false;
      throw new ApiError(404, "NotFound", "gone");
    },
  };
  const writer = new EventWriter({ client, log: silentLog(), now: () => new Date(now), identity: "replica" });
  const say = async (message: string, more: Partial<EventAction> = {}): Promise<void> => {
    await writer.write({ do: "event", on: dataVolume(), type: "Warning", reason: "Error", message, ...more }, 0);
    now += 1000;
  };
  return { say, calls, lose: (): void => void (isGone = true), refuse: (): void => void (isRefused = true) };
}
