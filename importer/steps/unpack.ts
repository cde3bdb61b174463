/**
 * The part of Transfer that makes no disk: unpacks an archive into a folder.
 *
 * The source is read to its end before its checksum is compared, also behind the archive's end mark. After a wrong one
 * everything in the folder goes, whoever put it there.
 */
import { SourceError } from "../errors.ts";
import { loadKernel } from "../kernel.ts";
import { must } from "../run.ts";
import type { Run } from "../run.ts";
import { clearFolder } from "../unpack/clear-folder.ts";
import { unpackArchive } from "../unpack/unpack-archive.ts";

export async function unpack(run: Run, folder: string): Promise<"unpacked"> {
  const stream = must(run.unwrapped?.stream, "the stream");
  run.unpacked = await unpackArchive(stream, { folder, kernel: loadKernel(), signal: run.signal });
  try {
    await run.checksummed?.verify();
  } catch (error) {
    if (error instanceof SourceError && error.code === "SOURCE_CHECKSUM") clearFolder(folder);
    throw error;
  }
  return "unpacked";
}
