/**
 * Signs requests to S3 with AWS Signature Version 4.
 *
 * Signed are the host, the range and every `x-amz-` header, the session token among them; the rest a proxy may change.
 * Credentials that expire are asked for anew shortly before: a transfer may last longer than they do.
 */
import { Sha256 } from "@aws-crypto/sha256-js";
import { SignatureV4 } from "@smithy/signature-v4";
import { SourceError } from "../errors.ts";
import type { AgentSettings } from "../http/agents.ts";
import type { Authorizer, UnsignedRequest } from "../http/authorization.ts";
import { askChain } from "./aws-credentials.ts";
import type { AwsCredentials } from "./aws-credentials.ts";

/** Plain data. It holds secrets. */
export interface AwsSigning {
  readonly credentials: AwsCredentials;
  readonly region: string;
  /** The profile that credentials which expire come from, if it was named. */
  readonly profile: string | undefined;
  /** What the server's clock is ahead of this one. */
  readonly clockOffsetMs: number;
}

type Header = readonly [name: string, value: string];

/** How long before they expire new ones are asked for. */
const RENEWAL_MS = 3 * 60 * 1000;

const SIGNED = /^(?:range|x-amz-.*)$/;

export class AwsAuthorizer implements Authorizer {
  readonly #signing: AwsSigning;
  readonly #network: AgentSettings;
  readonly #now: () => number;
  #credentials: AwsCredentials;
  #renewal: Promise<void> | undefined;

  /** @param now milliseconds since 1970 */
  constructor(signing: AwsSigning, network: AgentSettings, now: () => number) {
    this.#signing = signing;
    this.#network = network;
    this.#now = now;
    this.#credentials = signing.credentials;
  }

  async headers(request: UnsignedRequest): Promise<readonly Header[]> {
    const { expiresAtMs } = this.#credentials;
    if (expiresAtMs !== undefined && this.#now() > expiresAtMs - RENEWAL_MS) {
      await (this.#renewal ??= this.#renew().finally(() => (this.#renewal = undefined)));
    }
    return await sign(request, this.#credentials, this.#signing.region, this.#now() + this.#signing.clockOffsetMs);
  }

  async #renew(): Promise<void> {
    const { region, profile } = this.#signing;
    const renewed = await askChain(region, this.#network, profile);
    if (renewed === undefined) throw new SourceError("SOURCE_DENIED", "the AWS credentials have expired");
    this.#credentials = renewed;
  }
}

async function sign(
  request: UnsignedRequest,
  credentials: AwsCredentials,
  region: string,
  nowMs: number,
): Promise<readonly Header[]> {
  const { url, method } = request;
  const { accessKeyId, secretAccessKey, sessionToken } = credentials;
  const signer = new SignatureV4({
    service: "s3",
    region,
    credentials: { accessKeyId, secretAccessKey, ...(sessionToken === undefined ? {} : { sessionToken }) },
    sha256: Sha256,
    // The key is encoded once, and signed as it is sent.
    uriEscapePath: false,
  });
  const given = signedHeaders(request);
  const signed = await signer.sign(
    {
      method,
      protocol: url.protocol,
      hostname: url.hostname,
      path: url.pathname,
      query: Object.fromEntries(url.searchParams),
      headers: given,
    },
    { signingDate: new Date(nowMs) },
  );
  return Object.entries(signed.headers).filter(([name]) => !(name.toLowerCase() in given));
}

/** What is sent more than once arrives as one header. */
function signedHeaders({ url, headers }: UnsignedRequest): Record<string, string> {
  const signed: Record<string, string> = { host: url.host };
  for (const [name, value] of headers) {
    const key = name.toLowerCase();
    if (SIGNED.test(key)) signed[key] = signed[key] === undefined ? value : `${signed[key]}, ${value}`;
  }
  return signed;
}
