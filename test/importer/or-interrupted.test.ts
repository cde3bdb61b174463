import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { Interrupted } from "../../importer/errors.ts";
import { orInterrupted } from "../../importer/or-interrupted.ts";

describe("orInterrupted", () => {
  const never = (): never => assert.fail("nothing came late");

  it("gives what the work gives, and fails as it does", async () => {
    const { signal } = new AbortController();
    assert.equal(await orInterrupted(Promise.resolve(1), signal, never), 1);
    await assert.rejects(orInterrupted(Promise.reject(new Error("broken")), signal, never), /broken/);
  });

  it("gives the work up at once, and hands on what it brings later", async () => {
    const stop = new AbortController();
    const work = Promise.withResolvers<string>();
    const late: string[] = [];
    const result = orInterrupted(work.promise, stop.signal, (value) => late.push(value));
    stop.abort();
    await assert.rejects(result, (error) => error instanceof Interrupted);
    work.resolve("too late");
    await turn();
    assert.deepEqual(late, ["too late"]);
  });

  it("waits for nothing once it was told to stop, and lets the work fail", async () => {
    const failing = Promise.reject<string>(new Error("nobody hears"));
    const result = orInterrupted(failing, AbortSignal.abort(), never);
    await assert.rejects(result, (error) => error instanceof Interrupted);
  });
});
