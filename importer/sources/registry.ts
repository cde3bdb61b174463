/**
 * Which source a name on the command line means.
 */
import { UsageError } from "../errors.ts";
import { openFile } from "./file.ts";
import type { Source } from "./source.ts";
import { openStandardInput } from "./standard-input.ts";

/** `scheme://`, of two letters at least; a file name with a colon is written `./name`. */
const SCHEME = /^([a-z][a-z0-9+.-]+):\/\//i;

/** @throws UsageError for a scheme nobody knows; SourceError as the source says */
export function openSource(name: string): Source {
  if (name === "-") return openStandardInput();
  const scheme = SCHEME.exec(name)?.[1];
  if (scheme === undefined) return openFile(name);
  throw new UsageError(`sources of the kind ${scheme.toLowerCase()}:// are not supported; a path or - is`);
}
