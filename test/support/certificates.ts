/**
 * A certificate authority of a test's own, and certificates that it signs, made with openssl.
 */
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";

export interface Authority {
  /** PEM. */
  readonly certificate: string;
  /** A certificate for `names`, as openssl writes them: `DNS:localhost`, `IP:127.0.0.1`. */
  issue(...names: string[]): { readonly key: string; readonly cert: string };
}

const KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];

/** @param folder keeps its keys */
export function makeAuthority(folder: string, name = "decant test authority"): Authority {
  const [key, cert] = [path.join(folder, "ca.key"), path.join(folder, "ca.pem")];
  openssl("req", "-x509", ...KEY, "-keyout", key, "-out", cert, "-days", "2", "-subj", `/CN=${name}`);
  let serial = 0;
  return {
    certificate: fs.readFileSync(cert, "utf8"),
    issue(...names) {
      serial += 1;
      const [own, request, signed, extensions] = ["key", "csr", "crt", "ext"].map((kind) =>
        path.join(folder, `server-${serial}.${kind}`),
      ) as [string, string, string, string];
      openssl("req", ...KEY, "-keyout", own, "-out", request, "-subj", "/CN=decant test server");
      fs.writeFileSync(extensions, `subjectAltName=${names.join(",")}\n`);
      const ca = ["-CA", cert, "-CAkey", key, "-set_serial", String(serial)];
      openssl("x509", "-req", "-in", request, ...ca, "-days", "2", "-extfile", extensions, "-out", signed);
      return { key: fs.readFileSync(own, "utf8"), cert: fs.readFileSync(signed, "utf8") };
    },
  };
}

function openssl(...args: string[]): void {
  execFileSync("openssl", args, { stdio: ["ignore", "ignore", "pipe"] });
}
