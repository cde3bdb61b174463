/**
 * The bound on memory, whatever the image: the peak of the resident set (VmHWM), asked of the kernel from outside while
 * decant runs as its users start it.
 *
 * 150 MB with up to two threads and 12 MB for each further one, plus what a zstd or xz file declares as its window or
 * dictionary. The portable decoders allocate each cluster's output anew and leave it to the garbage collector, which
 * waits until a few tens of megabytes have come together: measured 187 MB with two threads. So do the pieces that
 * Node.js's own client gives, which reads through proxies, with a limited rate, and from servers without ranges: 146 to 200 MB.
 */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { after, before, describe, it } from "node:test";
import { measure } from "../../cmd/bench/measure.ts";
import { withNginx } from "../support/nginx.ts";
import { ROOT } from "../support/run-decant.ts";
import { makeSparseDisk } from "../support/sparse-disk.ts";
import type { SparseDiskSize } from "../support/sparse-disk.ts";
import { requireTools } from "../support/tools.ts";

const MB = 1e6;

/** How each image is made of disk.raw, and what it declares as its window or dictionary, bytes. */
const IMAGES = {
  "plain.qcow2": { recipe: "qemu-img convert -f raw -O qcow2 disk.raw plain.qcow2", declared: 0 },
  "zlib.qcow2": { recipe: "qemu-img convert -f raw -O qcow2 -c disk.raw zlib.qcow2", declared: 0 },
  "zstd.qcow2": {
    recipe: "qemu-img convert -f raw -O qcow2 -c -o compression_type=zstd disk.raw zstd.qcow2",
    declared: 0,
  },
  "qcow2.xz": { recipe: "xz -0 -c plain.qcow2 > qcow2.xz", declared: 256 * 1024 },
  "raw.gz": { recipe: "gzip -1 -c disk.raw > raw.gz", declared: 0 },
} as const;

interface Run {
  readonly image: keyof typeof IMAGES;
  readonly threads: number;
  readonly input: "path" | "standard input" | "URL" | "URL with a limited rate";
  readonly decoders: "auto" | "portable";
}

/** Calls for images of `size`; `threads` are the counts that are tried with the system's decoders. */
export function describeResidentMemory(size: SparseDiskSize, threads: readonly number[]): void {
  const skip = requireTools("qemu-img", "gzip", "xz", "nginx");
  describe(
    `resident memory, ${size.dataBytes / MB} MB on a disk of ${size.virtualSize / 2 ** 30} GiB`,
    { skip },
    () => {
      let folder = "";
      before(async () => {
        folder = fs.mkdtempSync(path.join(os.tmpdir(), "decant-memory-"));
        makeSparseDisk(path.join(folder, "disk.raw"), size);
        for (const { recipe } of Object.values(IMAGES)) execFileSync("sh", ["-c", recipe], { cwd: folder });
        // The first run after a change compiles the sources, which takes memory that later ones do not.
        for (const decoders of ["auto", "portable"] as const) {
          await peakOf(folder, { image: "zlib.qcow2", threads: 2, input: "path", decoders });
        }
        for (const input of ["URL", "URL with a limited rate"] as const) {
          await peakOf(folder, { image: "zlib.qcow2", threads: 2, input, decoders: "auto" });
        }
      });
      after(() => fs.rmSync(folder, { recursive: true, force: true }));

      for (const run of runs(threads)) {
        it(`${run.image}, ${run.input}, ${run.threads} threads, ${run.decoders} decoders`, async (test) => {
          const peak = await peakOf(folder, run);
          test.diagnostic(`${(peak / MB).toFixed(0)} MB`);
          // Node.js alone takes more than 30 MB: a smaller figure means that another process was looked at.
          assert.ok(peak > 30 * MB, `a peak of ${peak} bytes is not decant's`);
          assert.ok(peak <= bound(run), `a peak of ${peak} bytes, more than ${bound(run)}`);
        });
      }
    },
  );
}

function runs(threads: readonly number[]): Run[] {
  const images = Object.keys(IMAGES) as (keyof typeof IMAGES)[];
  return images.flatMap((image) =>
    (["path", "standard input", "URL"] as const).flatMap((input) => [
      ...threads.map((count): Run => ({ image, input, threads: count, decoders: "auto" })),
      ...(input === "path" ? [{ image, input, threads: 2, decoders: "portable" } as const] : []),
      ...(input === "URL" ? [{ image, input: "URL with a limited rate", threads: 2, decoders: "auto" } as const] : []),
    ]),
  );
}

function bound({ image, input, threads, decoders }: Run): number {
  const native = 150 * MB + Math.max(0, threads - 2) * 12 * MB + IMAGES[image].declared;
  if (input === "URL with a limited rate") return native + 60 * MB;
  return decoders === "auto" ? native : native + threads * 30 * MB;
}

async function peakOf(folder: string, run: Run): Promise<number> {
  if (!run.input.startsWith("URL")) return await peakFrom(path.join(folder, run.image), folder, run);
  return await withNginx(folder, {}, async ({ port }) => {
    return await peakFrom(`http://127.0.0.1:${port}/${run.image}`, folder, run);
  });
}

async function peakFrom(source: string, folder: string, run: Run): Promise<number> {
  const target = path.join(folder, "target.raw");
  // A limit that nothing reaches.
  const limit = run.input === "URL with a limited rate" ? "--limit-rate 100G" : "";
  const decant = `sh bin/decant convert --progress none --threads ${run.threads} ${limit}`;
  const line = run.input === "standard input" ? `${decant} - "$TARGET" < "$SOURCE"` : `${decant} "$SOURCE" "$TARGET"`;
  const env = { SOURCE: source, TARGET: target, DECANT_DECODERS: run.decoders };
  try {
    return (await measure(line, env, ROOT)).peakRssBytes;
  } finally {
    fs.rmSync(target, { force: true });
  }
}
