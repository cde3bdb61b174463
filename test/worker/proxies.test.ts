/**
 * The worker through squid: of http and of https, with and without a password, for a web server, a registry and an object
 * store. The worker cannot resolve the servers' name, squid can. Its log shows who asked: tests of CDI compare the user agents.
 */
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { describe, it } from "node:test";
import { buildImage, buildLayer } from "../support/build-image.ts";
import { makeAuthority } from "../support/certificates.ts";
import type { Authority } from "../support/certificates.ts";
import { sampleBytes } from "../support/images.ts";
import { withServer } from "../support/misbehaving-server.ts";
import { withSquid } from "../support/squid.ts";
import type { SquidSettings } from "../support/squid.ts";
import { until } from "../support/start-decant.ts";
import { withStubRegistry } from "../support/stub-registry.ts";
import { withTemporaryFolder } from "../support/temporary-folder.ts";
import { requireTools } from "../support/tools.ts";
import { runWorker, workerPlace } from "../support/worker.ts";
import type { WorkerResult } from "../support/worker.ts";

const NAME = "images.test";
const AUTH = { user: "me", password: "pass:hunter2" };
const image = sampleBytes("qcow2/zlib.qcow2");
const imageDisk = sampleBytes("raw/patterned.raw");
const containerDisk = buildImage([buildLayer([{ name: "disk/disk.qcow2", content: image }])], {
  architecture: "amd64",
});

type Env = Readonly<Record<string, string>>;

interface Stage {
  readonly squid: string;
  /** What to import, by the name that only squid knows: plain http, https, a registry and a bucket over https. */
  readonly sources: readonly { readonly env: Env; readonly seen: RegExp }[];
  /** Imports with the certificates of all servers where a proxy's are, and nowhere else. */
  readonly imported: (env: Env) => Promise<WorkerResult & { readonly disk: Buffer | undefined }>;
  readonly asked: () => string[];
}

async function withStage(
  settings: (authority: Authority) => Omit<SquidSettings, "hosts">,
  use: (stage: Stage) => Promise<void>,
): Promise<void> {
  await withTemporaryFolder(async (folder) => {
    const authority = makeAuthority(folder);
    const trusted = path.join(folder, "trusted");
    fs.mkdirSync(trusted);
    fs.writeFileSync(path.join(trusted, "ca.crt"), authority.certificate);
    const tls = authority.issue(`DNS:${NAME}`, "IP:0.0.0.0");
    await withSquid({ hosts: [NAME], ...settings(authority) }, async ({ host, log }) => {
      await withServer({ bytes: image }, async (plain) => {
        await withServer({ bytes: image, tls }, async (secure) => {
          await withStubRegistry({ images: { "disks/fedora:41": containerDisk }, tls }, async (registry) => {
            const [web, bucket, container] = [plain, secure, registry].map(({ origin }) =>
              origin.replace("127.0.0.1", NAME),
            );
            const agent = "cdi-golang-importer";
            const tunnel = (origin = "", by = agent): RegExp =>
              new RegExp(`^CONNECT ${origin.slice(8)} 200 \\S+ ${by}$`);
            await use({
              squid: host,
              sources: [
                {
                  env: { IMPORTER_SOURCE: "http", IMPORTER_ENDPOINT: `${web}/disk?sig=hunter3` },
                  seen: new RegExp(`^GET ${web}/disk\\? 200 \\S+ ${agent}$`),
                },
                { env: { IMPORTER_SOURCE: "http", IMPORTER_ENDPOINT: `${bucket}/disk` }, seen: tunnel(bucket) },
                {
                  env: {
                    IMPORTER_SOURCE: "s3",
                    IMPORTER_ENDPOINT: `${bucket}/bucket/key`,
                    IMPORTER_ACCESS_KEY_ID: "key",
                    IMPORTER_SECRET_KEY: "hunter4",
                  },
                  seen: tunnel(bucket),
                },
                {
                  env: {
                    IMPORTER_SOURCE: "registry",
                    IMPORTER_ENDPOINT: `${container?.replace("https", "docker")}/disks/fedora:41`,
                  },
                  seen: tunnel(container, "Go-http-client/1\\.1"),
                },
              ],
              asked: () => log().filter((line) => !line.includes("transaction-end-before-headers")),
              imported: async (env) => {
                return await withTemporaryFolder(async (home) => {
                  const place = workerPlace(home);
                  const disk = path.join(place.data, "disk.img");
                  const all = { HOME: home, IMPORTER_PROXY_CERT_DIR: trusted, ...env };
                  const result = await runWorker(place, { env: all });
                  return { ...result, disk: fs.existsSync(disk) ? fs.readFileSync(disk) : undefined };
                });
              },
            });
          });
        });
      });
    });
  });
}

function both(proxy: string): Env {
  return { http_proxy: proxy, https_proxy: proxy };
}

async function succeeds(stage: Stage, env: Env): Promise<void> {
  const { status, message, log, disk } = await stage.imported(env);
  assert.equal(status, 0, message ?? log);
  assert.ok(disk?.equals(imageDisk));
  assert.doesNotMatch(log + message, /hunter/);
}

describe("the worker through squid", { skip: requireTools("squid", "openssl"), concurrency: 2 }, () => {
  it("shows whose request it is, and trusts servers by a proxy's certificates alone", async () => {
    await withStage(
      () => ({}),
      async (stage) => {
        for (const { env } of stage.sources) await succeeds(stage, { ...env, ...both(`http://${stage.squid}`) });
        await until(() => stage.sources.every(({ seen }) => stage.asked().some((line) => seen.test(line))));
      },
    );
  });

  it("speaks TLS with it, and tells it user and password", async () => {
    await withStage(
      (authority) => ({ tls: authority.issue("IP:127.0.0.1"), auth: AUTH }),
      async (stage) => {
        const proxies = both(`https://me:pass%3Ahunter2@${stage.squid}`);
        for (const { env } of stage.sources) await succeeds(stage, { ...env, ...proxies });
        await until(() => stage.asked().filter((line) => line.includes(" 200 me ")).length >= stage.sources.length);
      },
    );
  });

  it("says that it wants a password, in the contract's words", async () => {
    await withStage(
      () => ({ auth: AUTH }),
      async (stage) => {
        for (const { env } of stage.sources) {
          const {
            status,
            message = "",
            log,
          } = await stage.imported({ ...env, ...both(`http://me:hunter9@${stage.squid}`) });
          assert.equal(status, 1);
          const words =
            env["IMPORTER_SOURCE"] === "registry"
              ? "Unable to process data: .*: Failed to read registry image: failed to pull image: "
              : `Unable to connect to ${env["IMPORTER_SOURCE"]} data source: `;
          assert.match(message, new RegExp(`^${words}.* 407 Proxy Authentication Required.* \\[SOURCE_DENIED\\]$`));
          assert.doesNotMatch(log + message, /hunter/);
        }
      },
    );
  });

  it("leaves it out for all that no_proxy=* names", async () => {
    await withStage(
      () => ({}),
      async (stage) => {
        for (const { env } of stage.sources) {
          const endpoint = { IMPORTER_ENDPOINT: (env["IMPORTER_ENDPOINT"] ?? "").replace(NAME, "0.0.0.0") };
          await succeeds(stage, { ...env, ...endpoint, ...both(`http://${stage.squid}`), no_proxy: "*" });
        }
        assert.deepEqual(stage.asked(), []);
      },
    );
  });
});
