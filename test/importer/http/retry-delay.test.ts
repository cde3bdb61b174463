import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { parseRetryAfter, retryDelayMs } from "../../../importer/http/retry-delay.ts";

describe("retryDelayMs", () => {
  it("doubles up to a limit, half of it by chance", () => {
    const delays = (random: number) => [1, 2, 3, 6, 7, 20].map((attempt) => retryDelayMs(attempt, random, undefined));
    assert.deepEqual(delays(0), [125, 250, 500, 4000, 5000, 5000]);
    assert.deepEqual(delays(0.999999), [250, 500, 1000, 8000, 10_000, 10_000]);
  });

  it("waits at least as long as the server asks, up to a minute", () => {
    assert.equal(retryDelayMs(1, 0, 3000), 3000);
    assert.equal(retryDelayMs(7, 0, 10), 5000);
    assert.equal(retryDelayMs(1, 0, 31_536_000_000), 60_000);
  });
});

describe("parseRetryAfter", () => {
  it("reads seconds and dates, and nothing else", () => {
    const now = Date.parse("Wed, 21 Oct 2015 07:28:00 GMT");
    assert.equal(parseRetryAfter("120", now), 120_000);
    assert.equal(parseRetryAfter(" 0 ", now), 0);
    assert.equal(parseRetryAfter("Wed, 21 Oct 2015 07:28:30 GMT", now), 30_000);
    assert.equal(parseRetryAfter("Wed, 21 Oct 2015 07:27:30 GMT", now), 0, "in the past");
    for (const header of [null, "", "soon", "NaN", "1e9x"]) assert.equal(parseRetryAfter(header, now), undefined);
  });
});
