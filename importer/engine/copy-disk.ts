/**
 * Pours a random-access image into a target: extents in virtual order, batches in host order, jobs on all threads.
 */
import type { DiskImage, Extent } from "../../formats/disk-format.ts";
import { dataRanges } from "../data-ranges.ts";
import { Interrupted } from "../errors.ts";
import { extentsAhead } from "../extents-ahead.ts";
import type { RandomAccess } from "../random-access.ts";
import { Turns } from "../turns.ts";
import type { DiskOutlet } from "./disk-outlet.ts";
import { JobPlanner, REMOTE_RUN_LENGTH, RUN_LENGTH } from "./planner.ts";

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
  const turns = new Turns();
  const isRemote = file.spec.remote !== undefined;
  const planner = new JobPlanner(file.size, isRemote ? REMOTE_RUN_LENGTH : RUN_LENGTH);
  // Over the network data is fetched as soon as some is known: the rest of the tables is round trips away.
  let isFirst = isRemote;
  const holes = dataRanges(file);
  for await (const extents of extentsAhead(image, file)) {
    for (const extent of extents) {
      for (const part of holes.split(extent)) {
        if (planner.isFull) await runBatch(planner, outlet);
        plan(part, planner, outlet);
      }
    }
    if (isFirst && !planner.isEmpty) {
      isFirst = false;
      await runBatch(planner, outlet);
    }
    await outlet.settle();
    const turn = turns.due();
    if (turn === undefined) continue;
    // Tables without data start no job, and signals and progress wait for a turn.
    await turn;
    if (signal?.aborted === true) throw new Interrupted();
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
