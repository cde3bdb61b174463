import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import path from "node:path";
import { describe, it } from "node:test";
import { readConfig } from "../../../importer/config.ts";
import type { Environment } from "../../../importer/config.ts";
import { UsageError } from "../../../importer/errors.ts";
import type { HttpOptions } from "../../../importer/http/http-options.ts";
import { connectionOf } from "../../../importer/worker/connection.ts";
import { withTemporaryFolder } from "../../support/temporary-folder.ts";

function connection(env: Environment, secretHeaders: readonly string[] = []): HttpOptions {
  return connectionOf(
    readConfig({ PREALLOCATION: "false", IMPORTER_PROXY_CERT_DIR: "/nowhere", ...env }, secretHeaders),
  );
}

describe("connectionOf", () => {
  it("goes directly, as nobody, by the importer's name, unless it is told otherwise", () => {
    assert.deepEqual(connection({}), {
      trust: { folders: [], insecure: false },
      proxies: { http: undefined, https: undefined, except: "" },
      userAgent: "cdi-golang-importer",
      auth: undefined,
      headers: [],
      stallMs: 60_000,
      allowsDowngrade: false,
    });
  });

  it("takes what it is told", () => {
    const env = {
      IMPORTER_ACCESS_KEY_ID: "user",
      IMPORTER_SECRET_KEY: "word",
      IMPORTER_EXTRA_HEADER_0: "A: 1",
      http_proxy: "http://one",
      https_proxy: "http://two",
      no_proxy: "host",
      INSECURE_TLS: "true",
      IMPORTER_CHECKSUM: "md5:00",
      DECANT_STALL_SECONDS: "5",
    };
    assert.deepEqual(connection(env, ["B: 2"]), {
      trust: { folders: [], insecure: true },
      proxies: { http: "http://one", https: "http://two", except: "host" },
      userAgent: "cdi-golang-importer",
      auth: { kind: "basic", user: "user", password: "word" },
      headers: [
        ["A", "1"],
        ["B", "2"],
      ],
      stallMs: 5000,
      allowsDowngrade: true,
    });
  });

  it("sends no half of user and password", () => {
    assert.equal(connection({ IMPORTER_ACCESS_KEY_ID: "user" }).auth, undefined);
    assert.equal(connection({ IMPORTER_SECRET_KEY: "word" }).auth, undefined);
  });

  it("believes the folders that are there, and wants the one that was named", async () => {
    await withTemporaryFolder(async (folder) => {
      const [proxy, own] = [path.join(folder, "proxy"), path.join(folder, "own")];
      const env = { IMPORTER_PROXY_CERT_DIR: proxy, IMPORTER_CERT_DIR: own };
      assert.throws(
        () => connection(env),
        (error) => error instanceof UsageError && error.message.includes(own),
      );
      assert.deepEqual(connection({ ...env, INSECURE_TLS: "1" }).trust.insecure, true);
      mkdirSync(own);
      assert.deepEqual(connection(env).trust.folders, [own]);
      mkdirSync(proxy);
      assert.deepEqual(connection(env).trust.folders, [proxy, own]);
    });
  });
});
