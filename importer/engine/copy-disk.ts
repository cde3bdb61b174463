/**
 * Pours a random-access image into a target: extents in virtual order, batches in host order, jobs on all threads.
 */
import { performance } from "node:perf_hooks";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { DiskImage, Extent } from "../../formats/disk-format.ts";
import { driveParser } from "../drive-parser.ts";
import { dataRanges } from "../data-ranges.ts";
import { Interrupted } from "../errors.ts";
import type { RandomAccess } from "../random-access.ts";
import type { DiskOutlet } from "./disk-outlet.ts";
import { JobPlanner } from "./planner.ts";

const TURN_MS = 50;

/**
 * @param image its virtual size is known
 * @param signal stops it between two batches
 * @returns once every job has succeeded
 * @throws FormatError, SourceError, TargetError: the first one stops all
 */
export async function copyDisk(
  image: DiskImage,
  file: RandomAccess,
  outlet: DiskOutlet,
  signal?: AbortSignal,
): Promise<void> {
  let lastTurn = performance.now();
  const size = image.virtualSize ?? 0;
  const planner = new JobPlanner(file.size);
  const holes = dataRanges(file);
  let offset = 0;
  while (offset < size) {
    const extents = driveParser(image.extents(offset, size - offset), file);
    for (const extent of extents) {
      offset = extent.offset + extent.length;
      for (const part of holes.split(extent)) {
        if (planner.isFull) await runBatch(planner, outlet);
        plan(part, planner, outlet);
      }
    }
    await outlet.settle();
    if (performance.now() - lastTurn < TURN_MS) continue;
    // Tables without data start no job, and signals and progress wait for a turn.
    await nextTurn();
    if (signal?.aborted === true) throw new Interrupted();
    lastTurn = performance.now();
  }
  await runBatch(planner, outlet);
  await outlet.pool.drain();
}

function plan(extent: Extent, planner: JobPlanner, outlet: DiskOutlet): void {
  if (extent.kind !== "data") outlet.zero(extent.offset, extent.length);
  else if (extent.stored.encoding === "inline") outlet.inline(extent.stored.bytes, extent.offset);
  else planner.add({ offset: extent.offset, length: extent.length, stored: extent.stored });
}

async function runBatch(planner: JobPlanner, outlet: DiskOutlet): Promise<void> {
  await outlet.settle();
  for (const job of planner.jobs()) await outlet.pool.submit(job, (result) => outlet.jobDone(result));
}
