/**
 * A control group with a limit of memory, as a container has one: cgroup v1 or v2. Needs root. What it counts is what gets a
 * container killed: the memory of its processes, and the pages of files that are dirty because of them.
 */
import fs from "node:fs";
import path from "node:path";
import { randomUUID } from "node:crypto";
import { requireRoot } from "./tools.ts";

const V1 = "/sys/fs/cgroup/memory";
const V2 = "/sys/fs/cgroup";

export interface MemoryCgroup {
  /** A command that starts another one in the group. */
  readonly under: readonly string[];
  /** Bytes of dirty pages, and of those that are being written, now. */
  readonly dirty: () => number;
  /** How often a process was killed for want of memory. */
  readonly kills: () => number;
}

export function requireMemoryCgroups(): false | string {
  const reason = requireRoot();
  if (reason !== false) return reason;
  if (fs.existsSync(path.join(V1, "memory.limit_in_bytes"))) return false;
  const controllers = path.join(V2, "cgroup.subtree_control");
  const isThere = fs.existsSync(controllers) && fs.readFileSync(controllers, "utf8").includes("memory");
  return isThere ? false : "needs a cgroup controller for memory";
}

/** @param limit bytes */
export async function withMemoryCgroup<T>(limit: number, body: (group: MemoryCgroup) => Promise<T>): Promise<T> {
  const isV1 = fs.existsSync(path.join(V1, "memory.limit_in_bytes"));
  const folder = path.join(isV1 ? V1 : V2, `decant-test-${randomUUID()}`);
  const read = (name: string): string => fs.readFileSync(path.join(folder, name), "utf8");
  const figure = (text: string, name: string): number =>
    Number(new RegExp(`^${name} (\\d+)$`, "m").exec(text)?.[1] ?? 0);
  fs.mkdirSync(folder);
  try {
    fs.writeFileSync(path.join(folder, isV1 ? "memory.limit_in_bytes" : "memory.max"), String(limit));
    return await body({
      under: ["sh", "-c", `echo $$ > ${path.join(folder, "cgroup.procs")}; exec "$@"`, "sh"],
      dirty: () => {
        const names = isV1 ? ["total_dirty", "total_writeback"] : ["file_dirty", "file_writeback"];
        const stat = read("memory.stat");
        return names.reduce((sum, name) => sum + figure(stat, name), 0);
      },
      kills: () => figure(read(isV1 ? "memory.oom_control" : "memory.events"), "oom_kill"),
    });
  } finally {
    fs.rmdirSync(folder);
  }
}
