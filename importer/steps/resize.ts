/**
 * Resize: gives the target its final size and makes zeros of all that the image did not mention.
 */
import { alignUp } from "../../formats/bytes.ts";
import type { Outcome } from "../phases.ts";
import { must } from "../run.ts";
import type { Run } from "../run.ts";

export async function resize(run: Run): Promise<Outcome<"Resize">> {
  const virtualSize = must(run.virtualSize, "the virtual size");
  const size = run.options.finalSize(virtualSize);
  const zeros = must(run.zeros, "the zeros");
  // A device's last sector may be longer than the disk's: what is past the disk in it is padding.
  const end = alignUp(size, run.target.sectorSize);
  if (end > virtualSize) zeros.add(virtualSize, end - virtualSize);
  await zeros.apply();
  run.target.resize(size);
  return "resized";
}
