/**
 * What a container with little memory does on a slow disk: it takes as long as the disk takes, and is not killed for the pages
 * that the disk has not taken yet.
 */
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { before, describe, it } from "node:test";
import { requireMemoryCgroups, withMemoryCgroup } from "../support/memory-cgroup.ts";
import { noise, withNoiseServer } from "../support/noise.ts";
import { requireSlowDisks, withSlowDisk } from "../support/slow-disk.ts";
import { withTemporaryFolder } from "../support/temporary-folder.ts";
import { runWorker, startWorker, workerPlace } from "../support/worker.ts";

const MIB = 1024 * 1024;

/** Two windows of write-behind are on their way; with the filesystem's own pages it is never three. */
const MAX_DIRTY = 3 * 64 * MIB;

/** Of the worker's processes together with the network: the bound of the resident set. */
const MAX_RESIDENT = 150e6;

const SAMPLE_MS = 50;

export interface SlowTarget {
  /** Of the container, bytes. */
  readonly memory: number;
  /** Of the disk, bytes a second. */
  readonly rate: number;
  /** Bytes of data, all of them written. */
  readonly data: number;
  readonly maxMs: number;
}

export function describeSlowTarget({ memory, rate, data, maxMs }: SlowTarget): void {
  const skip = requireSlowDisks() || requireMemoryCgroups();
  const what = `${memory / 1e6} MB of memory, ${data / 1e6} MB to a disk of ${rate / 1e6} MB/s`;
  describe(`the worker with ${what} (T09)`, { skip }, () => {
    before(warmUp);

    it("is not killed, and stays within its bounds", { timeout: maxMs }, async () => {
      await withTemporaryFolder(async (folder) => {
        await withSlowDisk(folder, { size: Math.ceil(data * 1.2), rate }, async (volume) => {
          await withMemoryCgroup(memory, async (group) => {
            await withNoiseServer(data, async (url) => {
              const place = workerPlace(folder, { data: volume });
              const env = { IMPORTER_SOURCE: "http", IMPORTER_ENDPOINT: url };
              const worker = startWorker(place, { env, under: group.under, maxMs });
              const peak = { dirty: 0, resident: 0 };
              const sampling = setInterval(() => {
                peak.dirty = Math.max(peak.dirty, group.dirty());
                peak.resident = Math.max(peak.resident, highWaterMark(worker.child.pid));
              }, SAMPLE_MS);
              const { status, signal, log } = await worker.ended;
              clearInterval(sampling);
              assert.deepEqual([status, signal, group.kills()], [0, null, 0], log);
              assert.ok(peak.dirty > 0 && peak.dirty <= MAX_DIRTY, `${peak.dirty} bytes were dirty`);
              assert.ok(peak.resident > 0 && peak.resident <= MAX_RESIDENT, `${peak.resident} bytes were resident`);
              checkNoise(path.join(volume, "disk.img"), data);
            });
          });
        });
      });
    });
  });
}

/** The first run after a change compiles the sources, which takes memory that later ones do not. */
async function warmUp(): Promise<void> {
  await withTemporaryFolder(async (folder) => {
    await withNoiseServer(16 * MIB, async (url) => {
      const env = { IMPORTER_SOURCE: "http", IMPORTER_ENDPOINT: url };
      const { status, log } = await runWorker(workerPlace(folder), { env });
      assert.equal(status, 0, log);
    });
  });
}

/** VmHWM in bytes; 0 once the process is gone. */
function highWaterMark(pid: number | undefined): number {
  try {
    return 1024 * Number(/^VmHWM:\s+(\d+) kB$/m.exec(fs.readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0);
  } catch {
    return 0;
  }
}

/** A piece of each 64: reading all again would take as long as writing it. */
function checkNoise(file: string, size: number): void {
  const fd = fs.openSync(file, "r");
  const piece = Buffer.alloc(MIB);
  try {
    assert.equal(fs.fstatSync(fd).size, size);
    for (let at = 0; at < size; at += 64 * MIB) {
      const length = fs.readSync(fd, piece, 0, Math.min(MIB, size - at), at);
      assert.ok(piece.subarray(0, length).equals(noise(at, length)), `other bytes at ${at}`);
    }
  } finally {
    fs.closeSync(fd);
  }
}
