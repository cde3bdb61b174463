import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { authOf, basicHeader, withoutAuth } from "../../../importer/http/basic-auth.ts";

describe("basic authentication", () => {
  it("comes from the URL, decoded", () => {
    assert.deepEqual(authOf(new URL("http://me%40home:p%3Aw@host/")), { user: "me@home", password: "p:w" });
    assert.deepEqual(authOf(new URL("http://100%:50%x@host/")), { user: "100%", password: "50%x" });
    assert.deepEqual(authOf(new URL("http://:token@host/")), { user: "", password: "token" });
    assert.equal(authOf(new URL("http://host/")), undefined);
  });

  it("leaves the URL without user info and fragment, and the given one as it was", () => {
    const url = new URL("http://me:pw@host/a?b#c");
    assert.equal(withoutAuth(url).href, "http://host/a?b");
    assert.equal(url.href, "http://me:pw@host/a?b#c");
  });

  it("is a header in UTF-8", () => {
    // RFC 7617, sections 2 and 2.1
    assert.equal(basicHeader({ user: "Aladdin", password: "open sesame" }), "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
    assert.equal(basicHeader({ user: "test", password: "123£" }), "Basic dGVzdDoxMjPCow==");
  });
});
