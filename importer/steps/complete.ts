/**
 * Complete: all that must hold before the disk gets its name. The checksum of the source, the target read again if that was
 * asked for, then the flush and the commit.
 */
import { performance } from "node:perf_hooks";
import { digestTarget } from "../digest.ts";
import { must, refuseWarnings, stopIfInterrupted } from "../run.ts";
import type { Run } from "../run.ts";
import { verifyTarget } from "../verify.ts";

export async function complete(run: Run): Promise<void> {
  // An archive's checksum was compared, and its tree synced, when it was unpacked.
  if (run.unpacked !== undefined) return;
  await run.checksummed?.verify();
  // Those of an archive that passed as a stream were not known before.
  refuseWarnings(run);
  let started = performance.now();
  await run.earlyFlush?.close();
  run.target.flush();
  run.flushMs = performance.now() - started;
  const size = run.options.finalSize(must(run.virtualSize, "the virtual size"));
  if (run.options.verify) await verifyTarget(run);
  if (run.options.digest) run.digest = await digestTarget(run, size);
  // From here on the disk is in its place; whoever pressed Ctrl-C before is not told that it is not.
  stopIfInterrupted(run);
  started = performance.now();
  run.target.commit();
  run.flushMs += performance.now() - started;
}
