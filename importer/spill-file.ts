/**
 * The spill file: bytes of a stream that neither could be placed when they went by nor fit in memory, at their host
 * offsets. It has no name from the moment it is open, so nothing is left behind, whatever happens.
 */
import fs from "node:fs";
import type { Spill } from "./engine/hold.ts";
import { FormatError } from "../formats/errors.ts";
import { toTargetError } from "./errors.ts";
import { openUnnamed } from "./temporary-file.ts";

/**
 * @param folder where the file lives; undefined: nowhere
 * @throws FormatError FORMAT_UNSUPPORTED if there is no folder; TargetError if it cannot be used
 */
export function spillInto(folder: string | undefined): Spill {
  if (folder === undefined) {
    throw new FormatError(
      "FORMAT_UNSUPPORTED",
      "the image's tables lie so far behind its data that a stream needs space to wait in",
      {
        remedy: "Give it as a file, or name a folder with --scratch.",
      },
    );
  }
  const fd = openUnnamed(folder);
  return {
    write(bytes, offset) {
      try {
        for (let done = 0; done < bytes.length;) {
          done += fs.writeSync(fd, bytes, done, bytes.length - done, offset + done);
        }
      } catch (error) {
        throw toTargetError(error, "write to the spill file in", folder);
      }
    },
    read(into, offset) {
      if (fs.readSync(fd, into, 0, into.length, offset) < into.length) throw new Error("the spill file is too short");
    },
    close() {
      fs.closeSync(fd);
    },
  };
}
