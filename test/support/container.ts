/**
 * A container as a kubelet starts an importer's: user and group 107, no capabilities, no new privileges, the runtime's default
 * seccomp profile, a root filesystem that cannot be written, and a limit of memory. runc starts it, so neither a daemon nor
 * a cluster is needed. It shares the machine's network, so that it reaches servers of the test on the loopback interface.
 */
import { execFileSync, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { withFolder } from "./loop-device.ts";

/** qemu's, which importers run as. */
export const CONTAINER_USER = 107;

/** CDI's default for importer pods: 600M. */
const MEMORY_LIMIT = 600_000_000;
const MAX_RUN_MS = 120_000;
/** Of golang-github-containers-common, which buildah depends on: Docker's, containerd's and podman's profile. */
const SECCOMP_PROFILE = "/usr/share/containers/seccomp.json";
const SEARCH_PATH = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

export interface Container {
  readonly root: string;
  readonly command: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Folders of this machine by their place in the container; they can be written. */
  readonly volumes?: Readonly<Record<string, string>>;
  /** Block devices of this machine by their path in the container, owned by the container's user. */
  readonly devices?: Readonly<Record<string, string>>;
}

export interface ContainerResult {
  readonly status: number | null;
  readonly output: string;
  /** What is in /dev/termination-log. */
  readonly message: string;
}

/** Runs it to its end, after which nothing of it is left. */
export async function runContainer(container: Container): Promise<ContainerResult> {
  return await withFolder(async (bundle) => {
    const terminationLog = path.join(bundle, "termination-log");
    fs.writeFileSync(terminationLog, "");
    fs.chmodSync(terminationLog, 0o666);
    fs.writeFileSync(
      path.join(bundle, "config.json"),
      JSON.stringify(specification(container, bundle, terminationLog)),
    );
    const id = `decant-test-${randomUUID()}`;
    const state = ["--root", path.join(bundle, "state")];
    const child = spawn("runc", [...state, "run", "--bundle", bundle, id], {
      stdio: ["ignore", "pipe", "pipe"],
      timeout: MAX_RUN_MS,
    });
    let output = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (text: string) => (output += text));
    }
    const status = await new Promise<number | null>((resolve, reject) => {
      child.on("error", reject);
      child.on("close", resolve);
    });
    if (status === null) execFileSync("runc", [...state, "delete", "--force", id]); // it took too long
    return { status, output, message: fs.readFileSync(terminationLog, "utf8") };
  });
}

/** The OCI runtime's, on top of what runc itself takes for usual. */
function specification(container: Container, bundle: string, terminationLog: string): object {
  execFileSync("runc", ["spec", "--bundle", bundle]);
  const spec = JSON.parse(fs.readFileSync(path.join(bundle, "config.json"), "utf8")) as Specification;
  const devices = Object.entries(container.devices ?? {}).map(([name, device]) => describeDevice(name, device));
  const binds = { ...container.volumes, "/dev/termination-log": terminationLog };
  const files = ["/etc/resolv.conf", "/etc/hosts"].filter((file) => fs.existsSync(file));
  return {
    ...spec,
    root: { path: container.root, readonly: true },
    process: {
      cwd: "/",
      user: { uid: CONTAINER_USER, gid: CONTAINER_USER },
      args: container.command,
      env: [SEARCH_PATH, ...Object.entries(container.env ?? {}).map(([name, value]) => `${name}=${value}`)],
      capabilities: {},
      noNewPrivileges: true,
    },
    mounts: [
      ...spec.mounts,
      { destination: "/tmp", type: "tmpfs", source: "tmpfs", options: ["nosuid", "nodev", "mode=1777"] },
      ...Object.entries(binds).map(([destination, source]) => ({
        destination,
        source,
        type: "bind",
        options: ["bind", "rw"],
      })),
      ...files.map((file) => ({ destination: file, source: file, type: "bind", options: ["bind", "ro"] })),
    ],
    linux: {
      ...spec.linux,
      namespaces: spec.linux.namespaces.filter(({ type }) => type !== "network"),
      // Beside this process's own group: where that is, other processes may be forbidden.
      cgroupsPath: `/${path.basename(bundle)}`,
      devices,
      resources: {
        devices: [
          ...spec.linux.resources.devices,
          ...devices.map(({ type, major, minor }) => ({ allow: true, type, major, minor, access: "rwm" })),
        ],
        memory: { limit: MEMORY_LIMIT },
      },
      seccomp: seccomp(),
    },
  };
}

interface Specification {
  readonly mounts: readonly object[];
  readonly linux: {
    readonly namespaces: readonly { readonly type: string }[];
    readonly resources: { readonly devices: readonly object[] };
  };
}

function describeDevice(name: string, device: string) {
  const { rdev } = fs.statSync(device);
  // As in the kernel's new_encode_dev.
  const [major, minor] = [(rdev >>> 8) & 0xfff, (rdev & 0xff) | ((rdev >>> 12) & 0xfff00)];
  return { path: name, type: "b", major, minor, fileMode: 0o660, uid: CONTAINER_USER, gid: CONTAINER_USER };
}

interface Profile {
  readonly defaultAction: string;
  readonly defaultErrnoRet: number;
  readonly archMap: readonly { readonly architecture: string; readonly subArchitectures: readonly string[] }[];
  readonly syscalls: readonly {
    readonly names: readonly string[];
    readonly action: string;
    readonly args: readonly object[] | null;
    readonly errnoRet?: number;
    readonly includes: { readonly caps?: readonly string[]; readonly arches?: readonly string[] };
    readonly excludes: { readonly caps?: readonly string[]; readonly arches?: readonly string[] };
  }[];
}

/** The profile for a process without capabilities on this machine, as a runtime makes it before it calls runc. */
function seccomp(): object {
  const profile = JSON.parse(fs.readFileSync(SECCOMP_PROFILE, "utf8")) as Profile;
  const [arch, architecture] =
    process.arch === "arm64" ? ["arm64", "SCMP_ARCH_AARCH64"] : ["amd64", "SCMP_ARCH_X86_64"];
  const applies = profile.syscalls.filter(({ includes, excludes }) => {
    if ((includes.caps ?? []).length > 0) return false;
    if (includes.arches !== undefined && !includes.arches.includes(arch)) return false;
    return excludes.arches === undefined || !excludes.arches.includes(arch);
  });
  return {
    defaultAction: profile.defaultAction,
    defaultErrnoRet: profile.defaultErrnoRet,
    architectures: profile.archMap
      .filter((entry) => entry.architecture === architecture)
      .flatMap((entry) => [entry.architecture, ...entry.subArchitectures]),
    syscalls: applies.map(({ names, action, args, errnoRet }) => ({
      names,
      action,
      ...(args === null || args.length === 0 ? {} : { args }),
      ...(errnoRet === undefined ? {} : { errnoRet }),
    })),
  };
}
