/**
 * SIGTERM, at every stage of an import: the worker ends with 143 within two seconds, says nothing, and leaves nothing. The
 * start and the middle of a transfer are in process.test.ts.
 */
import assert from "node:assert/strict";
import fs from "node:fs";
import type { IncomingMessage } from "node:http";
import path from "node:path";
import { describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { baseDisk } from "../support/base-disk.ts";
import { buildTar } from "../support/build-tar.ts";
import { sampleBytes } from "../support/images.ts";
import { withServer } from "../support/misbehaving-server.ts";
import type { MisbehavingServer, Misdeed, ServerSettings } from "../support/misbehaving-server.ts";
import { until } from "../support/start-decant.ts";
import { withTemporaryFolder } from "../support/temporary-folder.ts";
import { leftIn, startWorker, workerPlace } from "../support/worker.ts";
import type { StartedWorker, WorkerPlace, WorkerResult } from "../support/worker.ts";

const MIB = 1024 * 1024;
const disk = baseDisk(16 * MIB);
const image = sampleBytes("qcow2/zlib.qcow2");

/** The contract's two seconds, and what a busy machine takes besides. */
const MAX_STOP_MS = 2000 + 1500;

interface Stage {
  readonly name: string;
  readonly server?: Partial<ServerSettings>;
  readonly env: (server: MisbehavingServer, place: WorkerPlace) => Readonly<Record<string, string>>;
  /** Whether the worker is there. */
  readonly reached: (server: MisbehavingServer, place: WorkerPlace) => boolean;
}

const web = ({ origin }: MisbehavingServer): Readonly<Record<string, string>> => ({
  IMPORTER_SOURCE: "http",
  IMPORTER_ENDPOINT: `${origin}/disk.img`,
});

const silent = (): Misdeed => ({ stallAfter: 0 });
const wasAsked = ({ requests }: MisbehavingServer): boolean => requests.length > 0;

const STAGES: readonly Stage[] = [
  {
    name: "while it waits to ask a server again that is overloaded",
    server: { misdeed: () => ({ status: 503, headers: { "retry-after": "60" } }) },
    env: web,
    reached: wasAsked,
  },
  {
    name: "while it proves that a server has ranges",
    server: { bytes: disk, misdeed: (number) => (number > 1 ? { stallAfter: 0 } : undefined) },
    env: web,
    reached: ({ requests }) => requests.length > 1,
  },
  {
    name: "while ranges come",
    server: { bytes: disk, misdeed: (number) => (number > 3 ? { stallAfter: 1000 } : undefined) },
    env: web,
    reached: ({ requests }) => requests.length > 4,
  },
  {
    name: "while a container image is asked for",
    server: { misdeed: silent },
    env: ({ origin }) => ({
      IMPORTER_SOURCE: "registry",
      IMPORTER_ENDPOINT: `${origin.replace("http", "docker")}/disks/fedora:41`,
    }),
    reached: wasAsked,
  },
  {
    name: "while an object is asked for",
    server: { misdeed: silent },
    env: ({ origin }) => ({
      IMPORTER_SOURCE: "s3",
      IMPORTER_ENDPOINT: `${origin}/bucket/key`,
      IMPORTER_ACCESS_KEY_ID: "key",
      IMPORTER_SECRET_KEY: "secret",
    }),
    reached: wasAsked,
  },
  {
    name: "while a hypervisor is asked for",
    server: { misdeed: silent },
    env: ({ origin }) => ({
      IMPORTER_SOURCE: "imageio",
      IMPORTER_ENDPOINT: `${origin}/ovirt-engine/api`,
      IMPORTER_DISK_ID: "disk-1",
      IMPORTER_ACCESS_KEY_ID: "me",
      IMPORTER_SECRET_KEY: "secret",
    }),
    reached: wasAsked,
  },
];

async function atStage(
  { server: settings, env, reached }: Omit<Stage, "name">,
  act: (worker: StartedWorker, place: WorkerPlace) => Promise<void> | void,
  check: (result: WorkerResult, place: WorkerPlace) => void,
): Promise<void> {
  await withTemporaryFolder(async (folder) => {
    const place = workerPlace(folder);
    await withServer({ bytes: image, etag: '"v1"', ...settings }, async (server) => {
      const worker = startWorker(place, { env: { HOME: folder, ...env(server, place) } });
      await until(() => reached(server, place));
      const started = Date.now();
      await act(worker, place);
      const result = await worker.ended;
      const stopMs = Date.now() - started;
      assert.ok(stopMs < MAX_STOP_MS, `${stopMs} ms; ${result.log}`);
      check(result, place);
    });
  });
}

function terminate({ child }: StartedWorker): void {
  child.kill("SIGTERM");
}

function checkStopped({ status, signal, message, log }: WorkerResult): void {
  assert.deepEqual([status, signal, message], [143, null, undefined], log);
  assert.doesNotMatch(log, /"level":"error"/);
}

describe("SIGTERM", { concurrency: 2 }, () => {
  for (const { name, ...stage } of STAGES) {
    it(`${name}: stops, leaves nothing, says nothing`, async () => {
      await atStage(stage, terminate, (result, place) => {
        checkStopped(result);
        assert.deepEqual(leftIn(place), []);
      });
    });
  }

  it("while the file that says ready is waited for: stops, and makes none that says done", async () => {
    await withTemporaryFolder(async (folder) => {
      const place = workerPlace(folder);
      fs.writeFileSync(path.join(place.data, "disk.img"), "old");
      await withServer({ bytes: image }, async (server) => {
        const [ready, done] = [path.join(folder, "ready"), path.join(folder, "done")];
        const env = { ...web(server), IMPORTER_READY_FILE: ready, IMPORTER_DONE_FILE: done };
        const { child, ended } = startWorker(place, { env });
        // The old disk goes just before the wait.
        await until(() => leftIn(place).length === 0);
        await sleep(100);
        child.kill("SIGTERM");
        checkStopped(await ended);
        assert.deepEqual(leftIn(place), []);
        assert.equal(fs.existsSync(done), false);
      });
    });
  });

  it("while an archive comes: stops, and what is unpacked is for the next attempt to replace", async () => {
    const bytes = Buffer.from(
      buildTar([
        { name: "first", content: Buffer.alloc(MIB, 1) },
        { name: "second", content: Buffer.alloc(4 * MIB, 2) },
      ]),
    );
    const stage = {
      server: { bytes, misdeed: () => ({ stallAfter: 3 * MIB, ignoresRange: true }) },
      env: (server: MisbehavingServer) => ({ ...web(server), IMPORTER_CONTENTTYPE: "archive" }),
      reached: (_: MisbehavingServer, place: WorkerPlace) => leftIn(place).includes("first"),
    };
    await atStage(stage, terminate, checkStopped);
  });

  it("while the labels are asked for: the disk is there, so it is told without them", async () => {
    const stage = {
      server: { misdeed: (_: number, { url }: IncomingMessage) => (url === "/info" ? { stallAfter: 0 } : undefined) },
      env: (server: MisbehavingServer) => ({ ...web(server), IMPORTER_PULL_METHOD: "node" }),
      reached: ({ requests }: MisbehavingServer) => requests.some(({ path: asked }) => asked === "/info"),
    };
    await atStage(stage, terminate, ({ status, message, log }, place) => {
      assert.equal(status, 0, log);
      assert.match(message ?? "", /"message":"Import Complete"/);
      assert.deepEqual(leftIn(place), ["disk.img"]);
    });
  });

  it("a second time: ends at once, also with 143", async () => {
    const stage = { server: { misdeed: silent }, env: web, reached: wasAsked };
    const twice = async (worker: StartedWorker): Promise<void> => {
      terminate(worker);
      await sleep(5); // or the kernel makes one of them
      terminate(worker);
    };
    await atStage(stage, twice, ({ status, signal }) => assert.deepEqual([status, signal], [143, null]));
  });
});
