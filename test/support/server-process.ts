/**
 * A server program on the loopback interface, started for one test and stopped after it.
 */
import { spawn } from "node:child_process";
import net from "node:net";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

export interface ServerProcess {
  readonly port: number;
  /** What it has written so far. */
  readonly output: () => string;
}

/**
 * Runs `use` once the server takes connections.
 * @param command its arguments, by the port that it is to listen on
 */
export async function withServerProcess<T>(
  program: string,
  command: (port: number) => readonly string[],
  use: (server: ServerProcess) => Promise<T>,
  env: Readonly<Record<string, string>> = {},
): Promise<T> {
  const port = await freePort();
  const child = spawn(program, command(port), {
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => (output += text));
  }
  const ended = new Promise<void>((resolve) => {
    child.on("close", () => resolve());
    child.on("error", () => resolve());
  });
  try {
    await untilOpen(port, () => output);
    return await use({ port, output: () => output });
  } finally {
    child.kill("SIGTERM");
    await ended;
  }
}

async function untilOpen(port: number, output: () => string): Promise<void> {
  for (let attempt = 0; attempt < 800; attempt++) {
    if (await isListening(port)) return;
    await sleep(25);
  }
  throw new Error(`the server does not listen: ${output()}`);
}

/** Somebody takes connections on it. */
export async function isListening(port: number): Promise<boolean> {
  return await new Promise((resolve) => {
    const socket = net.connect(port, "127.0.0.1", () => {
      socket.destroy();
      resolve(true);
    });
    socket.on("error", () => resolve(false));
  });
}

/** One on which nobody listens, for a moment at least. */
export async function freePort(): Promise<number> {
  const server = net.createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
