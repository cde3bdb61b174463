import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Worker } from "node:worker_threads";
import { Place } from "../../../importer/http/place.ts";
import { book, newRateLimit, pieceLength } from "../../../importer/http/rate-limit.ts";
import { readAll, withClient } from "../../support/http-client.ts";
import { withServer } from "../../support/misbehaving-server.ts";

const SECOND = 1_000_000_000n;

describe("a rate limit", () => {
  it("lets bytes wait until those before them have had their time", () => {
    const limit = newRateLimit(1000);
    const now = 5n * SECOND;
    assert.equal(book(limit, 100, now), 0, "a tenth of a second is given on credit");
    assert.equal(book(limit, 500, now), 500);
    assert.equal(book(limit, 500, now), 1000, "another connection's");
    assert.equal(book(limit, 1000, now + SECOND), 1000, "booked to the second after it");
  });

  it("saves up no more than a tenth of a second of silence", () => {
    const limit = newRateLimit(1000);
    assert.equal(book(limit, 1100, 100n * SECOND), 1000);
    assert.equal(book(limit, 1100, 200n * SECOND), 1000);
  });

  it("cuts reads so that bytes come several times a second, one at least", () => {
    assert.deepEqual([pieceLength(newRateLimit(8000)), pieceLength(newRateLimit(1))], [1000, 1]);
  });

  it("is one pace for several threads", async () => {
    const limit = newRateLimit(1000);
    const file = JSON.stringify(new URL("../../../importer/http/rate-limit.ts", import.meta.url).href);
    const code = `
      const { workerData, parentPort } = require("node:worker_threads");
      import(${file}).then(({ book }) => {
        for (let i = 0; i < 1000; i++) book(workerData, 10, 0n);
        parentPort.postMessage("done");
      });`;
    const threads = [1, 2].map(() => new Worker(code, { eval: true, workerData: limit }));
    await Promise.all(threads.map((thread) => new Promise((resolve) => thread.once("exit", resolve))));
    assert.equal(book(limit, 0, 0n), 20_000, "each byte is booked once");
  });

  it("holds back all connections of a client", async () => {
    const bytes = Buffer.alloc(300_000, 1);
    await withServer({ bytes }, async ({ origin }) => {
      await withClient({ rateLimit: newRateLimit(100_000) }, async (client, delays) => {
        const place = Place.parse(`${origin}/disk`);
        for (let i = 0; i < 2; i++) {
          const { body } = await client.get(place, { statuses: [200] });
          assert.ok((await readAll(body)).equals(bytes));
        }
        const waited = delays.reduce((sum, ms) => sum + ms, 0);
        assert.equal(Math.round(waited), 6000);
        assert.ok(
          delays.every((ms) => ms < 130),
          "never silent for long",
        );
      });
    });
  });
});
