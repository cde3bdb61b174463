/**
 * Servers that misbehave, through the whole command: what comes of it, the exit status, the sentence, and what is left behind.
 *
 * Each row is served as a stream (gzip) and, where it makes a difference, in ranges (raw with a strong ETag).
 */
import assert from "node:assert/strict";
import fs from "node:fs";
import type { IncomingMessage } from "node:http";
import path from "node:path";
import { describe, it } from "node:test";
import { gzipSync } from "node:zlib";
import * as convert from "../../cmd/convert.ts";
import type { ConvertResult } from "../../cmd/convert.ts";
import { baseDisk } from "../support/base-disk.ts";
import { runCommand } from "../support/command-io.ts";
import { withServer } from "../support/misbehaving-server.ts";
import type { MisbehavingServer, Misdeed, ServerSettings } from "../support/misbehaving-server.ts";
import { withTemporaryFolder } from "../support/temporary-folder.ts";

const MIB = 1024 * 1024;
const disk = baseDisk(3 * MIB);
const BODIES = { stream: gzipSync(disk, { level: 0 }), ranges: disk } as const;

type Way = keyof typeof BODIES;

interface Row {
  readonly what: string;
  readonly ways?: readonly Way[];
  readonly server: (way: Way) => Partial<ServerSettings>;
  readonly args?: readonly string[];
  /** Undefined: it succeeds, and the disk is right. */
  readonly fails?: { readonly exit: number; readonly code: string; readonly words: RegExp };
  readonly check?: (server: MisbehavingServer, result: ConvertResult | undefined, way: Way) => void;
}

const LENGTH = BODIES.stream.length;

const OTHER_RANGE: Misdeed = { headers: { "content-range": `bytes 5-${LENGTH - 1}/${LENGTH}` } };

/** A misdeed for requests of these numbers, from 1 on. */
function inRequest(wrong: (number: number) => boolean, misdeed: Misdeed): Pick<ServerSettings, "misdeed"> {
  return { misdeed: (number) => (wrong(number) ? misdeed : undefined) };
}

const inRanges =
  (misdeed: Misdeed) =>
  (_: number, { headers }: IncomingMessage) =>
    headers.range === undefined ? undefined : misdeed;

/** The first answer breaks off, and the later ones are wrong. */
const afterCut = (misdeed: Misdeed, first: Misdeed = { cutAfter: MIB }) => ({
  misdeed: (number: number) => (number === 1 ? first : misdeed),
});

const unavailable = (words: RegExp) => ({ exit: 5, code: "SOURCE_UNAVAILABLE", words });

