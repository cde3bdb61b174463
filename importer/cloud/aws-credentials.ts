/**
 * Who asks AWS: keys from the environment, else what its credential chain finds, in this order: a profile, the program that
 * a profile names, a web identity, the container's role, the instance's role.
 *
 * The chain is loaded where the environment has no keys. It reads the process's own environment and home folder, and asks
 * the network by the proxies and certificates of this run.
 */
import { UsageError, SourceError } from "../errors.ts";
import { Agents } from "../http/agents.ts";
import type { AgentSettings } from "../http/agents.ts";

/** Plain data. It holds secrets. */
export interface AwsCredentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken: string | undefined;
  /** Since 1970; undefined: they last. */
  readonly expiresAtMs: number | undefined;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** What the chain says when none of its members has any. */
const NONE_FOUND = "Could not load credentials from any providers";

/** How long the metadata service of an instance may take: most machines are no instance. */
const METADATA_TIMEOUT_MS = 1000;

/**
 * Undefined: there are none, so one asks as anybody.
 * @throws UsageError for half a pair, SOURCE_DENIED where credentials were named and cannot be had
 */
export async function findAwsCredentials(
  env: Environment,
  region: string,
  network: AgentSettings,
): Promise<AwsCredentials | undefined> {
  const accessKeyId = env["AWS_ACCESS_KEY_ID"] || undefined;
  const secretAccessKey = env["AWS_SECRET_ACCESS_KEY"] || undefined;
  if (accessKeyId === undefined && secretAccessKey === undefined) {
    return await askChain(region, network, env["AWS_PROFILE"] || undefined);
  }
  if (accessKeyId === undefined || secretAccessKey === undefined) {
    throw new UsageError("one of AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY is not set");
  }
  return {
    accessKeyId,
    secretAccessKey,
    sessionToken: env["AWS_SESSION_TOKEN"] || undefined,
    expiresAtMs: undefined,
  };
}

/** As findAwsCredentials without the environment's keys, which do not expire. */
export async function askChain(
  region: string,
  network: AgentSettings,
  profile?: string,
): Promise<AwsCredentials | undefined> {
  const { defaultProvider } = await import("@aws-sdk/credential-provider-node");
  const agents = new Agents(network);
  try {
    const httpsAgent = agents.for(new URL(`https://sts.${region}.amazonaws.com/`));
    const found = await defaultProvider({
      ...(profile === undefined ? {} : { profile }),
      timeout: METADATA_TIMEOUT_MS,
      maxRetries: 0,
      clientConfig: { region, requestHandler: { httpsAgent } },
    })();
    return {
      accessKeyId: found.accessKeyId,
      secretAccessKey: found.secretAccessKey,
      sessionToken: found.sessionToken,
      expiresAtMs: found.expiration?.getTime(),
    };
  } catch (error) {
    if (error instanceof Error && error.message.startsWith(NONE_FOUND)) return undefined;
    throw unavailable(error);
  } finally {
    agents.close();
  }
}

/** Without the cause: its words are a service's or a program's, and may hold what was sent to it. */
function unavailable(error: unknown): SourceError {
  const reason = error instanceof Error && /^\w{1,64}$/.test(error.name) ? error.name : "unknown";
  return new SourceError("SOURCE_DENIED", `the AWS credentials that are set up here cannot be had (${reason})`, {
    remedy: "Check the profile, the login or the role; `aws sts get-caller-identity` says more.",
    context: { reason },
  });
}
