import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { plainText, reasonOf, redactUrl } from "../../../importer/http/redact.ts";

describe("redactUrl", () => {
  it("keeps scheme, host, port and path", () => {
    assert.equal(redactUrl("https://me:secret@host:8443/a/b%20c?sig=secret#secret"), "https://host:8443/a/b%20c");
    assert.equal(redactUrl(new URL("http://secret@host")), "http://host/");
    assert.equal(redactUrl("s3://key:secret@bucket/key?x"), "s3://bucket/key");
    assert.equal(redactUrl("http://me:secret@["), "a URL that cannot be read");
  });
});

describe("reasonOf", () => {
  it("takes the system's words without the URL", () => {
    const url = "http://host/disk?sig=a,%20reason:%20b";
    assert.equal(reasonOf(new Error(`request to ${url} failed, reason: read ECONNRESET`)), "read ECONNRESET");
    assert.equal(reasonOf(Object.assign(new Error("secret"), { code: "EODD" })), "EODD");
    assert.equal(
      reasonOf(Object.assign(new Error(`request to ${url} failed, reason: `), { code: "ECONNREFUSED" })),
      "ECONNREFUSED",
    );
    assert.equal(reasonOf(Object.assign(new Error("read EIO"), { code: "EIO", syscall: "read" })), "read EIO");
    assert.equal(reasonOf(new Error("secret")), "unknown");
    assert.equal(reasonOf("secret"), "unknown");
  });
});

describe("plainText", () => {
  it("is one line, and not endless", () => {
    assert.equal(plainText("a\r\nb\u001b[31mc\u2028d"), "a b [31mc d");
    assert.equal(plainText("x".repeat(1000)).length, 400);
  });
});
