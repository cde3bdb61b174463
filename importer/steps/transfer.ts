/**
 * Transfer: pours a stream that passes once into the target, or unpacks an archive.
 */
import { diskOutlet } from "../engine/disk-outlet.ts";
import type { Outcome } from "../phases.ts";
import { must } from "../run.ts";
import type { Run } from "../run.ts";
import { unpack } from "./unpack.ts";

export async function transfer(run: Run): Promise<Outcome<"Transfer">> {
  if (run.options.unpackInto !== undefined) return await unpack(run, run.options.unpackInto);
  const stream = must(run.stream, "the stream");
  const outlet = diskOutlet(run.target, must(run.pool, "the pool"), must(run.zeros, "the zeros"));
  const { checkRoom } = run.options;
  const checksRoom = checkRoom !== undefined && run.virtualSize === undefined;
  const checkFits = (end: number): void => {
    outlet.checkFits(end);
    checkRoom?.(end);
  };
  const outcome = await stream.pour(must(run.image, "the image"), checksRoom ? { ...outlet, checkFits } : outlet);
  if (outcome === "spilled") return "spilled";
  run.virtualSize = await stream.finish();
  return "on-target";
}
