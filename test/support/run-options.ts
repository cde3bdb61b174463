/**
 * A run as most tests have it: what is in the image goes into the target, by the caller's own thread, and nothing more.
 */
import { DEFAULT_MEMORY_LIMIT } from "../../formats/codecs/codec.ts";
import type { RunOptions } from "../../importer/run.ts";

export const plainRun: RunOptions = {
  finalSize: (virtualSize) => virtualSize,
  archives: true,
  format: undefined,
  member: undefined,
  checksum: undefined,
  verify: false,
  digest: false,
  threads: 1,
  decoders: "auto",
  strict: false,
  memoryLimit: DEFAULT_MEMORY_LIMIT,
  spillFolder: undefined,
};
