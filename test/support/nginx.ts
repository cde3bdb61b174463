/**
 * nginx on the loopback interface, started for one test and stopped after it.
 */
import fs from "node:fs";
import path from "node:path";
import { withServerProcess } from "./server-process.ts";

export interface Nginx {
  readonly port: number;
  /** Lines of its access log: method, path, status, range. */
  readonly log: () => string[];
}

export interface NginxSettings {
  readonly directives?: string;
  readonly listen?: string;
  readonly zone?: string;
}

/**
 * Runs `use` with nginx serving the files in `folder`.
 * @param directives of the server block
 * @param listen     after the port: `ssl` for instance
 * @param zone       of the http block, which directives may refer to
 */
export async function withNginx<T>(
  folder: string,
  { directives = "", listen = "", zone = "" }: NginxSettings,
  use: (nginx: Nginx) => Promise<T>,
): Promise<T> {
  const state = fs.mkdtempSync(path.join(folder, ".nginx-"));
  const log = path.join(state, "access.log");
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
    (kind) => `${kind}_temp_path ${state}/${kind};`,
  );
  const configuration = (port: number): string => `
    daemon off; ${process.getuid?.() === 0 ? "user root;" : ""} worker_processes 1; pid ${state}/pid; error_log stderr;
    events { worker_connections 256; }
    http {
      ${temporary.join(" ")} ${zone}
      log_format seen '$request_method $uri $status $http_range';
      access_log ${log} seen;
      server { listen 127.0.0.1:${port} ${listen}; root ${folder}; ${directives} }
    }`;
  const command = (port: number): string[] => {
    fs.writeFileSync(path.join(state, "nginx.conf"), configuration(port));
    return ["-p", state, "-c", path.join(state, "nginx.conf"), "-e", "stderr"];
  };
  try {
    return await withServerProcess("nginx", command, async ({ port }) => {
      return await use({ port, log: () => fs.readFileSync(log, "utf8").trimEnd().split("\n") });
    });
  } finally {
    fs.rmSync(state, { recursive: true, force: true });
  }
}

/** Directives of a server block that listens with `ssl`, for a certificate that is written to `folder`. */
export function tlsDirectives(folder: string, { key, cert }: { readonly key: string; readonly cert: string }): string {
  const [keyFile, certFile] = [path.join(folder, "nginx.key"), path.join(folder, "nginx.crt")];
  fs.writeFileSync(keyFile, key);
  fs.writeFileSync(certFile, cert);
  return `ssl_certificate ${certFile}; ssl_certificate_key ${keyFile};`;
}
