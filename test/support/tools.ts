/**
 * What a test may need from the machine: tools to compare with, root, loop devices.
 *
 * Each function answers false, or the reason to skip, for `describe(name, { skip }, …)`. With CI=true nothing may be
 * skipped: there a missing tool throws, so the run fails. `npm test` as root on Debian installs `missingPackages()` itself.
 */
import { existsSync } from "node:fs";
import path from "node:path";
import { isExecutable } from "../../importer/executable-file.ts";

/** Debian's package for every tool that a test starts. */
const PACKAGES: Readonly<Record<string, string>> = {
  "7zz": "7zip",
  buildah: "buildah",
  busybox: "busybox-static",
  bzip2: "bzip2",
  chromium: "chromium",
  chroot: "coreutils",
  debootstrap: "debootstrap",
  containerd: "containerd",
  curl: "curl",
  dnsmasq: "dnsmasq-base",
  "docker-registry": "docker-registry",
  etcd: "etcd-server",
  fallocate: "util-linux",
  gzip: "gzip",
  igzip: "isal",
  ip: "iproute2",
  losetup: "mount",
  mke2fs: "e2fsprogs",
  mount: "mount",
  nbdcopy: "libnbd-bin",
  nbdfuse: "libnbd-bin",
  nbdkit: "nbdkit",
  nginx: "nginx-light",
  openssl: "openssl",
  pigz: "pigz",
  pzstd: "zstd",
  "qemu-img": "qemu-utils",
  "qemu-io": "qemu-utils",
  "qemu-nbd": "qemu-utils",
  runc: "runc",
  script: "bsdutils",
  skopeo: "skopeo",
  squid: "squid",
  strace: "strace",
  tar: "tar",
  umoci: "umoci",
  umount: "mount",
  unzip: "unzip",
  xz: "xz-utils",
  zip: "zip",
  zstd: "zstd",
};

/** What is no program on the PATH: Debian's package, and the file that is looked for in the machine's library folders. */
const LIBRARIES: Readonly<Record<string, string>> = {
  "containernetworking-plugins": "cni/bridge",
  libdeflate0: "libdeflate.so.0",
  libisal2: "libisal.so.2",
  liblzma5: "liblzma.so.5",
  libzstd1: "libzstd.so.1",
};

const LIBRARY_FOLDERS = [
  "/usr/lib/x86_64-linux-gnu",
  "/usr/lib/aarch64-linux-gnu",
  "/lib/x86_64-linux-gnu",
  "/usr/lib64",
  "/usr/lib",
];

/**
 * False if every tool is on the PATH (`npm test` adds /usr/sbin to it), else a sentence that names the packages to install.
 * @throws Error with CI=true instead, and always for a tool that PACKAGES does not list
 */
export function requireTools(...names: string[]): false | string {
  const missing = names.filter((name) => !isInstalled(name));
  if (missing.length === 0) return false;
  const packages = [...new Set(missing.map(packageOf))].sort().join(" ");
  return skipped(`needs ${missing.join(", ")}: apt-get install ${packages}`);
}

/** As requireTools, for the packages of LIBRARIES. */
export function requireLibraries(...packages: string[]): false | string {
  const missing = packages.filter((name) => !isLibraryInstalled(name));
  return missing.length === 0 ? false : skipped(`needs ${missing.join(", ")}: apt-get install ${missing.join(" ")}`);
}

/** False if the tests run as root, else the reason. */
export function requireRoot(): false | string {
  return process.getuid?.() === 0 ? false : skipped("needs root: run npm test as root");
}

/** False if loop devices can be made here (root, losetup, /dev/loop-control), else the reason. */
export function requireLoopDevices(): false | string {
  const reason = requireRoot() || requireTools("losetup");
  if (reason !== false) return reason;
  return hasLoopDevices() ? false : skipped("needs loop devices: there is no /dev/loop-control here");
}

/** In a container they may be missing, whatever is installed. */
export function hasLoopDevices(): boolean {
  return existsSync("/dev/loop-control");
}

/** Every tool that this file knows. */
export function listedTools(): string[] {
  return Object.keys(PACKAGES);
}

/** The packages of which a tool is not installed, for an installation in one go. */
export function missingPackages(): string[] {
  const missing = Object.keys(PACKAGES).filter((name) => !isInstalled(name));
  const libraries = Object.keys(LIBRARIES).filter((name) => !isLibraryInstalled(name));
  return [...new Set([...missing.map(packageOf), ...libraries])].sort();
}

/** The tools that a test's source asks for by name, for a list of what will be skipped. */
export function toolsNamedIn(source: string): { readonly name: string; readonly packageName: string }[] {
  const calls = [...source.matchAll(/requireTools\(([^)]*)\)/g)].map((call) => call[1] ?? "").join(" ");
  const named = Object.entries(PACKAGES).filter(([name]) => calls.includes(`"${name}"`));
  return named.map(([name, packageName]) => ({ name, packageName }));
}

function packageOf(name: string): string {
  const found = PACKAGES[name];
  if (found === undefined) throw new Error(`test/support/tools.ts does not say which package holds ${name}`);
  return found;
}

function skipped(reason: string): string {
  if (process.env["CI"] === "true") throw new Error(`CI=true allows no skipped test, and this one ${reason}`);
  return reason;
}

function isInstalled(name: string): boolean {
  packageOf(name);
  const folders = (process.env["PATH"] ?? "").split(path.delimiter);
  return folders.some((folder) => folder !== "" && isExecutable(path.join(folder, name)));
}

function isLibraryInstalled(name: string): boolean {
  const file = LIBRARIES[name];
  if (file === undefined) throw new Error(`test/support/tools.ts does not know the library ${name}`);
  return LIBRARY_FOLDERS.some((folder) => existsSync(path.join(folder, file)));
}
