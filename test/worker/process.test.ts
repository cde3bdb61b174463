/**
 * The worker as a process: its flags, signals, files and pages, and how it reaches the network.
 */
import assert from "node:assert/strict";
import fs from "node:fs";
import https from "node:https";
import path from "node:path";
import { describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { baseDisk } from "../support/base-disk.ts";
import { makeAuthority } from "../support/certificates.ts";
import { sampleBytes } from "../support/images.ts";
import { withServer } from "../support/misbehaving-server.ts";
import type { MisbehavingServer, Misdeed, ServerSettings } from "../support/misbehaving-server.ts";
import { withNginx } from "../support/nginx.ts";
import { freePort } from "../support/server-process.ts";
import { runDecant } from "../support/run-decant.ts";
import { until } from "../support/start-decant.ts";
import { withTemporaryFolder } from "../support/temporary-folder.ts";
import { requireTools } from "../support/tools.ts";
import { leftIn, runWorker, startWorker, workerPlace } from "../support/worker.ts";
import type { WorkerPlace, WorkerResult } from "../support/worker.ts";

const MIB = 1024 * 1024;
const COMPLETE = '{"scratchSpaceRequired":false,"preallocationApplied":false,"message":"Import Complete"}';

const disk = baseDisk(8 * MIB);
const image = sampleBytes("qcow2/zlib.qcow2");
const imageDisk = sampleBytes("raw/patterned.raw");

async function withPlace<T>(use: (place: WorkerPlace) => Promise<T>): Promise<T> {
  return await withTemporaryFolder(async (folder) => await use(workerPlace(folder)));
}

/** Imports from a server of `settings`, and looks at both. */
async function importFrom(
  settings: Partial<ServerSettings>,
  env: (server: MisbehavingServer, place: WorkerPlace) => Readonly<Record<string, string>>,
  check: (result: WorkerResult, server: MisbehavingServer, place: WorkerPlace) => void,
): Promise<void> {
  await withPlace(async (place) => {
    await withServer({ bytes: image, etag: '"v1"', ...settings }, async (server) => {
      const source = { IMPORTER_SOURCE: "http", IMPORTER_ENDPOINT: `${server.origin}/disk` };
      check(await runWorker(place, { env: { ...source, ...env(server, place) } }), server, place);
    });
  });
}

function checkDisk(place: WorkerPlace, expected: Buffer): void {
  assert.deepEqual(leftIn(place), ["disk.img"]);
  assert.ok(fs.readFileSync(path.join(place.data, "disk.img")).equals(expected), "the disk is another");
}

describe("flags", { concurrency: 2 }, () => {
  it("that nobody knows end it with 2, and no message", async () => {
    await withPlace(async (place) => {
      const { status, message, log } = await runWorker(place, { args: ["-fancy"] });
      assert.deepEqual([status, message], [2, undefined]);
      assert.match(log, /flag provided but not defined: -fancy/);
    });
  });

  it("of another verbosity show less", async () => {
    await importFrom(
      {},
      () => ({}),
      ({ lines }) => assert.match(lines.join("\n"), /fsync/),
    );
    await withPlace(async (place) => {
      const { status, lines } = await runWorker(place, {
        env: { IMPORTER_SOURCE: "none", IMPORTER_IMAGE_SIZE: "2Mi" },
        args: ["-v=2"],
      });
      assert.equal(status, 0);
      assert.doesNotMatch(lines.join("\n"), /fsync/);
    });
  });

  it("--explain alone prints the phases, with a run its path", async () => {
    const { status, stdout } = await runDecant(["import", "--explain"], { env: { IMPORTER_SOURCE: "" } });
    assert.equal(status, 0);
    assert.match(stdout, /^ {2}Info {6}stream → Transfer · random-access → Convert/);
    await withPlace(async (place) => {
      await withServer({ bytes: image }, async ({ origin }) => {
        const env = { IMPORTER_SOURCE: "http", IMPORTER_ENDPOINT: `${origin}/disk` };
        const result = await runWorker(place, { env, args: ["--explain"] });
        assert.match(result.stdout, /^\* Info {6}\[stream → Transfer\] .*\n\* Transfer {2}\[on-target → Resize\]/);
      });
    });
  });
});

describe("an error that nobody caught", () => {
  it("ends the worker as a failure, and shows no secret", async () => {
    const env = ({ origin }: MisbehavingServer, { folder }: WorkerPlace): Record<string, string> => {
      const preload = path.join(folder, "preload.mjs");
      const bug = "Promise.reject(new Error('GET http://host/?sig=hunter2'))";
      fs.writeFileSync(preload, `setTimeout(() => ${bug}, 1500);`);
      return { IMPORTER_ENDPOINT: `${origin}/disk?sig=hunter2`, NODE_OPTIONS: `--import=${preload}` };
    };
    await importFrom({ misdeed: () => ({ stallAfter: 0 }) }, env, ({ status, lines, log }) => {
      assert.equal(status, 1, log);
      assert.ok(lines.includes("an error that nobody caught"), log);
      assert.doesNotMatch(log, /hunter2/);
    });
  });
});

describe("the termination log", () => {
  it("is overwritten, and readable for its owner alone where it is new", async () => {
    await importFrom(
      {},
      () => ({}),
      ({ message }, _, place) => {
        assert.equal(message, COMPLETE);
        assert.equal(fs.statSync(path.join(place.folder, "termination-log")).mode & 0o777, 0o600);
      },
    );
  });

  it("that cannot be written makes a success a failure", async () => {
    const nowhere = { DECANT_TERMINATION_LOG: "/nowhere/termination-log" };
    await importFrom(
      {},
      () => nowhere,
      ({ status, lines }) => {
        assert.equal(status, 1);
        assert.ok(lines.includes("the termination message cannot be written"));
      },
    );
  });
});

describe("SIGTERM", { concurrency: 2 }, () => {
  for (const [name, misdeed] of [
    ["while the disk comes", { stallAfter: 3 * MIB }],
    ["before anything came", { stallAfter: 0 }],
  ] as const) {
    it(`${name}: stops, leaves nothing, says nothing`, async () => {
      await withPlace(async (place) => {
        await withServer(
          { bytes: disk, etag: '"v1"', misdeed: () => ({ ...misdeed, ignoresRange: true }) },
          async (server) => {
            const env = { IMPORTER_SOURCE: "http", IMPORTER_ENDPOINT: `${server.origin}/disk` };
            const { child, ended } = startWorker(place, { env });
            const partial = path.join(place.data, ".disk.img.decant-partial");
            await until(() => server.requests.length > 0);
            if (misdeed.stallAfter > 0) await until(() => fs.existsSync(partial) && fs.statSync(partial).blocks > 0);
            child.kill("SIGTERM");
            const { status, signal, message, log } = await ended;
            assert.deepEqual([status, signal, message], [143, null, undefined], log);
            assert.deepEqual(leftIn(place), []);
          },
        );
      });
    });
  }
});

describe("SIGKILL", () => {
  it("leaves what the next attempt takes away", async () => {
    await withPlace(async (place) => {
      const misdeed = (number: number): Misdeed => ({
        ignoresRange: true,
        ...(number === 1 ? { stallAfter: 3 * MIB } : {}),
      });
      await withServer({ bytes: disk, etag: '"v1"', misdeed }, async (server) => {
        const env = { IMPORTER_SOURCE: "http", IMPORTER_ENDPOINT: `${server.origin}/disk` };
        const { child, ended } = startWorker(place, { env });
        const partial = path.join(place.data, ".disk.img.decant-partial");
        await until(() => fs.existsSync(partial) && fs.statSync(partial).blocks > 0);
        child.kill("SIGKILL");
        assert.equal((await ended).signal, "SIGKILL");
        assert.deepEqual(leftIn(place), [".disk.img.decant-partial"]);
        const { status, lines, log } = await runWorker(place, { env });
        assert.equal(status, 0, log);
        assert.ok(lines.includes("removed what an earlier attempt left"));
        checkDisk(place, disk);
      });
    });
  });
});

describe("the metrics page", () => {
  it("has the progress under the owner's name while the disk comes", async () => {
    await withPlace(async (place) => {
      await withServer(
        { bytes: disk, etag: '"v1"', misdeed: () => ({ stallAfter: 4 * MIB, ignoresRange: true }) },
        async (server) => {
          const port = await freePort();
          const env = {
            IMPORTER_SOURCE: "http",
            IMPORTER_ENDPOINT: `${server.origin}/disk`,
            OWNER_UID: "uid-1",
            DECANT_METRICS_PORT: String(port),
          };
          const { child, ended } = startWorker(place, { env });
          const partial = path.join(place.data, ".disk.img.decant-partial");
          await until(() => fs.existsSync(partial) && fs.statSync(partial).blocks > 0);
          const page = await getPage(port);
          const percent = /^kubevirt_cdi_import_progress_total\{ownerUID="uid-1"\} (\d{1,3}\.?\d*)$/m.exec(page)?.[1];
          assert.ok(Number(percent) > 0 && Number(percent) <= 50, page);
          child.kill("SIGTERM");
          assert.equal((await ended).status, 143);
        },
      );
    });
  });

  it("that cannot be had fails nothing, and the log says so", async () => {
    await withServer(
      { bytes: disk, misdeed: (number) => (number === 1 ? { stallAfter: MIB } : {}) },
      async ({ origin }) => {
        await withPlace(async (place) => {
          const env = {
            IMPORTER_SOURCE: "http",
            IMPORTER_ENDPOINT: `${origin}/disk`,
            DECANT_METRICS_PORT: new URL(origin).port,
          };
          const { child, ended, log } = startWorker(place, { env });
          await until(() => log().includes("there is no metrics page"));
          child.kill("SIGTERM");
          assert.equal((await ended).status, 143);
          const { status, message } = await runWorker(place, { env });
          assert.deepEqual([status, message], [0, COMPLETE]);
        });
      },
    );
  });
});

/** Asks until there is a page. */
async function getPage(port: number): Promise<string> {
  for (let tries = 0; ; tries++) {
    try {
      return await askForPage(port);
    } catch (error) {
      if (tries === 100) throw error;
      await sleep(100);
    }
  }
}

async function askForPage(port: number): Promise<string> {
  return await new Promise((resolve, reject) => {
    https
      .get({ port, host: "127.0.0.1", path: "/metrics", rejectUnauthorized: false }, (response) => {
        let page = "";
        response.setEncoding("utf8").on("data", (text: string) => (page += text));
        response.on("end", () => resolve(page));
      })
      .on("error", reject);
  });
}

describe("an http server", { concurrency: 2 }, () => {
  it("is asked by the importer's name, with user and password, and all headers", async () => {
    const env = (_: MisbehavingServer, { folder }: WorkerPlace): Record<string, string> => {
      const secrets = path.join(folder, "extraheaders", "0");
      fs.mkdirSync(path.join(secrets, "..data"), { recursive: true });
      fs.writeFileSync(path.join(secrets, "..data", "token"), "X-Token: hunter4\n");
      fs.symlinkSync(path.join("..data", "token"), path.join(secrets, "token"));
      return {
        IMPORTER_ACCESS_KEY_ID: "user",
        IMPORTER_SECRET_KEY: "hunter2",
        IMPORTER_EXTRA_HEADER_0: "X-Kind: disk",
        IMPORTER_EXTRA_HEADER_1: "no header",
      };
    };
    await importFrom({}, env, ({ status, log }, { requests }) => {
      assert.equal(status, 0, log);
      const headers = requests[0]?.headers ?? {};
      assert.equal(requests[0]?.method, "GET");
      assert.equal(headers["user-agent"], "cdi-golang-importer");
      assert.equal(headers["authorization"], `Basic ${Buffer.from("user:hunter2").toString("base64")}`);
      assert.deepEqual([headers["x-kind"], headers["x-token"]], ["disk", "hunter4"]);
      assert.doesNotMatch(log, /hunter/);
    });
  });

  it("is told no half of user and password", async () => {
    await importFrom(
      {},
      () => ({ IMPORTER_ACCESS_KEY_ID: "user" }),
      ({ status }, { requests }) => {
        assert.equal(status, 0);
        assert.equal(requests[0]?.headers["authorization"], undefined);
      },
    );
  });

  it("that forbids HEAD, has no ranges, and answers 503 three times out of four gives its disk", async () => {
    const misdeed: ServerSettings["misdeed"] = (number, { method }) => {
      if (method === "HEAD") return { status: 403 };
      return number % 4 === 0 ? { ignoresRange: true, headers: { "accept-ranges": undefined } } : { status: 503 };
    };
    await importFrom(
      { misdeed },
      () => ({}),
      ({ status, log }, { requests }, place) => {
        assert.equal(status, 0, log);
        assert.ok(requests.every(({ method }) => method === "GET"));
        checkDisk(place, imageDisk);
      },
    );
  });

  it("that hangs up in the middle is asked for the rest", async () => {
    const misdeed = (number: number): object => (number <= 2 ? { cutAfter: 100_000 } : {});
    await importFrom(
      { misdeed },
      () => ({}),
      ({ status, lines }, { requests }, place) => {
        assert.equal(status, 0);
        assert.equal(requests.length, 3);
        assert.ok(lines.includes("the connection broke off and was continued"));
        checkDisk(place, imageDisk);
      },
    );
  });

  it("whose file went away in the middle fails the import, whose next attempt starts from nothing", async () => {
    const misdeed = (number: number): object => (number === 1 ? { cutAfter: 100_000 } : { status: 404 });
    await importFrom(
      { misdeed },
      () => ({}),
      ({ status, message }, _, place) => {
        assert.equal(status, 1);
        assert.match(message ?? "", /^Unable to process data: .*failed to pull image: .* \[SOURCE_NOT_FOUND\]$/);
        assert.deepEqual(leftIn(place), []);
      },
    );
  });

  it("that stalls is given up by the configured limit", async () => {
    const misdeed = (): object => ({ stallAfter: 100_000, ignoresRange: true });
    await importFrom(
      { misdeed },
      () => ({ DECANT_STALL_SECONDS: "0.2" }),
      ({ status, message }, _, place) => {
        assert.equal(status, 1);
        assert.match(message ?? "", /failed to pull image: /);
        assert.deepEqual(leftIn(place), []);
      },
    );
  });

  it("with a certificate of its own is trusted for a folder of any name, a proxy's too, or for no check at all", async () => {
    await withTemporaryFolder(async (keys) => {
      const authority = makeAuthority(keys);
      const { key, cert } = authority.issue("IP:127.0.0.1");
      const certs = path.join(keys, "certs");
      fs.mkdirSync(certs);
      fs.writeFileSync(path.join(certs, "my odd name"), authority.certificate);
      for (const [env, isTrusted] of [
        [{ IMPORTER_CERT_DIR: certs }, true],
        [{ IMPORTER_PROXY_CERT_DIR: certs }, true],
        [{ INSECURE_TLS: "true" }, true],
        [{}, false],
      ] as const) {
        await importFrom(
          { tls: { key, cert } },
          () => env,
          ({ status, message }) => {
            assert.equal(status, isTrusted ? 0 : 1, message);
            if (!isTrusted)
              assert.match(
                message ?? "",
                /^Unable to connect to http data source: HTTP request errored: .* \[SOURCE_TLS\]$/,
              );
          },
        );
      }
    });
  });

  it("is not reached by a name that nobody knows", async () => {
    const env = { IMPORTER_ENDPOINT: "http://decant.invalid/disk.img?key=hunter2", DECANT_CONTROLLER: "1" };
    await importFrom(
      {},
      () => env,
      ({ status, message, log }) => {
        assert.equal(status, 1);
        assert.match(
          message ?? "",
          /^Unable to connect to http data source: HTTP request errored: Get "http:\/\/decant\.invalid\/disk\.img": dial tcp: lookup decant\.invalid: no such host: .* \[SOURCE_UNAVAILABLE\]$/,
        );
        assert.doesNotMatch(log, /hunter2/);
      },
    );
  });
});

describe("nginx", { skip: requireTools("nginx") }, () => {
  it("gives its disk in one pass, and is told nothing by HEAD", async () => {
    await withPlace(async (place) => {
      fs.writeFileSync(path.join(place.folder, "disk.raw"), disk);
      await withNginx(place.folder, {}, async ({ port, log }) => {
        const env = { IMPORTER_SOURCE: "http", IMPORTER_ENDPOINT: `http://127.0.0.1:${port}/disk.raw` };
        const { status, message, log: said } = await runWorker(place, { env });
        assert.deepEqual([status, message], [0, COMPLETE], said);
        checkDisk(place, disk);
        assert.ok(log().every((line) => line.startsWith("GET ")));
      });
    });
  });
});

describe("a container beside the worker", { concurrency: 2 }, () => {
  const served = (files: Readonly<Record<string, Buffer>>): Partial<ServerSettings> => ({
    bytes: Buffer.alloc(0),
    misdeed: (_, { url }) => {
      const bytes = files[url ?? ""];
      return bytes === undefined ? { status: 404 } : { bytes };
    },
  });

  it("is waited for, asked for its labels, and told when all is done", async () => {
    const info = JSON.stringify({ env: ["INSTANCETYPE_KUBEVIRT_IO_DEFAULT_PREFERENCE=fedora", "PATH=/bin"] });
    const files = { "/my%20disk.img": image, "/info": Buffer.from(info) };
    const env = ({ origin }: MisbehavingServer, { folder }: WorkerPlace): Record<string, string> => {
      setTimeout(() => fs.writeFileSync(path.join(folder, "ready"), "my disk.img"), 300);
      return {
        IMPORTER_ENDPOINT: `${origin}/disk.img`,
        IMPORTER_PULL_METHOD: "node",
        IMPORTER_READY_FILE: path.join(folder, "ready"),
        IMPORTER_DONE_FILE: path.join(folder, "done"),
      };
    };
    await importFrom(served(files), env, ({ status, message, log }, _, place) => {
      assert.equal(status, 0, log);
      assert.equal(
        message,
        '{"scratchSpaceRequired":false,"preallocationApplied":false,' +
          '"labels":{"instancetype.kubevirt.io/default-preference":"fedora"},"message":"Import Complete"}',
      );
      assert.ok(fs.existsSync(path.join(place.folder, "done")));
      checkDisk(place, imageDisk);
    });
  });

  it("may have no labels, and is not told of a failure", async () => {
    for (const [files, status] of [
      [{ "/disk.img": image }, 0],
      [{}, 1],
    ] as const) {
      const env = ({ origin }: MisbehavingServer, { folder }: WorkerPlace): Record<string, string> => ({
        IMPORTER_ENDPOINT: `${origin}/disk.img`,
        IMPORTER_PULL_METHOD: "node",
        IMPORTER_DONE_FILE: path.join(folder, "done"),
      });
      await importFrom(served(files), env, (result, _, place) => {
        assert.equal(result.status, status, result.log);
        if (status === 0) assert.equal(result.message, COMPLETE);
        assert.equal(fs.existsSync(path.join(place.folder, "done")), status === 0);
      });
    }
  });
});
