/**
 * How the worker ends when it imports over http, for every run that CDI's importer was seen to make (contract, section 11)
 * and those that we answer otherwise: termination message, exit status, lines of the log, what is left on the volume. Each
 * runs under any controller and under our own, where an error that no restart can mend ends with exit 0.
 */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import path from "node:path";
import { describe, it } from "node:test";
import zlib from "node:zlib";
import { baseDisk } from "../support/base-disk.ts";
import { buildQcow2 } from "../support/build-qcow2.ts";
import { buildTar } from "../support/build-tar.ts";
import { sampleBytes } from "../support/images.ts";
import { withServer } from "../support/misbehaving-server.ts";
import type { Misdeed } from "../support/misbehaving-server.ts";
import { withTemporaryFolder } from "../support/temporary-folder.ts";
import { leftIn, runWorker, workerPlace } from "../support/worker.ts";
import type { WorkerResult } from "../support/worker.ts";

const MIB = 1024 * 1024;
const disk = baseDisk(8 * MIB);
const image = sampleBytes("qcow2/zlib.qcow2");
const tar = Buffer.from(buildTar([{ name: "disk.raw", content: disk }]));
const imageDisk = sampleBytes("raw/patterned.raw");

/** Of a claim of 100Mi with an overhead of 0.06. */
const GROWN = 98_566_144;

const COMPLETE = '{"scratchSpaceRequired":false,"preallocationApplied":false,"message":"Import Complete"}';
const CONNECT = "Unable to connect to http data source: ";
const INFO = "Unable to process data: Unable to obtain information about data source: could not process image header: ";
const CONVERT = "Unable to process data: Unable to convert source data to target format: ";
const SCRATCH = "Unable to process data: Unable to transfer source data to scratch space: ";

interface Row {
  readonly name: string;
  readonly serve?: Buffer;
  readonly misdeed?: Misdeed;
  readonly env?: Readonly<Record<string, string>>;
  /** Of the message, before the code in brackets; a whole JSON where it starts with a brace; undefined: none. */
  readonly text: string | RegExp | undefined;
  readonly code?: string;
  /** Under our own controller exit 0 says that no restart helps. */
  readonly terminal?: true;
  /** Of disk.img; undefined: nothing is left. */
  readonly disk?: { readonly size: number; readonly starts: Buffer; readonly ownStarts?: Buffer };
  readonly log?: RegExp;
}

const md5 = createHash("md5").update(image).digest("hex");
const wrong = (length: number): string => "0".repeat(length);

