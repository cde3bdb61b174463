/**
 * Progress on the metrics page, for the sources of which others show none: while half of the bytes are there, and no more
 * come, it says so.
 */
import assert from "node:assert/strict";
import fs from "node:fs";
import https from "node:https";
import { describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { baseDisk } from "../support/base-disk.ts";
import { buildImage, buildLayer, file } from "../support/build-image.ts";
import { buildTar } from "../support/build-tar.ts";
import { withServer } from "../support/misbehaving-server.ts";
import type { Misdeed } from "../support/misbehaving-server.ts";
import { freePort } from "../support/server-process.ts";
import { withStubRegistry } from "../support/stub-registry.ts";
import { withTemporaryFolder } from "../support/temporary-folder.ts";
import { leftIn, startWorker, workerPlace } from "../support/worker.ts";

const MIB = 1024 * 1024;
const disk = baseDisk(8 * MIB);
const half = (): Misdeed => ({ stallAfter: 4 * MIB, ignoresRange: true });

type Env = Readonly<Record<string, string>>;
type Serve = (use: (env: Env) => Promise<void>) => Promise<void>;

const over =
  (source: string, bytes: Buffer, more: Env = {}): Serve =>
  async (use) => {
    await withServer({ bytes, etag: '"v1"', misdeed: half }, async ({ origin }) => {
      await use({ IMPORTER_SOURCE: source, IMPORTER_ENDPOINT: `${origin}/bucket/disk`, ...more });
    });
  };

const registry: Serve = async (use) => {
  const image = buildImage([buildLayer([file("disk/disk.img", disk)], "none")], { architecture: "amd64" });
  const misdeed = (asked: string): Misdeed | undefined => {
    return asked.includes("/blobs/") && (image.blobs.get(asked.split("/").at(-1) ?? "")?.length ?? 0) > MIB
      ? half()
      : undefined;
  };
  await withStubRegistry({ images: { "disk:1": image }, misdeed }, async ({ host }) => {
    await use({ IMPORTER_SOURCE: "registry", IMPORTER_ENDPOINT: `docker://${host}/disk:1`, INSECURE_TLS: "true" });
  });
};

describe("progress", { concurrency: 2 }, () => {
  for (const [name, serve] of [
    ["S3", over("s3", disk)],
    ["Google Cloud Storage", over("gcs", disk)],
    ["a registry", registry],
    ["an archive", over("http", Buffer.from(buildTar([file("a", disk)])), { IMPORTER_CONTENTTYPE: "archive" })],
  ] as const) {
    it(`of ${name} is that of its bytes`, async () => {
      await withTemporaryFolder(async (folder) => {
        await serve(async (env) => {
          const place = workerPlace(folder);
          const port = await freePort();
          const own = { HOME: folder, OWNER_UID: "uid-1", DECANT_METRICS_PORT: String(port) };
          const { child, ended } = startWorker(place, { env: { ...env, ...own } });
          const seen: number[] = [];
          // The last blocks are on their way to the volume when they have come.
          while ((seen.at(-1) ?? 0) < 45 && child.exitCode === null) {
            await sleep(50);
            const percent = await askForProgress(port);
            if (percent !== undefined) seen.push(percent);
          }
          child.kill("SIGTERM");
          const { log } = await ended;
          assert.ok((seen.at(-1) ?? 0) >= 45 && (seen.at(-1) ?? 0) <= 51, `${String(seen)}; ${log}`);
          assert.deepEqual(
            seen,
            seen.toSorted((a, b) => a - b),
          );
          assert.equal(fs.existsSync(`${place.data}/disk.img`), false, String(leftIn(place)));
        });
      });
    });
  }
});

/** Undefined: there is no page yet. */
async function askForProgress(port: number): Promise<number | undefined> {
  return await new Promise((resolve) => {
    https
      .get({ port, host: "127.0.0.1", path: "/metrics", rejectUnauthorized: false, agent: false }, (response) => {
        let page = "";
        response.setEncoding("utf8").on("data", (text: string) => (page += text));
        response.on("end", () => {
          const percent = /^kubevirt_cdi_import_progress_total\{ownerUID="uid-1"\} (\d{1,3}\.?\d*)$/m.exec(page)?.[1];
          resolve(percent === undefined ? undefined : Number(percent));
        });
      })
      .on("error", () => resolve(undefined));
  });
}
