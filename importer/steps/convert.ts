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
  const zero = (offset: number, length: number): void => {
    run.holes = (run.holes ?? 0) + length;
    outlet.zero(offset, length);
  };
  await copyDisk(must(run.image, "the image"), file, { ...outlet, zero }, run.signal);
  return "converted";
}
