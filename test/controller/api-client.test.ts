import assert from "node:assert/strict";
import http from "node:http";
import { after, before, describe, it } from "node:test";
import { ApiClient } from "../../controller/api-client.ts";
import { ApiError } from "../../controller/api-error.ts";
import { CACHED_KINDS } from "../../controller/api/kinds.ts";
import type { Connection } from "../../controller/cluster.ts";
import { connectionTo, FakeApiServer } from "../support/fake-api-server.ts";
import { NAMESPACE } from "../support/observed-import.ts";

const CLAIM = CACHED_KINDS.PersistentVolumeClaim;
const claimOf = (name: string) => ({ apiVersion: "v1", kind: CLAIM.kind, metadata: { name, namespace: NAMESPACE } });

describe("ApiClient", () => {
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

  it("lists page by page, and says of each object what it is", async () => {
    for (let number = 0; number < 260; number++) server.create(claimOf(`claim-${number}`));
    const { items, resourceVersion } = await new ApiClient(connection).list(CLAIM);
    assert.equal(items.length, 260);
    assert.equal(server.calls.filter(({ verb }) => verb === "list").length, 2);
    assert.deepEqual([items[259]?.apiVersion, items[259]?.kind], ["v1", CLAIM.kind]);
    assert.match(resourceVersion, /^\d+$/);
  });

  it("watches from where a list ended, and nothing is missed", async () => {
    const client = new ApiClient(connection);
    const { resourceVersion } = await client.list(CLAIM);
    const created = server.create(claimOf("watched"));
    const stop = new AbortController();
    const events: string[] = [];
    for await (const { type, object } of client.watch(CLAIM, resourceVersion, stop.signal)) {
      events.push(`${type} ${object.metadata.name}`);
      if (events.length === 1) server.delete(created);
      if (events.length === 2) break;
    }
    stop.abort();
    assert.deepEqual(events, ["ADDED watched", "DELETED watched"]);
  });

  it("tells of each call what it is about, before it is made", async () => {
    const calls: unknown[] = [];
    const client = new ApiClient(connection, (verb, kind, { name, sent } = {}) => calls.push([verb, kind, name, sent]));
    const claim = claimOf("told");
    const { metadata } = await client.create(claim);
    const patch = { metadata: { labels: { app: "told" } } };
    await client.patch({ ...claim, ...claim.metadata }, patch, { uid: metadata.uid ?? "" });
    await client.find(CLAIM, "told", NAMESPACE);
    await client.delete({ ...claim, ...claim.metadata }, { uid: metadata.uid ?? "" });
    await client.list(CLAIM, { namespace: "nowhere" });
    assert.deepEqual(calls, [
      ["create", CLAIM.kind, "told", claim],
      ["patch", CLAIM.kind, "told", patch],
      ["get", CLAIM.kind, "told", undefined],
      ["delete", CLAIM.kind, "told", undefined],
      ["list", CLAIM.kind, undefined, undefined],
    ]);
  });

  it("says when it is too late to watch from there", async () => {
    server.forgetThePast();
    const watch = new ApiClient(connection).watch(CLAIM, "1", new AbortController().signal);
    await assert.rejects(watch.next(), (error) => error instanceof ApiError && error.isExpired);
  });

  it("says what the server says no with", async () => {
    const client = new ApiClient(connection);
    await assert.rejects(
      client.get(CLAIM, "nobody", NAMESPACE),
      (error) => error instanceof ApiError && error.isNotFound,
    );
    assert.equal(await client.find(CLAIM, "nobody", NAMESPACE), undefined);
    const object = claimOf("twice");
    await client.create(object);
    await assert.rejects(client.create(object), (error) => error instanceof ApiError && error.alreadyExists);
  });
});

describe("ApiClient and a server that misbehaves", () => {
  const cases: readonly (readonly [string, (response: http.ServerResponse) => void, RegExp])[] = [
    ["answers with no JSON", (response) => response.end("<html>"), /JSON/],
    ["answers with no object", (response) => response.end("[1]"), /no object/],
    ["hangs up", (response) => response.destroy(), /socket hang up|ECONNRESET|aborted/],
    ["fails with a page", (response) => response.writeHead(502).end("<html>bad gateway"), /answered 502/],
    ["fails without end", (response) => response.writeHead(500).end("x".repeat(1e6)), /answered 500/],
  ];
  for (const [what, answer, expected] of cases) {
    it(`that ${what}`, async () => {
      await withServer(answer, async (client) => {
        await assert.rejects(client.get(CLAIM, "a", NAMESPACE), (error: Error) => expected.test(error.message));
      });
    });
  }

  it("asks for smaller pages when one is too large, and gives up at one object", async () => {
    const limits: (string | null)[] = [];
    await withServer(
      (response, url) => {
        limits.push(url.searchParams.get("limit"));
        response.end(Buffer.alloc(33 * 1024 * 1024, " "));
      },
      async (client) => await assert.rejects(client.list(CLAIM), /longer than/),
    );
    assert.deepEqual(limits, ["250", "63", "16", "4", "1"]);
  });

  it("breaks off a watch whose line does not end", async () => {
    await withServer(
      (response) => response.write(Buffer.alloc(9 * 1024 * 1024, "x")),
      async (client) => {
        const watch = client.watch(CLAIM, "1", new AbortController().signal);
        await assert.rejects(watch.next(), /longer than/);
      },
    );
  });
});

async function withServer(
  answer: (response: http.ServerResponse, url: URL) => void,
  use: (client: ApiClient) => Promise<void>,
): Promise<void> {
  const server = http.createServer((request, response) => answer(response, new URL(request.url ?? "", "http://a")));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const connection = connectionTo(server);
  try {
    await use(new ApiClient(connection));
  } finally {
    connection.close();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
}