const rows: readonly Row[] = [
  {
    what: "cuts every answer after 700 kB",
    server: () => ({ misdeed: () => ({ cutAfter: 700_000 }) }),
    check: (_, result) => assert.ok((result?.resumes ?? 0) >= 3, String(result?.resumes)),
  },
  {
    what: "cuts every answer before its first byte",
    server: () => ({ misdeed: () => ({ cutAfter: 0 }) }),
    fails: { exit: 5, code: "SOURCE_TRUNCATED", words: /broke off/ },
  },
  {
    what: "falls silent in one answer, the socket open",
    server: () => inRequest((number) => number === 2 || number === 1, { stallAfter: 700_000 }),
    args: ["--stall-timeout", "2"],
    check: (_, result, way) => assert.ok(way === "ranges" || (result?.resumes ?? 0) === 2, String(result?.resumes)),
  },
  {
    what: "never says a word",
    ways: ["stream"],
    server: () => ({ misdeed: () => ({ stallAfter: 0 }) }),
    args: ["--stall-timeout", "0.2"],
    fails: unavailable(/gave no byte for 0\.2 seconds/),
  },
  {
    what: "answers 503 three times out of four",
    server: () => inRequest((number) => number % 4 !== 0, { status: 503 }),
  },
  {
    what: "answers 503 for ever",
    ways: ["stream"],
    server: () => ({ misdeed: () => ({ status: 503, headers: { "retry-after": "0" } }) }),
    fails: unavailable(/answers 503 Service Unavailable/),
    check: (server) => assert.equal(server.requests.length, 6),
  },
  { what: "answers 416 to every range", ways: ["ranges"], server: () => ({ misdeed: inRanges({ status: 416 }) }) },
  {
    what: "answers 416 where it cut",
    ways: ["stream"],
    server: () => ({ misdeed: (number) => (number % 2 === 1 ? { cutAfter: MIB } : { status: 416 }) }),
    fails: { exit: 5, code: "SOURCE_CHANGED", words: /does not reach byte \d+ any more/ },
  },
  {
    what: "sends everything where a range was asked for",
    ways: ["ranges"],
    server: () => ({ misdeed: inRanges({ ignoresRange: true }) }),
  },
  {
    what: "sends everything where it was to continue, which is begun anew once",
    ways: ["stream"],
    server: () => afterCut({ ignoresRange: true }),
    check: (server) => assert.equal(server.requests.length, 3),
  },
  {
    what: "sends everything and cuts it again and again",
    ways: ["stream"],
    server: () => ({ misdeed: () => ({ ignoresRange: true, cutAfter: MIB }) }),
    fails: { exit: 5, code: "SOURCE_TRUNCATED", words: /its server cannot continue where it did/ },
    check: (server) => assert.ok(server.requests.length <= 6, "begun anew, but not for ever"),
  },
  {
    what: "has another file by the second request, which is poured from its start",
    server: () => ({
      etag: '"new"',
      misdeed: (number: number) => (number === 1 ? { headers: { etag: '"old"' }, cutAfter: MIB } : undefined),
    }),
  },
  {
    what: "has another file with every request",
    server: () => ({ misdeed: (number) => ({ headers: { etag: `"${number}"` }, cutAfter: MIB }) }),
    fails: { exit: 5, code: "SOURCE_CHANGED", words: /changed while it was read: it is another file than before/ },
  },
  { what: "does not say the length", server: () => ({ misdeed: () => ({ framing: "chunked" }) }) },
  { what: "ends by closing", ways: ["stream"], server: () => ({ misdeed: () => ({ framing: "until-closed" }) }) },
  {
    what: "redirects in a circle",
    ways: ["stream"],
    server: () => ({
      misdeed: (_, { url }) => ({ status: 302, headers: { location: url === "/a" ? "/disk?sig=hunter2" : "/a" } }),
    }),
    fails: unavailable(/redirects in a circle, by way of http:\/\/127\.0\.0\.1:\d+\/disk/),
    check: (server) => assert.equal(server.requests.length, 2),
  },
  {
    what: "redirects without end",
    ways: ["stream"],
    server: () => ({ misdeed: (number) => ({ status: 307, headers: { location: `/${number}` } }) }),
    fails: unavailable(/redirects more than 10 times/),
    check: (server) => assert.equal(server.requests.length, 11),
  },
  {
    what: "forbids HEAD",
    server: () => ({ misdeed: (_, { method }) => (method === "HEAD" ? { status: 403 } : undefined) }),
    check: (server) => assert.ok(server.requests.every(({ method }) => method === "GET")),
  },
  {
    what: "drips",
    ways: ["stream"],
    server: () => ({ misdeed: () => ({ drip: 16_000 }) }),
    check: (server) => assert.equal(server.requests.length, 1),
  },
  {
    what: "sends other ranges than it was asked for",
    ways: ["ranges"],
    server: () => ({
      misdeed: inRanges({ headers: { "content-range": `bytes 5-${disk.length - 1}/${disk.length}` } }),
    }),
  },
  {
    what: "continues elsewhere than where it cut",
    ways: ["stream"],
    server: () => ({ misdeed: (number) => ({ cutAfter: MIB, ...(number % 2 === 0 ? OTHER_RANGE : {}) }) }),
    fails: unavailable(/answers with another range than the one asked for/),
  },
  {
    what: "sends a web page with status 200",
    ways: ["stream"],
    server: () => ({ bytes: Buffer.from("<!DOCTYPE html><title>Log in</title>") }),
    fails: { exit: 3, code: "FORMAT_UNRECOGNISED", words: /is a web page, not a disk image/ },
  },
  {
    what: "hangs up once",
    server: () => inRequest((number) => number === 1, { hangsUp: true }),
  },
  {
    what: "says that there is nothing",
    ways: ["stream"],
    server: () => ({ misdeed: () => ({ status: 404 }) }),
    fails: { exit: 5, code: "SOURCE_NOT_FOUND", words: /answers 404 Not Found/ },
    check: (server) => assert.equal(server.requests.length, 1),
  },
];

describe("a server that", { concurrency: 6 }, () => {
  for (const row of rows) {
    for (const way of row.ways ?? (["stream", "ranges"] as const)) {
      it(`${row.what}: ${way}`, () => run(row, way));
    }
  }
});

async function run(row: Row, way: Way): Promise<void> {
  await withTemporaryFolder(async (folder) => {
    await withServer({ bytes: BODIES[way], etag: '"v1"', ...row.server(way) }, async (server) => {
      const options = ["--json", "--threads", "2", ...(row.args ?? [])];
      const target = path.join(folder, "disk.raw");
      const url = `${server.origin}/disk?sig=hunter2`;
      const { status, stdout, stderr } = await runCommand(convert, [...options, url, target]);
      assert.doesNotMatch(stdout + stderr, /hunter/);
      const { fails } = row;
      if (fails === undefined) {
        assert.equal(status, 0, stdout);
        assert.ok(fs.readFileSync(target).equals(disk), "the same disk");
        assert.deepEqual(fs.readdirSync(folder), ["disk.raw"]);
        row.check?.(server, JSON.parse(stdout) as ConvertResult, way);
        return;
      }
      const { error } = JSON.parse(stdout) as { error: { code: string; message: string } };
      assert.deepEqual([status, error.code], [fails.exit, fails.code], error.message);
      assert.match(error.message, fails.words);
      assert.deepEqual(fs.readdirSync(folder), [], "nothing is left");
      row.check?.(server, undefined, way);
    });
  });
}
