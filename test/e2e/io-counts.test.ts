/**
 * How many calls decant makes to read an image and to write its disk: what does not depend on the machine's speed, and what
 * a change that reads cluster by cluster, or writes zeros, would change first.
 *
 * The counts are our own promise, kept in test/golden/io-counts.json; `npm run golden` writes it again. One thread, so that
 * they do not depend on who is quicker.
 */
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { after, describe, it } from "node:test";
import { guestImage } from "../support/build-qcow2.ts";
import { COUNTED_IMAGES, countLines, EMPTY_15_TIB } from "../support/counted-images.ts";
import type { CountedImage } from "../support/counted-images.ts";
import { golden } from "../support/golden.ts";
import { withFolder } from "../support/loop-device.ts";
import { traceDecant } from "../support/start-decant.ts";
import { requireTools } from "../support/tools.ts";

interface Job extends CountedImage {
  readonly target?: "null:";
}

/** Calls of one kind on the image, and on the disk. */
type Counts = Readonly<Record<"image" | "disk", Readonly<Record<string, number>>>>;

const CALLS = "pread64,pwrite64,preadv,pwritev,fallocate,ftruncate,fsync,fdatasync";

/** Row by row of the L1 table is too much for an empty disk; its header and table in a few pieces are not. */
const MOST_CALLS_WHEN_EMPTY = 16;

const EMPTY: readonly Job[] = [
  EMPTY_15_TIB,
  { name: "empty qcow2 of 15 TiB, clusters of 2 MiB", make: () => guestImage("15T", "cluster_size=2M", []) },
  {
    name: "empty qcow2 of 64 TiB, clusters of 64 KiB, to null:",
    make: () => guestImage("64T", "cluster_size=64k", []),
    target: "null:",
  },
  {
    name: "empty qcow2 of 64 TiB, clusters of 2 MiB, to null:",
    make: () => guestImage("64T", "cluster_size=2M", []),
    target: "null:",
  },
];

const JOBS: readonly Job[] = [...EMPTY, ...COUNTED_IMAGES];

describe(
  "calls to read an image and to write its disk",
  { skip: requireTools("strace", "qemu-img", "qemu-io") },
  () => {
    const counted: Record<string, Counts> = {};
    for (const job of JOBS) {
      it(job.name, async () => {
        const counts = await countCalls(job);
        counted[job.name] = counts;
        if (EMPTY.includes(job)) assertFew(counts);
        if (process.env["UPDATE_GOLDEN"] !== undefined) return;
        const expected = JSON.parse(golden("io-counts.json", () => "{}")) as Record<string, Counts>;
        assert.deepEqual(counts, expected[job.name], "npm run golden keeps the new counts, if they are meant");
      });
    }
    after(() => golden("io-counts.json", () => countLines(counted)));
  },
);

function assertFew({ image, disk }: Counts): void {
  const reads = image["pread64"] ?? 0;
  assert.ok(reads <= MOST_CALLS_WHEN_EMPTY, `${reads} reads`);
  assert.equal(disk["pwrite64"] ?? 0, 0, "nothing is written");
  const all = Object.values(disk).reduce((a, b) => a + b, 0);
  assert.ok(all <= MOST_CALLS_WHEN_EMPTY, `${all} calls on the disk`);
}

async function countCalls({ make, target }: Job): Promise<Counts> {
  return await withFolder(async (folder) => {
    const image = path.join(folder, "image");
    fs.writeFileSync(image, make());
    const disk = path.join(folder, "disk.raw");
    const args = ["convert", "--threads", "1", "--progress", "none", image, target ?? disk];
    const { status, stderr, trace } = await traceDecant(CALLS, args);
    assert.equal(status, 0, stderr);
    return { image: countOn(trace, image), disk: countOn(trace, path.join(folder, ".disk.raw.decant-partial")) };
  });
}

/** How often each call was made on a descriptor of `file`, by name. */
function countOn(trace: readonly string[], file: string): Record<string, number> {
  const counts = new Map<string, number>();
  for (const line of trace) {
    const call = /^\d+\s+(\w+)\(\d+<([^>]*)>/.exec(line);
    if (call?.[1] === undefined || call[2] !== file) continue;
    counts.set(call[1], (counts.get(call[1]) ?? 0) + 1);
  }
  return Object.fromEntries([...counts].sort(([a], [b]) => (a < b ? -1 : 1)));
}
