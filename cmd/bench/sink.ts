/**
 * Where all contenders write to, each in its turn: nothing, a new file, or a device. Says how much has arrived, seen from
 * outside, and clears it away for the next one.
 */
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { UsageError } from "../../importer/errors.ts";
import { deviceFolder } from "../../importer/kernel.ts";
import { NULL_TARGET } from "../../importer/targets/null.ts";
import { openTarget } from "../../importer/targets/open-target.ts";
import { partialPath } from "../../importer/targets/partial-file.ts";
import { isSameStorage } from "../../importer/targets/same-file.ts";
import { digestContent } from "./content-digest.ts";

export type SinkKind = "null" | "file" | "device";

export interface Sink {
  readonly kind: SinkKind;
  /** As $TARGET: absolute, so that no program takes it for an option or a protocol. */
  readonly target: string;
  /** Makes it as it was before anybody wrote to it, for the next run. */
  prepare(): void;
  /** Bytes that were written since; 0 where nothing is kept. */
  bytesWritten(): number;
  /** Of the disk in it, whose first `length` bytes count; undefined where nothing is kept. */
  digest(length: number): Promise<string | undefined>;
  /** Leaves nothing behind. */
  clear(): void;
}

/** Sectors of the kernel's statistics, whatever the device's are. */
const STAT_SECTOR = 512;
/** Of /sys/block/…/stat (Documentation/block/stat.rst), counted from 0. */
const SECTORS_WRITTEN = 6;

/**
 * @throws UsageError for what cannot be meant: a file that exists, one of the sources; TargetError for a device that is in
 *         use or may not be written
 */
export function openSink(name: string, sources: readonly string[]): Sink {
  if (name === NULL_TARGET) return nullSink();
  const target = path.resolve(name);
  if (sources.some((source) => isSameStorage(source, target))) throw new UsageError(`${name} is one of the sources`);
  openTarget(target).abort(); // refuses what convert would refuse, before an hour has passed
  const stat = fs.statSync(target, { throwIfNoEntry: false });
  return stat?.isBlockDevice() === true ? deviceSink(target, stat.rdev) : fileSink(target);
}

function nullSink(): Sink {
  return {
    kind: "null",
    target: NULL_TARGET,
    prepare: () => undefined,
    bytesWritten: () => 0,
    digest: () => Promise.resolve(undefined),
    clear: () => undefined,
  };
}

/** @param target absolute */
export function fileSink(target: string): Sink {
  const clear = (): void => {
    fs.rmSync(target, { force: true });
    fs.rmSync(partialPath(target), { force: true });
  };
  return {
    kind: "file",
    target,
    prepare() {
      clear();
      // What an earlier run wrote must not be on its way to the disk during this one.
      execFileSync("sync", ["-f", path.dirname(target)]);
    },
    // decant writes under another name until the disk is complete.
    bytesWritten: () => Math.max(allocated(target), allocated(partialPath(target))),
    digest: async (length) => await digestContent(target, length),
    clear,
  };
}

function deviceSink(target: string, rdev: number): Sink {
  const stat = `${deviceFolder(rdev)}/stat`;
  let before = 0;
  const written = (): number => {
    const fields = fs.readFileSync(stat, "latin1").trim().split(/\s+/);
    return Number(fields[SECTORS_WRITTEN] ?? 0) * STAT_SECTOR;
  };
  return {
    kind: "device",
    target,
    prepare() {
      execFileSync("sync", [target]);
      before = written();
    },
    bytesWritten: () => written() - before,
    digest: async (length) => await digestContent(target, length),
    clear: () => undefined,
  };
}

/** Bytes that a file takes up; 0 while there is none. */
function allocated(file: string): number {
  return (fs.statSync(file, { throwIfNoEntry: false })?.blocks ?? 0) * 512;
}

/** Bytes that the files in a folder take up, however deep. */
export function allocatedBelow(folder: string): number {
  let bytes = 0;
  try {
    for (const name of fs.readdirSync(folder, { recursive: true, encoding: "utf8" })) {
      bytes += allocated(path.join(folder, name));
    }
  } catch {
    // Something in it has just gone.
  }
  return bytes;
}
