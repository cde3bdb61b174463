/**
 * The whole way through a proxy: squid, of http and of https, with and without a password. The client cannot resolve the
 * name of the server, squid can.
 */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import path from "node:path";
import { describe, it } from "node:test";
import * as convert from "../../cmd/convert.ts";
import { sampleBytes } from "../support/images.ts";
import { makeAuthority } from "../support/certificates.ts";
import type { Authority } from "../support/certificates.ts";
import { runCommand } from "../support/command-io.ts";
import type { CommandResult } from "../support/command-io.ts";
import { withServer } from "../support/misbehaving-server.ts";
import type { MisbehavingServer } from "../support/misbehaving-server.ts";
import { withSquid } from "../support/squid.ts";
import type { Squid, SquidSettings } from "../support/squid.ts";
import { withTemporaryFolder } from "../support/temporary-folder.ts";
import { until } from "../support/start-decant.ts";
import { requireTools } from "../support/tools.ts";

const NAME = "images.test";
const BYTES = sampleBytes("raw/patterned.raw");
const CHECKSUM = `sha256:${createHash("sha256").update(BYTES).digest("hex")}`;
const AUTH = { user: "me", password: "pass:hunter2" };

interface Stage {
  readonly squid: Squid;
  /** Of http, and of https with a certificate for NAME and 0.0.0.0. */
  readonly servers: readonly MisbehavingServer[];
  /** Converts from the server, by the name that only squid knows, or by another. */
  readonly pour: (
    server: MisbehavingServer,
    env: Readonly<Record<string, string>>,
    host?: string,
  ) => Promise<CommandResult>;
  /** What squid was asked for, besides the connection that looks whether it is there. */
  readonly asked: () => string[];
}

async function withStage(
  settings: (authority: Authority) => Omit<SquidSettings, "hosts">,
  use: (stage: Stage) => Promise<void>,
): Promise<void> {
  await withTemporaryFolder(async (folder) => {
    const authority = makeAuthority(folder);
    const file = path.join(folder, "ca.pem");
    const tls = authority.issue(`DNS:${NAME}`, "IP:0.0.0.0");
    await withSquid({ hosts: [NAME], ...settings(authority) }, async (squid) => {
      await withServer({ bytes: BYTES }, async (plain) => {
        await withServer({ bytes: BYTES, tls }, async (secure) => {
          await use({
            squid,
            servers: [plain, secure],
            asked: () => squid.log().filter((line) => !line.includes("transaction-end-before-headers")),
            pour: ({ origin }, env, host = NAME) => {
              const url = `${origin.replace("127.0.0.1", host)}/disk?sig=hunter3`;
              const options = ["--checksum", CHECKSUM, "--threads", "1", "--cacert", file];
              return runCommand(convert, [...options, url, "null:"], { env });
            },
          });
        });
      });
    });
  });
}

/** In the variables of both kinds of URL. */
function both(proxy: string): Record<string, string> {
  return { http_proxy: proxy, HTTPS_PROXY: proxy };
}

function assertPoured({ status, stderr }: CommandResult): void {
  assert.equal(status, 0, stderr);
}

function assertRefused({ status, stdout, stderr }: CommandResult, words: RegExp): void {
  assert.equal(status, 5);
  assert.match(stderr, words);
  assert.doesNotMatch(stdout + stderr, /hunter/);
}

describe("through squid", { skip: requireTools("squid", "openssl"), concurrency: true }, () => {
  it("forwards http and tunnels https, under our name, and trusts the server by the given authority alone", async () => {
    await withStage(
      () => ({}),
      async ({ squid, servers, pour, asked }) => {
        for (const server of servers) {
          assertPoured(await pour(server, both(squid.host)));
          assert.equal(server.requests[0]?.headers["user-agent"], "decant");
        }
        const [plain, secure] = servers.map(({ origin }) => origin.replace("127.0.0.1", NAME));
        const lines = [`GET ${plain}/disk? 200 - decant`, `CONNECT ${secure?.slice("https://".length)} 200 - decant`];
        await until(() => lines.every((line) => asked().includes(line)));
      },
    );
  });

  it("leaves it out for what no_proxy names", async () => {
    await withStage(
      () => ({}),
      async ({ squid, servers, pour, asked }) => {
        for (const server of servers) {
          for (const list of ["*", "example.com, 0.0.0.0", `0.0.0.0:${new URL(server.origin).port}`]) {
            assertPoured(await pour(server, { ...both(squid.host), no_proxy: list }, "0.0.0.0"));
          }
        }
        assert.deepEqual(asked(), []);
      },
    );
  });

  it("tells user and password, and says who asks for them", async () => {
    await withStage(
      () => ({ auth: AUTH }),
      async ({ squid, servers, pour, asked }) => {
        const words =
          /answers 407 Proxy Authentication Required\. Put user and password into the proxy's URL\. \[SOURCE_DENIED\]\n$/;
        for (const server of servers) {
          assertRefused(await pour(server, both(`http://${squid.host}`)), words);
          assertRefused(await pour(server, both(`http://me:hunter9@${squid.host}`)), words);
          assert.equal(server.requests.length, 0);
          assertPoured(await pour(server, both(`http://me:pass%3Ahunter2@${squid.host}`)));
          assert.equal(server.requests[0]?.headers["proxy-authorization"], undefined);
        }
        await until(() => asked().filter((line) => line.endsWith(" 200 me decant")).length === servers.length);
      },
    );
  });

  it("speaks TLS with the proxy itself, and verifies it", async () => {
    await withStage(
      (authority) => ({ tls: authority.issue("IP:127.0.0.1"), auth: AUTH }),
      async ({ squid, servers, pour }) => {
        for (const server of servers) {
          assertPoured(await pour(server, both(`https://me:pass%3Ahunter2@${squid.host}`)));
        }
      },
    );
    await withStage(
      (authority) => ({ tls: authority.issue("DNS:proxy.example") }),
      async ({ squid, servers, pour }) => {
        for (const server of servers) {
          assertRefused(await pour(server, both(`https://${squid.host}`)), /DNS:proxy\.example.*\[SOURCE_TLS\]\n$/s);
          assert.equal(server.connections(), 0);
        }
      },
    );
  });
});
