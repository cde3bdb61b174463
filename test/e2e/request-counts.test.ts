/**
 * How many requests decant makes to read an image from a web server, and how many bytes it asks for: what decides over an
 * import where the server is far away, and what no fast machine hides.
 *
 * The counts are our own promise, kept in test/golden/request-counts.json; `npm run golden` writes it again. One thread, so
 * that they do not depend on who is quicker.
 */
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { after, describe, it } from "node:test";
import type { ConvertResult } from "../../cmd/convert.ts";
import { COUNTED_IMAGES, countLines, EMPTY_15_TIB } from "../support/counted-images.ts";
import { golden } from "../support/golden.ts";
import { withFolder } from "../support/loop-device.ts";
import { withNginx } from "../support/nginx.ts";
import { runDecant } from "../support/run-decant.ts";
import { requireTools } from "../support/tools.ts";

interface Counts {
  readonly wholeRequests: number;
  readonly rangeRequests: number;
  /** What the range requests ask for. */
  readonly rangeBytes: number;
  /** What the engine read of the image. */
  readonly bytesRead: number;
}

const JOBS = [...COUNTED_IMAGES, EMPTY_15_TIB];

describe("requests to read an image from a web server", { skip: requireTools("nginx", "qemu-img", "qemu-io") }, () => {
  const counted: Record<string, Counts> = {};
  for (const { name, make } of JOBS) {
    it(name, async () => {
      const counts = await countRequests(make());
      counted[name] = counts;
      if (process.env["UPDATE_GOLDEN"] !== undefined) return;
      const expected = JSON.parse(golden("request-counts.json", () => "{}")) as Record<string, Counts>;
      assert.deepEqual(counts, expected[name], "npm run golden keeps the new counts, if they are meant");
    });
  }
  after(() => golden("request-counts.json", () => countLines(counted)));
});

async function countRequests(image: Uint8Array): Promise<Counts> {
  return await withFolder(async (folder) => {
    fs.writeFileSync(path.join(folder, "image"), image);
    return await withNginx(folder, {}, async ({ port, log }) => {
      const url = `http://127.0.0.1:${port}/image`;
      const { status, stdout, stderr } = await runDecant(["convert", "--json", "--threads", "1", url, "null:"]);
      assert.equal(status, 0, stderr + stdout);
      const { bytesRead } = JSON.parse(stdout) as ConvertResult;
      const ranges = log().flatMap((line) => /bytes=(\d+)-(\d+)/.exec(line)?.slice(1).map(Number) ?? []);
      const lengths = ranges.map((at, index) => (index % 2 === 0 ? -at : at + 1));
      return {
        wholeRequests: log().length - ranges.length / 2,
        rangeRequests: ranges.length / 2,
        rangeBytes: lengths.reduce((sum, length) => sum + length, 0),
        bytesRead,
      };
    });
  });
}