const ROWS: readonly Row[] = [
  { name: "a compressed qcow2", serve: image, text: COMPLETE, disk: { size: GROWN, starts: imageDisk } },
  {
    name: "with preallocation",
    serve: image,
    env: { PREALLOCATION: "true" },
    text: COMPLETE.replace('Applied":false', 'Applied":true'),
    disk: { size: GROWN, starts: imageDisk },
  },
  { name: "raw", serve: disk, text: COMPLETE, disk: { size: GROWN, starts: disk } },
  { name: "raw.gz", serve: zlib.gzipSync(disk), text: COMPLETE, disk: { size: GROWN, starts: disk } },
  { name: "raw.zst", serve: zlib.zstdCompressSync(disk), text: COMPLETE, disk: { size: GROWN, starts: disk } },
  {
    name: "a body of 100 bytes",
    serve: disk.subarray(0, 100),
    text: COMPLETE,
    disk: { size: GROWN, starts: Buffer.concat([disk.subarray(0, 100), Buffer.alloc(412)]) },
  },
  {
    name: "no size asked for",
    serve: disk,
    env: { IMPORTER_IMAGE_SIZE: "" },
    text: COMPLETE,
    disk: { size: disk.length, starts: disk },
  },
  {
    name: "a tar as a disk",
    serve: tar,
    text: COMPLETE,
    disk: { size: GROWN, starts: tar, ownStarts: disk },
  },
  {
    name: "O_DIRECT asked for",
    serve: disk,
    env: { CACHE_MODE: "TRYNONE" },
    text: COMPLETE,
    disk: { size: GROWN, starts: disk },
  },
  {
    name: "a wrong content type",
    serve: image,
    misdeed: { headers: { "content-type": "text/plain; charset=utf-8" } },
    text: COMPLETE,
    disk: { size: GROWN, starts: imageDisk },
    log: /Unexpected content type 'text\/plain; charset=utf-8'\. Content might not be a KubeVirt image\./,
  },
  {
    name: "the right checksum",
    serve: image,
    env: { IMPORTER_CHECKSUM: ` MD5:${md5.toUpperCase()}` },
    text: COMPLETE,
    disk: { size: GROWN, starts: imageDisk },
    log: new RegExp(`Checksum verification passed: md5:${md5}`),
  },
  {
    name: "404",
    misdeed: { status: 404 },
    text: `${CONNECT}expected status code 200, got 404. Status: 404 Not Found`,
    code: "SOURCE_NOT_FOUND",
  },
  {
    name: "401, with another password",
    misdeed: { status: 401, headers: { "www-authenticate": 'Basic realm="images"' } },
    env: { IMPORTER_ACCESS_KEY_ID: "me", IMPORTER_SECRET_KEY: "hunter2" },
    text: `${CONNECT}expected status code 200, got 401. Status: 401 Unauthorized`,
    code: "SOURCE_DENIED",
  },
  {
    name: "403",
    misdeed: { status: 403 },
    text: `${CONNECT}expected status code 200, got 403. Status: 403 Forbidden`,
    code: "SOURCE_DENIED",
  },
  {
    name: "no endpoint",
    env: { IMPORTER_ENDPOINT: "" },
    text: `${CONNECT}unable to parse endpoint "": endpoint "IMPORTER_ENDPOINT" is missing or blank`,
    code: "USAGE",
    terminal: true,
  },
  {
    name: "an endpoint that is no URL",
    env: { IMPORTER_ENDPOINT: "://me:hunter2@" },
    text: `${CONNECT}the URL of the source cannot be read`,
    code: "USAGE",
    terminal: true,
  },
  {
    name: "a folder of certificates that is not there",
    env: { IMPORTER_CERT_DIR: "/nowhere/certs" },
    text: `${CONNECT}there is no folder /nowhere/certs with certificates. Mount it, or leave IMPORTER_CERT_DIR out.`,
    code: "USAGE",
    terminal: true,
  },
  {
    name: "a qcow2 of 16 TiB",
    serve: buildQcow2({ size: 2 ** 44 }),
    text: new RegExp(
      `^${CONVERT}virtual image size 17592186044416 is larger than the reported available storage 104857600\\. A larger PVC is required: ` +
        "the volume has \\d+ bytes free of 104857600 claimed, 98566144 usable at an overhead of 0\\.06, " +
        "17592081186816 more are needed, and a claim of 17783849Mi would work$",
    ),
    code: "TARGET_TOO_SMALL",
    terminal: true,
  },
  {
    name: "a raw image larger than the volume",
    serve: Buffer.alloc(9 * MIB, 1),
    env: { IMPORTER_IMAGE_SIZE: "8Mi" },
    text: /virtual image size (of at least 9436672|9437184) is larger than the reported available storage 8388608\. A larger PVC is required: .* would work$/,
    code: "TARGET_TOO_SMALL",
    terminal: true,
  },
  {
    name: "a raw.gz that outgrows the volume",
    serve: zlib.gzipSync(Buffer.alloc(32 * MIB, 1)),
    env: { IMPORTER_IMAGE_SIZE: "8Mi" },
    text: /virtual image size of at least \d+ is larger than the reported available storage 8388608\. A larger PVC is required/,
    code: "TARGET_TOO_SMALL",
    terminal: true,
  },
  {
    name: "a hostile L1 table",
    serve: hostileTables(),
    text: new RegExp(`^${CONVERT}L1 size too big: `),
    code: "FORMAT_OUT_OF_BOUNDS",
    terminal: true,
  },
  {
    name: "a backing file",
    serve: sampleBytes("qcow2/backing-file.qcow2"),
    text: new RegExp(`^${CONVERT}.*backing file`),
    code: "FORMAT_UNSUPPORTED",
    terminal: true,
  },
  {
    name: "a web page",
    serve: Buffer.from("<!DOCTYPE html>\n<html><body>Log in</body></html>\n"),
    text: new RegExp(`^${INFO}http://[\\d.:]+/image is a web page, not a disk image`),
    code: "FORMAT_UNRECOGNISED",
    terminal: true,
  },
  {
    name: "an empty body",
    serve: Buffer.alloc(0),
    text: new RegExp(`^${INFO}http://[\\d.:]+/image is empty`),
    code: "SOURCE_TRUNCATED",
  },
  {
    name: "damaged data",
    serve: damagedCluster(),
    text: new RegExp(`^${CONVERT}`),
    code: "FORMAT_CORRUPT",
    terminal: true,
  },
  ...(["md5", "sha1", "sha256", "sha512"] as const).map((algorithm): Row => {
    const actual = createHash(algorithm).update(image).digest("hex");
    const expected = wrong(actual.length);
    return {
      name: `a wrong ${algorithm}`,
      serve: image,
      env: { IMPORTER_CHECKSUM: `${algorithm}:${expected}` },
      text: `${SCRATCH}checksum validation failed: checksum mismatch: expected ${algorithm}:${expected}, calculated ${algorithm}:${actual}`,
      code: "SOURCE_CHECKSUM",
      terminal: true,
    };
  }),
  {
    name: "a malformed checksum",
    env: { IMPORTER_CHECKSUM: `sha256:${wrong(65)}` },
    text: `${CONNECT}invalid checksum: invalid sha256 hash length: expected 64 hex characters, got 65`,
    code: "USAGE",
    terminal: true,
  },
  { name: "PREALLOCATION=maybe", env: { PREALLOCATION: "maybe" }, text: undefined, code: "USAGE", terminal: true },
  {
    name: "IMPORTER_IMAGE_SIZE=xx",
    env: { IMPORTER_IMAGE_SIZE: "xx" },
    text: undefined,
    code: "USAGE",
    terminal: true,
  },
  {
    name: "an unknown content type",
    env: { IMPORTER_CONTENTTYPE: "Archive" },
    text: "Unknown content type: Archive",
    code: "USAGE",
    terminal: true,
  },
  {
    name: "an unknown source",
    env: { IMPORTER_SOURCE: "glance" },
    text: "Unknown data source: glance",
    code: "USAGE",
    terminal: true,
  },
  {
    name: "a container image as an archive",
    env: { IMPORTER_SOURCE: "registry", IMPORTER_CONTENTTYPE: "archive" },
    text: undefined,
    code: "USAGE",
    terminal: true,
  },
  {
    name: "no image at all",
    env: { IMPORTER_SOURCE: "none" },
    text: '{"preallocationApplied":false,"message":"Import Complete"}',
    disk: { size: GROWN, starts: Buffer.alloc(4096) },
  },
  {
    name: "no image, as an archive",
    env: { IMPORTER_SOURCE: "none", IMPORTER_CONTENTTYPE: "archive" },
    text: "Cannot create empty disk with content type archive",
    code: "USAGE",
    terminal: true,
  },
];

