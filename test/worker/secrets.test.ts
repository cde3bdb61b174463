/**
 * No secret shows, whatever goes wrong: each way that a secret comes in by (the carriers) meets failures of every kind, at
 * the highest log level. Looked at is everything that is printed, the termination message, the metrics page, and every file
 * that stays; and the servers' side, to see that the secret was used at all. Servers repeat in their refusals what they were
 * sent.
 */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import fs from "node:fs";
import https from "node:https";
import os from "node:os";
import path from "node:path";
import { after, before, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import zlib from "node:zlib";
import { baseDisk } from "../support/base-disk.ts";
import { withTmpfs } from "../support/loop-device.ts";
import { freePort } from "../support/server-process.ts";
import { CARRIERS, isConvert, makeCertificates, SIGNED } from "../support/secret-carriers.ts";
import type { Carrier, Certificates, Env, Failure, Served } from "../support/secret-carriers.ts";
import { allTextIn, secretFor, secretsIn } from "../support/secrets.ts";
import { startDecant, until } from "../support/start-decant.ts";
import { withTemporaryFolder } from "../support/temporary-folder.ts";
import { requireRoot, requireTools } from "../support/tools.ts";
import { startWorker, workerPlace } from "../support/worker.ts";

const MIB = 1024 * 1024;
const disk = baseDisk(8 * MIB);
const dense = Buffer.alloc(8 * MIB, 1);
const damaged = zlib.gzipSync(disk);
damaged.writeUInt32LE(0, damaged.length - 8);
const wrong = createHash("sha256").update("another image").digest("hex");

/** With all that was sent, as services do that explain themselves. */
function refusal(status: number): NonNullable<Failure["misdeed"]> {
  return (_, { url, headers }) => {
    const sent = `${url} ${headers.authorization} ${JSON.stringify(headers)}`;
    const xml = `<Error><Code>E${status}</Code><Message>${sent.replaceAll(/[<&]/g, "")}</Message></Error>`;
    const json = JSON.stringify({ errors: [{ code: "DENIED", message: sent, detail: sent }] });
    return { status, bytes: Buffer.from(url?.startsWith("/v2/") === true ? json : xml) };
  };
}

const FAILURES: readonly Failure[] = [
  { name: "404", codes: ["SOURCE_NOT_FOUND", "SOURCE_UNAVAILABLE"], misdeed: refusal(404), args: [] },
  { name: "401", codes: ["SOURCE_DENIED", "SOURCE_UNAVAILABLE"], misdeed: refusal(401), args: [] },
  { name: "403", codes: ["SOURCE_DENIED", "SOURCE_UNAVAILABLE"], misdeed: refusal(403), args: [] },
  { name: "500", codes: ["SOURCE_UNAVAILABLE"], misdeed: refusal(500), args: [] },
  { name: "a stranger's certificate", codes: ["SOURCE_TLS"], hasStrangersCertificate: true, args: [] },
  {
    name: "redirects in a circle",
    codes: ["SOURCE_UNAVAILABLE"],
    misdeed: () => ({ status: 302, headers: { location: `/elsewhere${SIGNED}` } }),
    args: [],
  },
  {
    name: "a signed redirect that has expired",
    // The proxied one was to be encrypted.
    codes: ["SOURCE_DENIED", "SOURCE_UNAVAILABLE", "SOURCE_TLS"],
    misdeed: (number, request) => {
      if (request.url?.startsWith("/elsewhere") === true) return refusal(403)(number, request);
      const { port } = new URL(`http://${request.headers.host}`);
      return { status: 307, headers: { location: `http://localhost:${port}/elsewhere${SIGNED}` } };
    },
    args: [],
  },
  {
    name: "a cut, and then it is gone",
    codes: ["SOURCE_NOT_FOUND", "SOURCE_TRUNCATED", "SOURCE_UNAVAILABLE"],
    misdeed: (number, request) => (number === 1 ? { cutAfter: 50_000, resets: true } : refusal(404)(number, request)),
    args: [],
  },
  {
    name: "a stall",
    codes: ["SOURCE_UNAVAILABLE"],
    misdeed: () => ({ stallAfter: 20_000 }),
    env: { DECANT_STALL_SECONDS: "0.1" },
    args: ["--stall-timeout", "0.1"],
  },
  {
    name: "a wrong checksum",
    codes: ["SOURCE_CHECKSUM"],
    env: { IMPORTER_CHECKSUM: `sha256:${wrong}` },
    args: ["--checksum", `sha256:${wrong}`],
  },
  { name: "a damaged image", codes: ["FORMAT_CORRUPT"], bytes: damaged, args: [] },
  { name: "a volume too small", codes: ["TARGET_TOO_SMALL"], env: { IMPORTER_IMAGE_SIZE: "1Mi" }, args: undefined },
  { name: "a full volume", codes: ["TARGET_NO_SPACE"], bytes: dense, hasFullVolume: true, args: [] },
  {
    name: "SIGTERM",
    codes: [],
    misdeed: () => ({ stallAfter: 3 * MIB, ignoresRange: true }),
    isKilled: true,
    args: [],
  },
  { name: "another password of the proxy", codes: ["SOURCE_DENIED"], proxyPassword: "another", args: [] },
];

/** For each carrier. */
const FAILURES_EACH = 4;

/** Four failures for each carrier, and others for the next one; and all pairs of those that are few. */
const PAIRS = CARRIERS.flatMap((carrier, c) => {
  const possible = FAILURES.filter(({ name, args }) => {
    return carrier.without?.includes(name) !== true && (args !== undefined || !isConvert(carrier));
  });
  return possible.flatMap((failure, f) => {
    const turn = (f - c * FAILURES_EACH + possible.length * c) % possible.length;
    const isChosen = turn < FAILURES_EACH || failure.proxyPassword !== undefined;
    return isChosen ? [{ carrier, failure, own: (c + f) % 2 === 1 }] : [];
  });
});

let keys = "";
let certificates: Certificates | undefined;
before(() => {
  keys = fs.mkdtempSync(path.join(os.tmpdir(), "decant-keys-"));
  certificates = makeCertificates(keys);
});
after(() => fs.rmSync(keys, { recursive: true, force: true }));

describe("no secret shows", { skip: requireTools("openssl"), concurrency: 6 }, () => {
  for (const { carrier, failure, own } of PAIRS) {
    const skip = failure.hasFullVolume === true && requireRoot();
    it(`${carrier.name}; ${failure.name}`, { skip }, async () => await check(carrier, failure, own));
  }

  it("because it would be found, however it is written", () => {
    const secret = secretFor("x");
    const basic = Buffer.from(`somebody:${secret}`);
    const forms = [encodeURIComponent(secret), JSON.stringify(secret), secret.slice(0, 8), basic.toString("hex")];
    const coded = ["", "m", "me"].flatMap((user) => {
      const bytes = Buffer.from(`${user}:${secret}`);
      return [bytes.toString("base64"), bytes.toString("base64url")];
    });
    for (const form of [secret, ...forms, ...coded]) assert.equal(secretsIn(`<${form}>`).length, 1, form);
    assert.deepEqual(secretsIn("no secret", ["a secret"]), []);
  });

  it("of any carrier in four failures, nor in any failure of fewer than two carriers", () => {
    for (const carrier of CARRIERS) {
      assert.ok(PAIRS.filter((pair) => pair.carrier === carrier).length >= FAILURES_EACH, carrier.name);
    }
    for (const failure of FAILURES) {
      assert.ok(PAIRS.filter((pair) => pair.failure === failure).length >= 2, failure.name);
    }
  });
});

async function check(carrier: Carrier, failure: Failure, own: boolean): Promise<void> {
  await withTemporaryFolder(async (folder) => {
    const [inputs, work] = ["inputs", "work"].map((name) => path.join(folder, name)) as [string, string];
    for (const place of [inputs, work]) fs.mkdirSync(place);
    const onVolume = async (data: string): Promise<void> => {
      assert.ok(certificates !== undefined);
      await carrier.serve(filling(failure, data), { folder: inputs, certificates }, async (served) => {
        const controller: Env = own ? { DECANT_CONTROLLER: "1" } : {};
        const { said, status } = await runProgram(
          { ...served, env: { ...served.env, ...failure.env, ...controller } },
          failure,
          work,
          data,
        );
        if (failure.isKilled === true) assert.ok(status === 143 || status === 130, `${status}: ${said}`);
        else
          assert.ok(
            failure.codes.some((code) => said.includes(code)),
            said,
          );
        const others = served.secrets?.() ?? [];
        assert.deepEqual(secretsIn(said, others), [], "what was said");
        assert.doesNotMatch(said, /\*\*\*/, "what only the last net has held back");
        assert.deepEqual(secretsIn(allTextIn(work) + allTextIn(data), others), [], "what was left");
        if (failure.hasStrangersCertificate === true && failure.proxyPassword === undefined) return;
        const seen = served.seen();
        assert.ok(secretsIn(seen, others).length > 0, "no secret was used");
        if (failure.proxyPassword === undefined) assert.match(seen, carrier.sends ?? /./);
      });
    };
    if (failure.hasFullVolume === true) await withTmpfs(12 * MIB, onVolume);
    else await onVolume(fs.mkdtempSync(path.join(work, "data-")));
  });
}

/** Takes the room, once the image is asked for: the volume was measured before. */
function filling(failure: Failure, data: string): Failure {
  if (failure.hasFullVolume !== true) return failure;
  const misdeed = (number: number): undefined => {
    if (number === 1) fs.writeFileSync(path.join(data, "filler"), Buffer.alloc(8 * MIB, 2));
  };
  return { ...failure, misdeed };
}

interface Ran {
  readonly status: number | null;
  /** All that was printed, the termination message, and the metrics page. */
  readonly said: string;
}

async function runProgram(served: Served, failure: Failure, work: string, data: string): Promise<Ran> {
  const temporary = path.join(work, "tmp");
  fs.mkdirSync(temporary);
  const port = await freePort();
  const env = { HOME: work, TMPDIR: temporary, DECANT_METRICS_PORT: String(port), ...served.env };
  let page = "";
  const killed = async (child: { kill: (signal: "SIGTERM") => boolean }, isWorker: boolean): Promise<void> => {
    if (failure.isKilled !== true) return;
    await until(() => secretsIn(served.seen(), served.secrets?.()).length > 0);
    if (isWorker) page = await metricsPage(port);
    child.kill("SIGTERM");
  };
  if (served.args === undefined) {
    const { child, ended } = startWorker(workerPlace(work, { data }), { env, args: ["-v=9", "--explain"] });
    await killed(child, true);
    const { status, stdout, log, message = "" } = await ended;
    return { status, said: [stdout, log, message, page].join("\n") };
  }
  const args = ["convert", "--json", ...(failure.args ?? []), ...served.args, path.join(data, "disk.raw")];
  const { child, ended } = startDecant(args, { env, cwd: work });
  await killed(child, false);
  const { status, stdout, stderr } = await ended;
  return { status, said: [stdout, stderr].join("\n") };
}

/** Asks until there is one. */
async function metricsPage(port: number): Promise<string> {
  for (let tries = 0; ; tries++) {
    try {
      return await new Promise((resolve, reject) => {
        const options = { port, host: "127.0.0.1", rejectUnauthorized: false };
        https
          .get(options, (response) => {
            let page = "";
            response.setEncoding("utf8").on("data", (text: string) => (page += text));
            response.on("end", () => resolve(page));
          })
          .on("error", reject);
      });
    } catch (error) {
      if (tries === 100) throw error;
      await sleep(100);
    }
  }
}
