/**
 * A cgroup for each node, in which its kubelet makes those of its pods: version 1 with a hierarchy for each controller, or
 * version 2 with one for all.
 */
import fs from "node:fs";
import path from "node:path";

const ROOT = "/sys/fs/cgroup";
/** Every hierarchy that a kubelet and runc use beside version 1, of which "unified" is one of version 2. */
const HIERARCHIES = "blkio cpu cpuacct cpuset devices freezer hugetlb memory pids systemd unified".split(" ");
/** Without these no kubelet starts. */
const NEEDED = ["cpu", "cpuset", "memory", "pids"];

/** False if cgroups can be made here, else the reason. */
export function requireCgroups(): false | string {
  const there = isVersion2() ? version2Controllers() : mountedHierarchies();
  const missing = NEEDED.filter((name) => !there.includes(name));
  return missing.length > 0 && `needs cgroup controllers for ${missing.join(", ")}`;
}

/** The folders of a cgroup of that name, to be made. */
export function cgroupFolders(name: string): string[] {
  if (isVersion2()) return [path.join(ROOT, name)];
  // Where one hierarchy has two controllers, the second is a link to it.
  const folders = mountedHierarchies().map((hierarchy) => fs.realpathSync(path.join(ROOT, hierarchy)));
  return [...new Set(folders)].map((folder) => path.join(folder, name));
}

export function makeCgroup(folder: string): void {
  fs.mkdirSync(folder, { recursive: true });
  if (isVersion2()) {
    const controllers = version2Controllers().map((name) => `+${name}`);
    try {
      fs.writeFileSync(path.join(ROOT, "cgroup.subtree_control"), controllers.join(" "));
    } catch (cause) {
      throw new Error(`a cluster needs ${ROOT} to be no process's own cgroup, as in most containers it is`, { cause });
    }
    return;
  }
  // In version 1 a new cpuset has no processors and no memory, and takes no process.
  for (const file of ["cpuset.cpus", "cpuset.mems"]) {
    if (!fs.existsSync(path.join(folder, file))) continue;
    fs.writeFileSync(path.join(folder, file), fs.readFileSync(path.join(folder, "..", file)));
  }
}

/** The processes in it and in all below it. */
export function processesIn(folder: string): number[] {
  return subgroups(folder).flatMap((group) => {
    const text = fs.readFileSync(path.join(group, "cgroup.procs"), "utf8");
    return text.split("\n").filter(Boolean).map(Number);
  });
}

/** Removes it and all below it; there must be no process in it any more. */
export function removeCgroup(folder: string): void {
  for (const group of subgroups(folder)) fs.rmdirSync(group);
}

/** Itself too, those below first. */
function subgroups(folder: string): string[] {
  if (!fs.existsSync(folder)) return [];
  const below = fs.readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  return [...below.flatMap((entry) => subgroups(path.join(folder, entry.name))), folder];
}

function version2Controllers(): string[] {
  return fs.readFileSync(path.join(ROOT, "cgroup.controllers"), "utf8").trim().split(" ");
}

function mountedHierarchies(): string[] {
  return HIERARCHIES.filter((hierarchy) => fs.existsSync(path.join(ROOT, hierarchy, "cgroup.procs")));
}

function isVersion2(): boolean {
  return fs.existsSync(path.join(ROOT, "cgroup.controllers"));
}
