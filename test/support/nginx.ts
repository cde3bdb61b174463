/**
 * nginx on the loopback interface, started for one test and stopped after it.
 */
import { spawn } from "node:child_process";
import fs from "node:fs";
import net from "node:net";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

export interface Nginx {
  readonly port: number;
  /** Lines of its access log: method, path, status, range. */
  readonly log: () => string[];
}

/**
 * Runs `use` with nginx serving the files in `folder`.
 * @param directives of the server block
 * @param listen     after the port: `ssl` for instance
 */
export async function withNginx<T>(
  folder: string,
  { directives = "", listen = "" }: { readonly directives?: string; readonly listen?: string },
  use: (nginx: Nginx) => Promise<T>,
): Promise<T> {
  const state = fs.mkdtempSync(path.join(folder, ".nginx-"));
  const port = await freePort();
  const log = path.join(state, "access.log");
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
    (kind) => `${kind}_temp_path ${state}/${kind};`,
  );
  const configuration = `
    daemon off; ${process.getuid?.() === 0 ? "user root;" : ""} worker_processes 1; pid ${state}/pid; error_log ${state}/error.log;
    events { worker_connections 256; }
    http {
      ${temporary.join(" ")}
      log_format seen '$request_method $uri $status $http_range';
      access_log ${log} seen;
      server { listen 127.0.0.1:${port} ${listen}; root ${folder}; ${directives} }
    }`;
  fs.writeFileSync(path.join(state, "nginx.conf"), configuration);
  const args = ["-p", state, "-c", path.join(state, "nginx.conf"), "-e", path.join(state, "error.log")];
  const nginx = spawn("nginx", args, { stdio: "ignore" });
  const ended = new Promise<void>((resolve) => {
    nginx.on("close", () => resolve());
    nginx.on("error", () => resolve());
  });
  try {
    await answers(port, path.join(state, "error.log"));
    return await use({ port, log: () => fs.readFileSync(log, "utf8").trimEnd().split("\n") });
  } finally {
    nginx.kill("SIGTERM");
    await ended;
    fs.rmSync(state, { recursive: true, force: true });
  }
}

async function answers(port: number, errorLog: string): Promise<void> {
  for (let attempt = 0; attempt < 200; attempt++) {
    const isOpen = await new Promise<boolean>((resolve) => {
      const socket = net.connect(port, "127.0.0.1", () => {
        socket.destroy();
        resolve(true);
      });
      socket.on("error", () => resolve(false));
    });
    if (isOpen) return;
    await sleep(25);
  }
  throw new Error(`nginx does not listen: ${fs.existsSync(errorLog) ? fs.readFileSync(errorLog, "utf8") : "no log"}`);
}

export async function freePort(): Promise<number> {
  const server = net.createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