describe("the worker over http", { concurrency: 3 }, () => {
  for (const row of ROWS) {
    // A success is the same for every controller, but for what is taken for a disk.
    const variants = row.code === undefined && row.disk?.ownStarts === undefined ? [false] : [false, true];
    for (const own of variants) {
      it(`${row.name}${own ? ", for our own controller" : ""}`, async () => await check(row, own));
    }
  }
});

async function check(row: Row, own: boolean): Promise<void> {
  await withTemporaryFolder(async (folder) => {
    const place = workerPlace(folder);
    const { serve = image, misdeed } = row;
    const result = await withServer({ bytes: serve, etag: '"v1"', misdeed: () => misdeed }, async ({ origin }) => {
      const endpoint = `${origin}/image?signature=hunter2`;
      const env = { IMPORTER_SOURCE: "http", IMPORTER_ENDPOINT: endpoint, IMPORTER_IMAGE_SIZE: "100Mi", ...row.env };
      return await runWorker(place, { env: { ...env, ...(own ? { DECANT_CONTROLLER: "1" } : {}) } });
    });
    assert.doesNotMatch(result.log + (result.message ?? ""), /hunter2/);
    checkEnding(row, own, result);
    if (row.log !== undefined) assert.match(result.lines.join("\n"), row.log);
    if (row.disk === undefined) {
      assert.deepEqual(leftIn(place), []);
      return;
    }
    assert.deepEqual(leftIn(place), ["disk.img"]);
    const file = path.join(place.data, "disk.img");
    const stat = statSync(file);
    assert.equal(stat.size, row.disk.size);
    assert.equal((stat.mode & 0o777).toString(8), "660");
    const { starts, ownStarts } = row.disk;
    const expected = own ? (ownStarts ?? starts) : starts;
    const bytes = readFileSync(file);
    assert.ok(bytes.subarray(0, expected.length).equals(expected), "the disk is another");
    assert.ok(
      bytes.subarray(expected.length).equals(Buffer.alloc(bytes.length - expected.length)),
      "the rest is no zeros",
    );
    const allocated = stat.blocks * 512;
    if (row.env?.["PREALLOCATION"] === "true") assert.ok(allocated >= stat.size, `${allocated} bytes are allocated`);
    else assert.ok(allocated < expected.length + MIB, `${allocated} bytes are allocated`);
    const line = `Successfully completed fsync(${file}) syscall, committed to disk`;
    assert.ok(result.lines.includes(line), result.log);
  });
}

function checkEnding(row: Row, own: boolean, { status, message, log }: WorkerResult): void {
  const { text, code, terminal } = row;
  if (code === undefined) {
    assert.deepEqual([status, message], [0, text], log);
    return;
  }
  const isOver = code === "SOURCE_CHECKSUM" || (own && terminal === true);
  assert.equal(status, isOver ? 0 : 1, log);
  if (text === undefined && !isOver) {
    assert.equal(message, undefined);
    return;
  }
  const fields = isOver ? (JSON.parse(message ?? "") as Record<string, unknown>) : { message };
  assert.deepEqual({ ...fields, message: "" }, { message: "", ...(own && isOver ? { code, terminal: true } : {}) });
  const shown = String(fields["message"]);
  assert.ok(shown.endsWith(` [${code}]`), shown);
  const sentence = shown.slice(0, -` [${code}]`.length);
  if (typeof text === "string") assert.equal(sentence, text);
  else if (text !== undefined) assert.match(sentence, text);
}

/** An L1 table of 2^32 - 1 entries. */
function hostileTables(): Buffer {
  const bytes = buildQcow2({ size: 2 ** 30 });
  bytes.writeUInt32BE(0xffff_ffff, 36);
  return bytes;
}

/** A raw disk in a gzip whose last bytes are others. */
function damagedCluster(): Buffer {
  const bytes = zlib.gzipSync(disk);
  bytes.writeUInt32LE(0, bytes.length - 8);
  return bytes;
}
