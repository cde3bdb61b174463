/**
 * A service account's JSON with a key of a test's own, and a server that gives tokens for it in the place of Google's.
 */
import { generateKeyPairSync } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { defaultHttpOptions } from "../../importer/http/http-options.ts";
import type { HttpOptions } from "../../importer/http/http-options.ts";
import { makeAuthority } from "./certificates.ts";
import { withProxy } from "./http-proxy.ts";
import { withServer } from "./misbehaving-server.ts";
import type { Misdeed } from "./misbehaving-server.ts";

export interface GoogleAccount {
  /** Path of the JSON. */
  readonly file: string;
  /** How the server is reached that answers in Google's place: by a proxy, and with a certificate of its own authority. */
  readonly http: HttpOptions;
  /** How many tokens were asked for. */
  readonly asked: () => number;
}

/**
 * Runs `use` with tokens `token-1`, `token-2` and so on. Needs openssl.
 * @param answer in their place
 */
export async function withGoogleAccount<T>(
  folder: string,
  use: (account: GoogleAccount) => Promise<T>,
  answer: (number: number) => Misdeed = token,
): Promise<T> {
  const authority = makeAuthority(folder);
  const trusted = path.join(folder, "trusted");
  fs.mkdirSync(trusted, { recursive: true });
  fs.writeFileSync(path.join(trusted, "ca.crt"), authority.certificate);
  const tls = authority.issue("DNS:oauth2.googleapis.com");
  return await withServer({ bytes: Buffer.alloc(0), misdeed: answer, tls }, async (server) => {
    return await withProxy({ leadsTo: Number(new URL(server.origin).port) }, async (proxy) => {
      const http = {
        ...defaultHttpOptions,
        proxies: { ...defaultHttpOptions.proxies, https: `http://${proxy.host}` },
        trust: { ...defaultHttpOptions.trust, folders: [trusted] },
      };
      return await use({ file: writeAccount(folder), http, asked: () => server.requests.length });
    });
  });
}

function writeAccount(folder: string): string {
  const file = path.join(folder, "service-account.json");
  const { privateKey } = generateKeyPairSync("rsa", {
    modulusLength: 2048,
    publicKeyEncoding: { type: "spki", format: "pem" },
    privateKeyEncoding: { type: "pkcs8", format: "pem" },
  });
  const account = {
    type: "service_account",
    project_id: "decant-test",
    private_key_id: "1",
    private_key: privateKey,
    client_email: "reader@decant-test.iam.gserviceaccount.com",
    client_id: "1",
    token_uri: "https://oauth2.googleapis.com/token",
  };
  fs.writeFileSync(file, JSON.stringify(account));
  return file;
}

function token(number: number): Misdeed {
  const body = { access_token: `token-${number}`, expires_in: 3600, token_type: "Bearer" };
  return {
    status: 200,
    headers: { "content-type": "application/json" },
    bytes: Buffer.from(JSON.stringify(body)),
  };
}
