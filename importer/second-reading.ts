/**
 * The image once more, for what reads it a second time: --verify, and --digest where the target keeps nothing.
 *
 * Only a file can be read twice, and a compressed one only as a stream. A file whose checksum is asked for passes as a
 * stream too; here it is opened beside that.
 */
import type { DiskImage } from "../formats/disk-format.ts";
import { driveParser } from "./drive-parser.ts";
import { UsageError } from "./errors.ts";
import type { RandomAccess } from "./random-access.ts";
import { must } from "./run.ts";
import type { Run } from "./run.ts";
import { unwrapFile } from "./unwrap.ts";
import type { UnwrapOptions } from "./unwrap.ts";

export interface SecondReading {
  readonly image: DiskImage;
  readonly file: RandomAccess;
}

/** Whether the options ask for it. */
export function needsSecondReading({ options, target }: Run): boolean {
  return options.verify || (options.digest && target.kind === "null");
}

/** Called before anything is written. @throws UsageError where the source passes only once */
export async function openSecondReading(run: Run, unwrapping: UnwrapOptions): Promise<SecondReading> {
  const first = must(run.unwrapped, "the image");
  const again = first.file === undefined && run.source.file !== undefined;
  const unwrapped = again ? await unwrapFile(run.source.file, unwrapping) : first;
  const { file, format } = unwrapped;
  if (file !== undefined) return { image: await driveParser(format.open(file.size), file), file };
  if (again) await unwrapped.stream?.close();
  const option = run.options.verify ? "--verify" : "--digest with null:";
  throw new UsageError(`${option} needs a source that can be read twice: a file that is not compressed`, {
    remedy: "For others --checksum proves what comes in, and --digest with a file or device what is written.",
  });
}
