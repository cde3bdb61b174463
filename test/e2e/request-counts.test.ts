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
import { guestImage, writesOf } from "../support/build-qcow2.ts";
import { golden } from "../support/golden.ts";
import { sampleBytes } from "../support/images.ts";
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

const SAMPLES = [
  "raw/patterned.raw",
  "qcow2/plain.qcow2",
  "qcow2/zlib.qcow2",
  "qcow2/zstd.qcow2",
  "qcow2/zero-clusters.qcow2",
  "vmdk/monolithic-sparse.vmdk",
  "vmdk/stream-optimized.vmdk",
  "vpc/dynamic.vhd",
  "vhdx/dynamic.vhdx",
  "vdi/dynamic.vdi",
  "gzip/patterned.raw.gz",
  "zstd/patterned.raw.zst",
  "xz/patterned.qcow2.xz",
  "tar/ustar.tar",
];

const JOBS: readonly { readonly name: string; readonly make: () => Uint8Array }[] = [
  ...SAMPLES.map((name) => ({ name, make: () => sampleBytes(name) })),
  { name: "empty qcow2 of 15 TiB, clusters of 64 KiB", make: () => guestImage("15T", "cluster_size=64k", []) },
  {
    name: "qcow2 of 256 clusters that a guest wrote from the disk's end to its start",
    make: () => guestImage("64M", "", writesOf(Array.from({ length: 256 }, (_, at) => 255 - at))),
  },
  {
    name: "qcow2 of 256 clusters that a guest wrote all over the disk",
    make: () => guestImage("64M", "", writesOf(Array.from({ length: 256 }, (_, at) => (at * 389) % 1024))),
  },
];

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
  after(() => {
    const rows = Object.entries(counted).map(
      ([name, counts]) => `  ${JSON.stringify(name)}: ${JSON.stringify(counts)}`,
    );
    golden("request-counts.json", () => `{\n${rows.join(",\n")}\n}\n`);
  });
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
