import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { EngineSession } from "../../../importer/imageio/engine-session.ts";
import { withClient } from "../../support/http-client.ts";
import { PASSWORD, USER, withOvirt } from "../../support/ovirt-engine.ts";
import type { EngineMisdeed, OvirtStub } from "../../support/ovirt-engine.ts";

async function withSession<T>(
  misdeed: EngineMisdeed | undefined,
  use: (session: EngineSession, stub: OvirtStub) => Promise<T>,
): Promise<T> {
  return await withOvirt({ disk: Buffer.alloc(0), misdeed: () => misdeed }, async (stub) => {
    return await withClient({}, async (client) => {
      return await use(new EngineSession(client, new URL(stub.endpoint), { user: USER, password: PASSWORD }), stub);
    });
  });
}

describe("EngineSession", () => {
  it("logs in when it is first asked for, keeps the token, and gives it back", async () => {
    await withSession(undefined, async (session, stub) => {
      assert.deepEqual(await session.headers(), [["Authorization", "Bearer sso-token-1-secret"]]);
      assert.deepEqual(await session.headers(), [["Authorization", "Bearer sso-token-1-secret"]]);
      assert.equal(await session.refused(), true);
      assert.deepEqual(await session.headers(), [["Authorization", "Bearer sso-token-2-secret"]]);
      await session.logout();
      await session.logout();
      assert.equal(stub.calls.length, 3);
      assert.deepEqual(stub.complaints, []);
    });
  });

  it("takes a token out of a list, and of nothing else", async () => {
    const answers: [body: string, outcome: RegExp | undefined][] = [
      ['[{"access_token":"abc"}]', undefined],
      ['{"access_token":"abc def"}', /something else than a token/],
      ['{"access_token":"abc\\nX-Header: 1"}', /something else than a token/],
      ['{"access_token":7}', /something else than a token/],
      ["null", /something else than a token/],
      ["[]", /something else than a token/],
      ['{"error":"access_denied","error_code":"7"}', /refuses the login: access_denied$/],
      ['{"error":{}}', /refuses the login$/],
      ["x".repeat(70_000), /more than 65536 bytes/],
    ];
    for (const [body, outcome] of answers) {
      await withSession({ body }, async (session) => {
        if (outcome === undefined) assert.deepEqual(await session.headers(), [["Authorization", "Bearer abc"]]);
        else await assert.rejects(session.headers(), { name: "SourceError", message: outcome });
      });
    }
  });

  it("shows an engine's words on one line, without what was sent to it", async () => {
    await withSession(undefined, async (session) => {
      await session.login();
      assert.equal(session.shown(`bad ${PASSWORD}\nfor sso-token-1-secret`), "bad … for …");
    });
  });

  it("does not mind an engine that takes no token back", async () => {
    await withOvirt(
      { disk: Buffer.alloc(0), misdeed: ({ what }) => (what.includes("logout") ? { status: 500 } : undefined) },
      async (stub) => {
        await withClient({}, async (client) => {
          const session = new EngineSession(client, new URL(stub.endpoint), { user: USER, password: PASSWORD });
          await session.login();
          await session.logout();
          assert.equal(stub.calls.length, 2);
        });
      },
    );
  });
});
