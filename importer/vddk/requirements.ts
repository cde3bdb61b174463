/**
 * What a machine needs to serve VMware disks: nbdkit with two filters and its vddk plugin, and VMware's own library, which
 * nobody but VMware may hand out. What is missing is named all at once, before anything is asked of a server.
 */
import { execFile } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { promisify } from "node:util";
import { isExecutable } from "../executable-file.ts";

/** Where an init container copies VMware's library. */
export const VDDK_LIBRARY = "/opt/vmware-vix-disklib-distrib";

/** They make a lost connection and slow block status bearable. */
const FILTERS = ["retry", "cacheextents"] as const;

/** Where programs are if nobody says so. */
const DEFAULT_PATH = "/usr/local/bin:/usr/bin:/usr/sbin:/bin";

const DUMP_TIMEOUT_MS = 10_000;

/** Empty: this machine could serve one. */
export async function missingForVddk(searchPath = DEFAULT_PATH, library = VDDK_LIBRARY): Promise<readonly string[]> {
  const program = findProgram("nbdkit", searchPath);
  const missing = program === undefined ? ["the program nbdkit"] : await missingPieces(program);
  return hasLibrary(library) ? missing : [...missing, `VMware's library under ${library}`];
}

function findProgram(name: string, searchPath: string): string | undefined {
  const folders = searchPath.split(path.delimiter).filter((folder) => path.isAbsolute(folder));
  return folders.map((folder) => path.join(folder, name)).find(isExecutable);
}

/** Of nbdkit, which knows itself where its parts are. */
async function missingPieces(program: string): Promise<readonly string[]> {
  const folders = await dumpConfig(program);
  if (folders === undefined) return ["an nbdkit that starts"];
  const filters = FILTERS.filter((name) => !fs.existsSync(path.join(folders.filters, `nbdkit-${name}-filter.so`)));
  const missing = filters.map((name) => `nbdkit's filter ${name}`);
  const hasPlugin = fs.existsSync(path.join(folders.plugins, "nbdkit-vddk-plugin.so"));
  return hasPlugin ? missing : [...missing, "nbdkit's plugin vddk"];
}

async function dumpConfig(
  program: string,
): Promise<{ readonly plugins: string; readonly filters: string } | undefined> {
  try {
    const { stdout } = await promisify(execFile)(program, ["--dump-config"], { timeout: DUMP_TIMEOUT_MS });
    const [plugins, filters] = ["plugindir", "filterdir"].map(
      (key) => new RegExp(`^${key}=(/.*)$`, "m").exec(stdout)?.[1],
    );
    return plugins === undefined || filters === undefined ? undefined : { plugins, filters };
  } catch {
    return undefined;
  }
}

/** A folder that is there but empty is what a failed init container leaves. */
function hasLibrary(folder: string): boolean {
  try {
    return fs.readdirSync(path.join(folder, "lib64")).some((name) => name.startsWith("libvixDiskLib.so"));
  } catch {
    return false;
  }
}
