import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { ApiClient } from "../../controller/api-client.ts";
import { ClusterCache } from "../../controller/cache.ts";
import type { Connection } from "../../controller/cluster.ts";
import { EventWriter } from "../../controller/event-writer.ts";
import { execute } from "../../controller/executor.ts";
import type { Execution } from "../../controller/executor.ts";
import { keyOf } from "../../controller/plan/action.ts";
import type { Action } from "../../controller/plan/action.ts";
import type { Rejection } from "../../controller/plan/observed.ts";
import { FakeApiServer } from "../support/fake-api-server.ts";
import type { Stored } from "../support/fake-api-server.ts";
import { NAMESPACE } from "../support/observed-import.ts";
import { silentLog } from "../support/silent-log.ts";

const REFUSAL = { status: 403, reason: "Forbidden", message: "exceeded quota" };

describe("execute", () => {
  const server = new FakeApiServer();
  let connection: Connection;
  before(async () => {
    await server.start();
    connection = server.connect();
  });
  after(async () => {
    connection.close();
    await server.stop();
  });

  let number = 0;
  const claim = (): Stored => {
    const metadata = { namespace: NAMESPACE, name: `claim-${++number}` };
    return { apiVersion: "v1", kind: "PersistentVolumeClaim", metadata, spec: {} };
  };
  const annotate = (object: Stored, given: Partial<Extract<Action, { do: "patch" }>> = {}): Action => {
    const patch = { metadata: { annotations: { a: "b" } } };
    return { do: "patch", object: keyOf(object), uid: object.metadata.uid ?? "", patch, ...given };
  };
  const run = async (
    actions: readonly Action[],
    refused?: Rejection,
  ): Promise<Execution & { readonly made: string[] }> => {
    const from = server.calls.length;
    const client = new ApiClient(connection);
    const events = new EventWriter({ client, log: silentLog(), now: () => new Date(0), identity: "replica" });
    const execution = await execute(actions, { client, cache, events }, refused);
    return { ...execution, made: server.calls.slice(from).map(({ verb, kind }) => `${verb} ${kind}`) };
  };
  const cache = new ClusterCache();

  it("puts what the API server answers into the cache at once", async () => {
    const object = claim();
    assert.equal((await run([{ do: "create", object }])).end, "done");
    const created = cache.claims.get(NAMESPACE, object.metadata.name);
    assert.ok(created?.metadata.uid !== undefined);
    await run([annotate(created as Stored)]);
    assert.equal(cache.claims.get(NAMESPACE, object.metadata.name)?.metadata.annotations?.["a"], "b");
    await run([{ do: "delete", object: keyOf(created), uid: created.metadata.uid }]);
    assert.equal(cache.claims.get(NAMESPACE, object.metadata.name), undefined);
  });

  it("takes for done what is done already", async () => {
    const there = server.create(claim());
    const gone = { ...claim(), metadata: { name: "gone", uid: "gone-uid" } };
    const remove: Action = { do: "delete", object: keyOf(gone), uid: "gone-uid" };
    const replaced: Action = { do: "delete", object: keyOf(there), uid: "another-uid" };
    const { end } = await run([{ do: "create", object: there }, remove, replaced]);
    assert.equal(end, "done");
    assert.ok(
      server.find("PersistentVolumeClaim", there.metadata.name, NAMESPACE),
      "the one in its place is left alone",
    );
  });

  for (const [what, given] of [
    ["another object has the name", { uid: "another-uid" }],
    ["it has changed since", { resourceVersion: "1" }],
    ["it is gone", { object: { apiVersion: "v1", kind: "PersistentVolumeClaim", namespace: NAMESPACE, name: "gone" } }],
  ] as const) {
    it(`leaves an object alone and stops, if ${what}`, async () => {
      const object = server.create(claim());
      const execution = await run([annotate(object, given), { do: "create", object: claim() }]);
      assert.equal(execution.end, "outdated");
      assert.deepEqual(execution.made, ["patch PersistentVolumeClaim"]);
    });
  }

  it("says what was refused, stops there, and does not ask again while it is told so", async () => {
    const object = claim();
    server.refuse = ({ verb }) => (verb === "create" ? REFUSAL : undefined);
    const actions: Action[] = [
      { do: "create", object },
      { do: "create", object: claim() },
    ];
    const execution = await run(actions);
    const rejection = {
      do: "create",
      kind: "PersistentVolumeClaim",
      name: object.metadata.name,
      reason: "Forbidden",
      message: "exceeded quota",
    } as const;
    assert.deepEqual(execution, { end: "rejected", rejection, made: ["create PersistentVolumeClaim"] });
    assert.deepEqual(await run(actions, rejection), { end: "rejected", rejection, made: [] });
    server.refuse = () => undefined;
  });

  it("goes on though an event cannot be written", async () => {
    const object = server.create(claim());
    server.refuse = ({ kind }) => (kind === "Event" ? REFUSAL : undefined);
    const event: Action = { do: "event", on: object, type: "Normal", reason: "Told", message: "to nobody" };
    const execution = await run([event, annotate(object), { do: "again", afterMs: 7 }, { do: "again", afterMs: 5 }]);
    assert.equal(execution.end, "done");
    assert.equal(execution.end === "done" && execution.againAfterMs, 5);
    assert.deepEqual(execution.made, ["create Event", "patch PersistentVolumeClaim"]);
    server.refuse = () => undefined;
  });

  it("writes events that kubectl describe finds, of one plan under different names", async () => {
    const object = server.create(claim());
    const event = (reason: string): Action => ({
      do: "event",
      on: object,
      type: "Warning",
      reason,
      message: "m".repeat(9999),
    });
    await run([event("First"), event("Second")]);
    const events = server.all("Event").filter((one) => one["involvedObject"].uid === object.metadata.uid);
    assert.deepEqual(
      events.map((one) => [one["reason"], one["type"], one["message"].length <= 1024]),
      [
        ["First", "Warning", true],
        ["Second", "Warning", true],
      ],
    );
  });
});
