/**
 * The path of an archive's entry, as names from the target folder down.
 *
 * Leading slashes are taken off, as tar does. What leads up is refused, as tar does: nobody can tell what was meant.
 */
import { encodeText } from "../../formats/archives/tar/text.ts";
import { quoted } from "../../formats/archives/shown-names.ts";
import { FormatError } from "../../formats/errors.ts";

/** Folders in each other; each holds a descriptor open. Linux allows 4096 bytes in a path. */
const MAX_DEPTH = 1024;

/**
 * @returns no names for the target folder itself
 * @throws FormatError FORMAT_UNSUPPORTED for `..`, FORMAT_INVALID for a NUL, FORMAT_OUT_OF_BOUNDS for a path that is too deep
 */
export function namesOf(path: string): readonly string[] {
  const names = path.split("/").filter((name) => name !== "" && name !== ".");
  if (names.includes("..")) {
    throw new FormatError("FORMAT_UNSUPPORTED", `the entry ${quoted(path)} contains "..", which may lead anywhere`, {
      remedy: "Pack the archive again from the folder that is meant.",
    });
  }
  if (path.includes("\0")) throw new FormatError("FORMAT_INVALID", `the entry ${quoted(path)} has a NUL in its name`);
  if (names.length > MAX_DEPTH) {
    throw new FormatError("FORMAT_OUT_OF_BOUNDS", `an entry lies more than ${MAX_DEPTH} folders deep`);
  }
  return names;
}

export function bytesOf(name: string): Uint8Array {
  return encodeText(name);
}
