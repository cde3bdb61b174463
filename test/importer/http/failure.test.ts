import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { connectionFailure, statusFailure } from "../../../importer/http/failure.ts";
import { Place } from "../../../importer/http/place.ts";

const PLACE = Place.parse("http://host/disk?sig=secret");

function systemError(code: string): Error {
  return Object.assign(new Error(`request to ${PLACE.first.href} failed, reason: it failed`), { code });
}

describe("connectionFailure", () => {
  for (const [error, code, mayRetry] of [
    ["ECONNRESET", "SOURCE_UNAVAILABLE", true],
    ["EAI_AGAIN", "SOURCE_UNAVAILABLE", true],
    ["ENOTFOUND", "SOURCE_UNAVAILABLE", false],
    ["HPE_INVALID_CONSTANT", "SOURCE_UNAVAILABLE", false],
    ["CERT_HAS_EXPIRED", "SOURCE_TLS", false],
    ["SELF_SIGNED_CERT_IN_CHAIN", "SOURCE_TLS", false],
    ["UNABLE_TO_VERIFY_LEAF_SIGNATURE", "SOURCE_TLS", false],
    ["ERR_SSL_WRONG_VERSION_NUMBER", "SOURCE_TLS", false],
    ["EPROTO", "SOURCE_TLS", false],
    ["PROXY_STATUS_407", "SOURCE_DENIED", false],
    ["PROXY_STATUS_502", "SOURCE_UNAVAILABLE", true],
    ["PROXY_STATUS_403", "SOURCE_UNAVAILABLE", false],
  ] as const) {
    it(`makes ${code} of ${error}`, () => {
      const failure = connectionFailure(systemError(error), PLACE);
      assert.deepEqual([failure.error.code, failure.mayRetry], [code, mayRetry]);
    });
  }

  it("names a proxy that stands between, without its password", () => {
    const { error } = connectionFailure(systemError("ECONNREFUSED"), PLACE, new URL("http://me:secret@proxy:3128/"));
    assert.equal(error.message, "cannot read http://host/disk through the proxy proxy:3128");
    assert.deepEqual(error.context, { errno: "ECONNREFUSED", proxy: true });
  });
});

describe("statusFailure", () => {
  it("keeps the server's words to itself, and obeys it only where it may be asked again", () => {
    const headers = new Headers({ "retry-after": "9" });
    const failure = statusFailure({ status: 503, headers }, PLACE, 0);
    assert.deepEqual(
      [failure.error.message, failure.mayRetry, failure.retryAfterMs],
      ["http://host/disk answers 503 Service Unavailable", true, 9000],
    );
    assert.deepEqual(failure.error.context, { status: 503 });
    assert.equal(statusFailure({ status: 404, headers }, PLACE, 0).retryAfterMs, undefined);
    assert.equal(statusFailure({ status: 999, headers }, PLACE, 0).error.message, "http://host/disk answers 999");
  });
});
