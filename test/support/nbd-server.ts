/**
 * A real NBD server on a Unix socket: nbdkit or qemu-nbd.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import net from "node:net";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const START_TIMEOUT_MS = 10_000;

/**
 * Runs `use` with the socket's path; the server is gone afterwards.
 * @param folder  holds the socket
 * @param command `nbdkit` or `qemu-nbd` with what it serves
 */
export async function withNbdServer<T>(
  folder: string,
  [program = "", ...args]: readonly string[],
  use: (socket: string) => Promise<T>,
): Promise<T> {
  const socket = path.join(folder, "nbd.sock");
  const own = program === "nbdkit" ? ["--foreground", "--readonly", "--unix", socket] : ["--socket", socket];
  const child = spawn(program, [...own, ...args], { stdio: ["ignore", "ignore", "pipe"] });
  let words = "";
  child.stderr.on("data", (piece: Buffer) => (words += piece.toString()));
  try {
    const started = performance.now();
    while (!(await listens(socket))) {
      const isOver = child.exitCode !== null || performance.now() - started > START_TIMEOUT_MS;
      if (isOver) throw new Error(`${program} did not start: ${words}`);
      await sleep(5);
    }
    return await use(socket);
  } finally {
    const ended = once(child, "exit");
    if (child.exitCode === null && child.signalCode === null) {
      child.kill("SIGKILL");
      await ended;
    }
  }
}

/** The socket's file is there a moment before anybody listens. */
async function listens(socket: string): Promise<boolean> {
  const probe = net.connect(socket);
  try {
    await once(probe, "connect");
    return true;
  } catch {
    return false;
  } finally {
    probe.destroy();
  }
}
