/**
 * What a VMware disk needs besides decant: nbdkit with two filters and its vddk plugin, and VMware's own library, which nobody
 * but VMware may hand out. It is looked for before anything is asked of a server, and what is missing is named all at once.
 */
import { execFile } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { promisify } from "node:util";
import { UsageError } from "../errors.ts";

export interface VddkPlaces {
  /** VMware's library, which an init container copies there. */
  readonly library: string;
  /** A plugin that takes the place of vddk and needs no library; for tests of a whole cluster. */
  readonly testPlugin: string;
  /** Further settings of the library; optional. */
  readonly configFile: string;
}

export const vddkPlaces: VddkPlaces = {
  library: "/opt/vmware-vix-disklib-distrib",
  testPlugin: "/opt/testing/libvddk-test-plugin.so",
  configFile: "/vddk-args/vddk-config-file",
};

/** How nbdkit is to be started. */
export interface Nbdkit {
  /** Path of the program. */
  readonly program: string;
  /** `vddk`, or the path of the test plugin. */
  readonly plugin: string;
}

export const NBDKIT_FILTERS = ["retry", "cacheextents"] as const;

const PLUGIN = "vddk";

/** Where programs are if nobody says so. */
const DEFAULT_PATH = "/usr/local/bin:/usr/bin:/usr/sbin:/bin";

const DUMP_TIMEOUT_MS = 10_000;

const REMEDY =
  "Provide VMware's VDDK through its init image (vddk-init-image in the ConfigMap v2v-vmware), and an importer image with " +
  "nbdkit and its vddk plugin.";

/**
 * @param arch as Node.js calls it
 * @throws UsageError with all that is missing
 */
export async function requireVddk(arch: string, searchPath = DEFAULT_PATH, places = vddkPlaces): Promise<Nbdkit> {
  if (arch !== "x64") {
    throw new UsageError(`the ${arch} architecture does not support VDDK`, {
      remedy: "VMware makes its library for amd64 only: have the importer run on such a node.",
    });
  }
  const program = findProgram("nbdkit", searchPath);
  const plugin = fs.existsSync(places.testPlugin) ? places.testPlugin : PLUGIN;
  const missing = program === undefined ? ["the program nbdkit"] : await missingPieces(program, plugin);
  if (plugin === PLUGIN && !hasLibrary(places.library)) missing.push(`VMware's library under ${places.library}`);
  if (program !== undefined && missing.length === 0) return { program, plugin };
  throw new UsageError(`VMware disks need what is not here: ${missing.join(", ")}`, { remedy: REMEDY });
}

function findProgram(name: string, searchPath: string): string | undefined {
  const folders = searchPath.split(path.delimiter).filter((folder) => path.isAbsolute(folder));
  return folders.map((folder) => path.join(folder, name)).find(isExecutable);
}

function isExecutable(file: string): boolean {
  try {
    fs.accessSync(file, fs.constants.X_OK);
    return fs.statSync(file).isFile();
  } catch {
    return false;
  }
}

/** Of nbdkit, which knows itself where its parts are. */
async function missingPieces(program: string, plugin: string): Promise<string[]> {
  const folders = await dumpConfig(program);
  if (folders === undefined) return ["an nbdkit that starts"];
  const filters = NBDKIT_FILTERS.filter(
    (name) => !fs.existsSync(path.join(folders.filters, `nbdkit-${name}-filter.so`)),
  );
  const missing = filters.map((name) => `nbdkit's filter ${name}`);
  if (plugin === PLUGIN && !fs.existsSync(path.join(folders.plugins, `nbdkit-${PLUGIN}-plugin.so`))) {
    missing.push(`nbdkit's plugin ${PLUGIN}`);
  }
  return missing;
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
