/**
 * The spill file: bytes of a stream that neither could be placed when they went by nor fit in memory, at their host
 * offsets. It has no name from the moment it is open, so nothing is left behind, whatever happens.
 */
import fs from "node:fs";
import type { Spill } from "./engine/hold.ts";
import { FormatError } from "../formats/errors.ts";
import { toTargetError } from "./errors.ts";
import { openUnnamed } from "./temporary-file.ts";

/** A folder for the file, or who decides once a file is needed; undefined: there is no place. */
export type SpillPlace = string | (() => Spill) | undefined;

/** There is no place here, and whoever started this run can start it again with one. No failure: an outcome. */
export class ScratchNeeded extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "ScratchNeeded";
  }
}

/** @throws FormatError FORMAT_UNSUPPORTED if there is no folder; TargetError if it cannot be used; ScratchNeeded */
export function spillInto(folder: SpillPlace): Spill {
  if (typeof folder === "function") return folder();
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
