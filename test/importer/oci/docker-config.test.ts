import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { FormatError } from "../../../formats/errors.ts";
import { findLogin, isDockerConfig, MAX_CONFIG_LENGTH, readHelperAnswer } from "../../../importer/oci/docker-config.ts";
import type { Finding } from "../../../importer/oci/docker-config.ts";
import { parseImageReference } from "../../../importer/oci/reference.ts";

function find(config: unknown, name = "docker://quay.io/team/image"): Finding {
  const reference = parseImageReference(name);
  assert.ok(reference.kind === "registry");
  return findLogin(typeof config === "string" ? config : JSON.stringify(config), reference, "the file");
}

function entry(user: string, password: string): { readonly auth: string } {
  return { auth: Buffer.from(`${user}:${password}`).toString("base64") };
}

function password(user: string, secret: string): Finding {
  return { login: { kind: "password", user, password: secret } };
}

describe("findLogin", () => {
  it("reads every way to write an entry", () => {
    const mine = password("me", "a:b");
    assert.deepEqual(find({ auths: { "quay.io": entry("me", "a:b") } }), mine);
    assert.deepEqual(find({ auths: { "quay.io": { username: "me", password: "a:b" } } }), mine);
    const token = { login: { kind: "identity-token", token: "t" } };
    assert.deepEqual(find({ auths: { "quay.io": { ...entry("0000", ""), identitytoken: "t" } } }), token);
    assert.deepEqual(find({ auths: { "quay.io": entry("<token>", "t") } }), token);
  });

  it("takes the entry that names most of the repository", () => {
    const auths = {
      "quay.io": entry("host", "1"),
      "quay.io/team": entry("team", "1"),
      "quay.io/team/image": entry("image", "1"),
      "quay.io/te": entry("no", "1"),
    };
    assert.deepEqual(find({ auths }), password("image", "1"));
    assert.deepEqual(find({ auths }, "docker://quay.io/team/other"), password("team", "1"));
    assert.deepEqual(find({ auths }, "docker://quay.io/other"), password("host", "1"));
    assert.equal(find({ auths }, "docker://quay.io:443/other"), undefined);
  });

  it("knows keys of old clients, and Docker Hub's", () => {
    for (const key of ["https://quay.io", "http://quay.io/", "https://quay.io/v1/", "https://quay.io/v2"]) {
      assert.deepEqual(find({ auths: { [key]: entry("me", "1") } }), password("me", "1"), key);
    }
    const both = { "https://quay.io/v1/": entry("old", "1"), "quay.io": entry("new", "1") };
    assert.deepEqual(find({ auths: both }), password("new", "1"));
    for (const key of ["https://index.docker.io/v1/", "docker.io", "index.docker.io"]) {
      assert.deepEqual(find({ auths: { [key]: entry("me", "1") } }, "docker://ubuntu"), password("me", "1"), key);
    }
  });

  it("leads to credential helpers", () => {
    const helper = { helper: "desktop", server: "quay.io" };
    assert.deepEqual(find({ credsStore: "desktop", auths: { "quay.io": {} } }), helper);
    assert.deepEqual(find({ credHelpers: { "quay.io": "desktop" }, credsStore: "other" }), helper);
    assert.deepEqual(find({ credsStore: "x" }, "docker://ubuntu"), {
      helper: "x",
      server: "https://index.docker.io/v1/",
    });
    assert.deepEqual(find({ credsStore: "x", auths: { "quay.io": entry("me", "1") } }), password("me", "1"));
  });

  it("finds nothing in what says nothing, and refuses what is no such file without showing it", () => {
    for (const config of [{}, { auths: [] }, { auths: { "quay.io": 5 } }, { auths: { "quay.io": { auth: 5 } } }]) {
      assert.equal(find(config), undefined);
    }
    for (const config of [
      "secret",
      "[]",
      { auths: { "quay.io": { auth: Buffer.from("secret").toString("base64") } } },
    ]) {
      assert.throws(
        () => find(config),
        (error) =>
          error instanceof FormatError && error.message.startsWith("the file ") && !error.message.includes("secret"),
      );
    }
    assert.equal(find(`{"auths":{"__proto__":{"auth":"eA=="},"constructor":1}}`), undefined);
  });
});

describe("isDockerConfig", () => {
  it("R11: tells a pull secret from a password", () => {
    assert.ok(isDockerConfig(`\n{"auths":{"quay.io":{}}}`));
    const passwords = [
      "",
      "pass",
      "{",
      `{"a":1}`,
      `{"auths":1}`,
      `[{"auths":{}}]`,
      `{"auths":{}}${" ".repeat(MAX_CONFIG_LENGTH)}`,
    ];
    for (const text of passwords) assert.ok(!isDockerConfig(text), text.slice(0, 20));
  });
});

describe("readHelperAnswer", () => {
  it("reads user and secret", () => {
    assert.deepEqual(readHelperAnswer(`{"ServerURL":"x","Username":"me","Secret":"1"}`, "the answer"), {
      kind: "password",
      user: "me",
      password: "1",
    });
    assert.deepEqual(readHelperAnswer(`{"Username":"<token>","Secret":"t"}`, "it"), {
      kind: "identity-token",
      token: "t",
    });
    assert.equal(readHelperAnswer(`{"Username":"me","Secret":""}`, "it"), undefined);
    assert.throws(() => readHelperAnswer("no", "it"), FormatError);
  });
});
