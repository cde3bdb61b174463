/**
 * versitygw, an S3 service that checks signatures, over a folder.
 */
import fs from "node:fs";
import path from "node:path";
import { Sha256 } from "@aws-crypto/sha256-js";
import { SignatureV4 } from "@smithy/signature-v4";
import { encodeKey } from "../../importer/cloud/object-path.ts";
import { withServerProcess } from "./server-process.ts";
import { withTemporaryFolder } from "./temporary-folder.ts";

export interface S3Service {
  /** Without a slash at its end. */
  readonly endpoint: string;
  /** Of its only user. */
  readonly credentials: { readonly accessKeyId: string; readonly secretAccessKey: string };
  readonly region: string;
  /** Puts an object, or with a query what else a bucket has. */
  readonly put: (path: string, body: Uint8Array | string, query?: Readonly<Record<string, string>>) => Promise<void>;
  /** The statuses that it has answered with. */
  readonly statuses: () => number[];
}

const CREDENTIALS = { accessKeyId: "decanttest", secretAccessKey: "hunter2-secret-key" };

/** Runs `use` with an empty bucket. */
export async function withVersitygw<T>(
  program: string,
  bucket: string,
  use: (service: S3Service) => Promise<T>,
  region = "eu-test-1",
): Promise<T> {
  return await withTemporaryFolder(async (folder) => {
    const [root, metadata] = [path.join(folder, "root"), path.join(folder, "metadata")];
    fs.mkdirSync(path.join(root, bucket), { recursive: true });
    fs.mkdirSync(metadata);
    const command = (port: number) => {
      const gateway = ["--port", `127.0.0.1:${port}`, "--region", region, "--keep-alive"];
      return [...gateway, "posix", "--sidecar", metadata, root];
    };
    const env = {
      ROOT_ACCESS_KEY_ID: CREDENTIALS.accessKeyId,
      ROOT_SECRET_ACCESS_KEY: CREDENTIALS.secretAccessKey,
    };
    return await withServerProcess(
      program,
      command,
      async ({ port, output }) => {
        const endpoint = `http://127.0.0.1:${port}`;
        return await use({
          endpoint,
          credentials: CREDENTIALS,
          region,
          put: async (name, body, query = {}) => await put(endpoint, region, { name, body, query }),
          statuses: () => [...output().matchAll(/\| vgw \| (\d{3}) \|/g)].map((line) => Number(line[1])),
        });
      },
      env,
    );
  });
}

interface Put {
  readonly name: string;
  readonly body: Uint8Array | string;
  readonly query: Readonly<Record<string, string>>;
}

async function put(endpoint: string, region: string, { name, body, query }: Put): Promise<void> {
  const url = new URL(`${endpoint}/${encodeKey(name)}?${new URLSearchParams(query).toString()}`);
  const signer = new SignatureV4({
    service: "s3",
    region,
    credentials: CREDENTIALS,
    sha256: Sha256,
    uriEscapePath: false,
  });
  const { headers } = await signer.sign({
    method: "PUT",
    protocol: url.protocol,
    hostname: url.hostname,
    path: url.pathname,
    query: { ...query },
    headers: { host: url.host },
    body,
  });
  const answer = await fetch(url, { method: "PUT", headers, body: Buffer.from(body) });
  if (!answer.ok) throw new Error(`versitygw answers ${answer.status}: ${await answer.text()}`);
}
