/**
 * Where a stream waits whose image is so far out of order that memory does not hold it: on the scratch volume if there is
 * one, else beside the disk if the volume has room for both, else the worker asks to be started again with a scratch volume.
 */
import fs from "node:fs";
import type { Spill } from "../engine/hold.ts";
import { TargetError } from "../errors.ts";
import { ScratchNeeded, spillInto } from "../spill-file.ts";
import type { Volume } from "../target-size.ts";
import type { Log } from "./log.ts";
import type { WorkerPaths } from "./paths.ts";
import { freeSpace } from "./volume.ts";

export interface SpillSite {
  readonly paths: WorkerPaths;
  readonly kind: Volume["kind"];
  /** Bytes of the disk as it will be; undefined while nobody knows. */
  readonly diskSize: () => number | undefined;
  /** Bytes of the image as it is stored; undefined where that is not known. */
  readonly storedSize: number | undefined;
  readonly log: Log;
}

/** @throws ScratchNeeded; TargetError for a scratch volume that cannot be used */
export function openSpill(site: SpillSite): Spill {
  const { paths, kind, log } = site;
  if (isScratch(paths.scratch)) {
    log.info("the image is badly out of order, so a part of it waits on the scratch volume");
    return spillInto(paths.scratch);
  }
  if (kind === "block" || !hasRoomForBoth(site)) throw needed();
  log.info("the image is badly out of order, so a part of it waits beside the disk");
  return askingOnceFull(spillInto(paths.data));
}

/** A folder of its own without a free byte is none, as ever. */
function isScratch(folder: string): boolean {
  const stat = fs.statSync(folder, { throwIfNoEntry: false });
  return stat?.isDirectory() === true && freeSpace(folder) > 0;
}

/** The disk may become as full as it is large, and all of the image may have to wait: nobody knows better in mid-stream. */
function hasRoomForBoth({ paths, diskSize, storedSize }: SpillSite): boolean {
  const disk = diskSize();
  return disk !== undefined && disk + (storedSize ?? disk) <= freeSpace(paths.data);
}

function askingOnceFull(spill: Spill): Spill {
  return {
    read: (into, offset) => spill.read(into, offset),
    close: () => spill.close(),
    write(bytes, offset) {
      try {
        spill.write(bytes, offset);
      } catch (error) {
        throw error instanceof TargetError && error.code === "TARGET_NO_SPACE" ? needed(error) : error;
      }
    },
  };
}

function needed(cause?: Error): ScratchNeeded {
  return new ScratchNeeded("the image is badly out of order, and a part of it needs space to wait in", { cause });
}
