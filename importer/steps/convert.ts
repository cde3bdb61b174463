/**
 * Convert: pours an image with random access into the target, or what a stream had to leave in its spill file.
 */
import { copyDisk } from "../engine/copy-disk.ts";
import { diskOutlet } from "../engine/disk-outlet.ts";
import type { Outcome } from "../phases.ts";
import { must } from "../run.ts";
import type { Run } from "../run.ts";

export async function convert(run: Run): Promise<Outcome<"Convert">> {
  if (run.stream !== undefined) {
    run.virtualSize = await run.stream.finish();
    return "converted";
  }
  const file = must(run.unwrapped?.file, "the image file");
  const outlet = diskOutlet(run.target, must(run.pool, "the pool"), must(run.zeros, "the zeros"));
  await copyDisk(must(run.image, "the image"), file, outlet, run.signal);
  return "converted";
}
