/**
 * A control group for one run, so that the kernel itself counts the memory of all its processes, page cache included: what a
 * container would be charged for. Only where groups can be made (as root, or where the system hands them out); everywhere
 * else the peaks of the processes have to do.
 * @see Linux Documentation/admin-guide/cgroup-v2.rst, memory.peak; cgroup-v1/memory.rst, memory.max_usage_in_bytes
 */
import { randomUUID } from "node:crypto";
import fs from "node:fs";
import path from "node:path";

export interface MemoryGroup {
  /** A process joins by writing its id here. */
  readonly door: string;
  /** Bytes; undefined where the kernel does not keep it. */
  peak(): number | undefined;
  /** Once no process is in it. */
  close(): void;
}

interface Place {
  readonly folder: string;
  readonly peakFile: string;
}

const ROOT = "/sys/fs/cgroup";

/** @returns undefined where none can be made */
export function openMemoryGroup(): MemoryGroup | undefined {
  for (const { folder, peakFile } of places(readOrNothing("/proc/self/cgroup"), ROOT)) {
    const group = path.join(folder, `decant-bench-${randomUUID()}`);
    try {
      fs.mkdirSync(group);
    } catch {
      continue;
    }
    if (fs.existsSync(path.join(group, peakFile))) return openedGroup(group, peakFile);
    remove(group);
  }
  return undefined;
}

/**
 * Where a group may be made, the best first.
 * @param own what /proc/self/cgroup says
 */
export function places(own: string, root: string): Place[] {
  const found: Place[] = [];
  for (const line of own.split("\n")) {
    const [, controllers, inside] = /^\d+:([^:]*):(\/.*)$/.exec(line) ?? [];
    if (controllers === undefined || inside === undefined) continue;
    if (controllers.split(",").includes("memory")) {
      found.push({ folder: path.join(root, "memory", inside), peakFile: "memory.max_usage_in_bytes" });
    } else if (controllers === "") {
      // A group that holds processes has no groups with controllers below it, save the first of all.
      found.push({ folder: path.join(root, path.dirname(inside)), peakFile: "memory.peak" });
    }
  }
  return found;
}

function openedGroup(folder: string, peakFile: string): MemoryGroup {
  return {
    door: path.join(folder, "cgroup.procs"),
    peak() {
      const bytes = Number(readOrNothing(path.join(folder, peakFile)));
      return Number.isSafeInteger(bytes) && bytes > 0 ? bytes : undefined;
    },
    close: () => remove(folder),
  };
}

/** What a run left behind in it keeps it there. */
function remove(folder: string): void {
  try {
    fs.rmdirSync(folder);
  } catch {
    // An empty group costs nothing.
  }
}

function readOrNothing(file: string): string {
  try {
    return fs.readFileSync(file, "latin1").trim();
  } catch {
    return "";
  }
}
