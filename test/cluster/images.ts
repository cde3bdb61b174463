/**
 * Images of containers for the nodes: a busybox made here of the machine's own, and whatever a test has as a tarball.
 */
import { execFile } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { promisify } from "node:util";
import { buildImage, buildLayer, symbolicLink, writeLayout } from "../support/build-image.ts";
import type { BuiltImage } from "../support/build-image.ts";
import type { TarEntry } from "../support/build-tar.ts";
import type { NodeFacts } from "./state.ts";

/** Does nothing unless it is told to, so it also holds the namespaces of pods. */
export const BUSYBOX_IMAGE = "docker.io/library/busybox:test";
const DO_NOTHING = ["/bin/busybox", "sleep", "2147483647"];
const COMMANDS = ["cat", "chmod", "dd", "df", "head", "id", "ls", "md5sum", "mkdir", "printf", "rm", "sh", "sha256sum"];
const MORE_COMMANDS = ["blockdev", "cp", "grep", "nc", "od", "sleep", "stat", "sync", "tail", "touch", "true", "wget"];
const IMPORT_TIMEOUT_MS = 5 * 60 * 1000;

/** Debian's busybox-static, with the commands that tests and provisioners use. */
export function buildBusyboxImage(): BuiltImage {
  const layer = buildLayer([
    directory("bin/", 0o755),
    directory("tmp/", 0o1777),
    { name: "bin/busybox", content: fs.readFileSync(busyboxProgram()), patch: withMode(0o755) },
    ...[...COMMANDS, ...MORE_COMMANDS].map((name) => symbolicLink(`bin/${name}`, "busybox")),
  ]);
  const config = { Entrypoint: DO_NOTHING, Env: ["PATH=/bin"] };
  const architecture = process.arch === "arm64" ? "arm64" : "amd64";
  return buildImage([layer], { architecture, config: { config } });
}

/** The same as a tarball for `importImage`. */
export async function writeBusyboxImage(folder: string): Promise<string> {
  const layout = path.join(folder, "busybox");
  const fields = { annotations: { "io.containerd.image.name": BUSYBOX_IMAGE } };
  writeLayout(layout, [{ image: buildBusyboxImage(), fields }]);
  const tarball = path.join(folder, "busybox.tar");
  await promisify(execFile)("tar", ["-cf", tarball, "-C", layout, "."]);
  return tarball;
}

/** False if the machine's busybox needs no libraries, which are not in the image; else the reason. */
export async function requireStaticBusybox(): Promise<false | string> {
  const { stdout, stderr } = await promisify(execFile)("ldd", [busyboxProgram()]).catch(({ stderr: text }) => {
    return { stdout: "", stderr: String(text) };
  });
  return `${stdout}${stderr}`.includes("not a dynamic") ? false : "needs busybox-static in place of busybox";
}

/** Gives every node the image of a tarball: an OCI layout whose index names it, or one of `docker save`. */
export async function importImage(nodes: readonly NodeFacts[], tarball: string): Promise<void> {
  await Promise.all(
    nodes.map(async ({ socket }) => {
      const args = ["--address", socket, "--namespace", "k8s.io", "images", "import", tarball];
      await promisify(execFile)("ctr", args, { timeout: IMPORT_TIMEOUT_MS });
    }),
  );
}

function busyboxProgram(): string {
  return ["/bin/busybox", "/usr/bin/busybox"].find((file) => fs.existsSync(file)) ?? "/bin/busybox";
}

function directory(name: string, mode: number): TarEntry {
  return { name, type: "5", patch: withMode(mode) };
}

function withMode(mode: number): (block: Uint8Array) => void {
  return (block) => block.set(Buffer.from(`${mode.toString(8).padStart(7, "0")}\0`, "latin1"), 100);
}
