import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { describe, it } from "node:test";
import { inspect } from "node:util";
import { findGoogleToken, GoogleAuthorizer } from "../../../importer/cloud/google-token.ts";
import { SourceError } from "../../../importer/errors.ts";
import { defaultHttpOptions } from "../../../importer/http/http-options.ts";
import type { HttpOptions } from "../../../importer/http/http-options.ts";
import { withGoogleAccount } from "../../support/google-account.ts";
import { withTemporaryFolder } from "../../support/temporary-folder.ts";
import { requireTools } from "../../support/tools.ts";

const SECRET = "hunter2";

// The library looks at the process's own environment for what this machine offers.
process.env["HOME"] = "/nowhere";
process.env["METADATA_SERVER_DETECTION"] = "none";
delete process.env["GOOGLE_APPLICATION_CREDENTIALS"];

describe("Google token", { skip: requireTools("openssl") }, () => {
  it("is of the service account", async () => {
    await withTemporaryFolder(async (folder) => {
      await withGoogleAccount(folder, async ({ file, http }) => {
        const found = await findGoogleToken(file, http);
        assert.deepEqual([found?.token, found?.credentialsFile], ["token-1", file]);
        assert.ok((found?.expiresAtMs ?? 0) > Date.now() + 3_000_000);
      });
    });
  });

  it("is none where this machine offers none", async () => {
    assert.equal(await findGoogleToken(undefined, defaultHttpOptions), undefined);
  });

  it("is refused for a file that is none, and by a server, without a word of either", async () => {
    await withTemporaryFolder(async (folder) => {
      const files = {
        absent: undefined,
        empty: "",
        broken: `{"private_key":"${SECRET}"`,
        other: `{"type":"${SECRET}"}`,
      };
      for (const [name, text] of Object.entries(files)) {
        const file = path.join(folder, name);
        if (text !== undefined) fs.writeFileSync(file, text);
        await assertDenied(file);
      }
      const refusal = { error: "invalid_grant", error_description: SECRET };
      const answer = () => ({ status: 400, bytes: Buffer.from(JSON.stringify(refusal)) });
      await withGoogleAccount(folder, async ({ file, http }) => await assertDenied(file, http), answer);
      await withGoogleAccount(
        folder,
        async ({ file, http }) => await assertDenied(file, http),
        () => ({
          status: 200,
          headers: { "content-type": "application/json" },
          bytes: Buffer.from("{}"),
        }),
      );
    });
  });

  it("is asked for anew shortly before it expires, and once it is refused; many requests wait for one", async () => {
    await withTemporaryFolder(async (folder) => {
      await withGoogleAccount(folder, async ({ file, http, asked }) => {
        const first = { token: "token-0", expiresAtMs: 1_000_000, credentialsFile: file };
        const early = new GoogleAuthorizer(first, http, () => 0);
        assert.deepEqual(await early.headers(), [["Authorization", "Bearer token-0"]]);
        assert.equal(asked(), 0);
        const late = new GoogleAuthorizer(first, http, () => 990_000);
        assert.deepEqual(await Promise.all([late.headers(), late.headers()]), [
          [["Authorization", "Bearer token-1"]],
          [["Authorization", "Bearer token-1"]],
        ]);
        assert.deepEqual(await Promise.all([late.refused(), late.refused()]), [true, true]);
        assert.deepEqual(await late.headers(), [["Authorization", "Bearer token-2"]]);
        assert.equal(asked(), 2);
      });
    });
  });
});

async function assertDenied(file: string, http: HttpOptions = defaultHttpOptions): Promise<void> {
  await assert.rejects(findGoogleToken(file, http), (error) => {
    assert.ok(error instanceof SourceError && error.code === "SOURCE_DENIED");
    assert.ok(!inspect(error, { depth: 9 }).includes(SECRET));
    return true;
  });
}
