import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Listed } from "../../controller/api-client.ts";
import type { Claim } from "../../controller/api/kube.ts";
import { PendingEvents } from "../../controller/pending-events.ts";
import { claim } from "../support/observed-import.ts";
import { silentLog } from "../support/silent-log.ts";

const START = Date.parse("2026-09-01T12:00:00Z");

describe("PendingEvents", () => {
  it("asks after some seconds, then less and less often, and tells the newest", async () => {
    const { pending, at, asked } = setUp();
    const waiting = pendingClaim("a");
    const waits: (number | undefined)[] = [];
    for (let now = 0; now < 200_000; now += waits.at(-1) ?? Infinity) {
      at(now);
      waits.push(await pending.refresh(waiting));
    }
    assert.deepEqual(waits, [5000, 5000, 10_000, 20_000, 40_000, 80_000, 160_000]);
    assert.equal(asked.length, 6);
    assert.deepEqual([pending.newest(waiting)?.message, pending.newestWarning(waiting)?.message], ["last", "second"]);
  });

  it("says nothing of what is pending no more", async () => {
    const { pending, at } = setUp();
    at(6000);
    await pending.refresh(pendingClaim("a"));
    const bound = pendingClaim("a", "Bound");
    assert.equal(pending.newest(bound), undefined);
    assert.equal(await pending.refresh(bound), undefined);
    assert.equal(pending.newest(pendingClaim("a")), undefined);
  });

  it("is more patient in a crowd", async () => {
    const { pending, at, asked } = setUp({ isCrowded: () => true });
    at(6000);
    assert.equal(await pending.refresh(pendingClaim("a")), 24_000);
    at(30_000);
    await pending.refresh(pendingClaim("a"));
    assert.equal(asked.length, 1);
  });

  it("does not ask for thousands at once", async () => {
    const { pending, at, asked } = setUp();
    at(6000);
    const claims = Array.from({ length: 1000 }, (_, number) => pendingClaim(`claim-${number}`));
    for (const one of claims) assert.ok(((await pending.refresh(one)) ?? 0) > 0);
    assert.ok(asked.length <= 12, `${asked.length} at once`);
    at(7000);
    for (const one of claims) await pending.refresh(one);
    assert.ok(asked.length > 12 && asked.length <= 18, `${asked.length} a second later`);
  });

  it("asks less often where an answer takes long", async () => {
    const { pending, at, asked } = setUp({ answerMs: 80 });
    const claims = Array.from({ length: 1000 }, (_, number) => pendingClaim(`claim-${number}`));
    const waits: (number | undefined)[] = [];
    for (let second = 6; second < 66; second++) {
      at(second * 1000);
      for (const one of claims) waits.push(await pending.refresh(one));
    }
    // Each costs 20 times as long as it took.
    assert.ok(asked.length > 60 / 1.6 - 2 && asked.length < 60 / 1.6 + 5, `${asked.length} in a minute`);
    assert.equal(waits.at(-1), 15_000, "and those who wait look less often");
  });
});

function setUp({ answerMs = 0, isCrowded = (): boolean => false } = {}) {
  let now = START;
  const asked: string[] = [];
  const list = async (
    _: unknown,
    { fieldSelector = "" }: { readonly fieldSelector?: string } = {},
  ): Promise<Listed> => {
    asked.push(fieldSelector);
    now += answerMs;
    const event = (type: string, message: unknown, second: number): object => {
      const lastTimestamp = new Date(START + second * 1000).toISOString();
      return {
        apiVersion: "v1",
        kind: "Event",
        metadata: { name: `e${second}` },
        type,
        reason: "R",
        message,
        lastTimestamp,
      };
    };
    const items = [
      event("Normal", "last", 3),
      event("Warning", "first", 1),
      event("Warning", "second", 2),
      event("Normal", 7, 9),
    ];
    return { items: items as Listed["items"], resourceVersion: "1" };
  };
  const log = silentLog();
  const pending = new PendingEvents({ client: { list }, log, now: () => now, isCrowded });
  return { pending, asked, at: (ms: number): void => void (now = START + ms) };
}

function pendingClaim(name: string, phase: "Pending" | "Bound" = "Pending"): Claim {
  return claim({
    name,
    uid: `${name}-uid`,
    status: { phase },
    metadata: { creationTimestamp: new Date(START).toISOString() },
  });
}
