/**
 * Makes the CRDs that are missing before anything else is asked of the API server, as ensure-crds.ts decides, and waits until
 * they are served.
 */
import { CUSTOM_RESOURCE_DEFINITION } from "./api/kinds.ts";
import { allCrds } from "./crds/all-crds.ts";
import { ensureCrds } from "./ensure-crds.ts";
import { execute } from "./executor.ts";
import type { ExecutorOptions } from "./executor.ts";
import type { Log } from "./log.ts";
import { Refusal } from "./refusal.ts";

export interface InstallOptions extends ExecutorOptions {
  readonly log: Log;
  readonly sleep: (ms: number) => Promise<void>;
  readonly signal: AbortSignal;
}

const POLL_MS = 250;

/** @throws Refusal if they belong to another installation, or the API server refuses them */
export async function installCrds(options: InstallOptions): Promise<void> {
  const { client, log, sleep, signal } = options;
  const wanted = allCrds();
  for (;;) {
    signal.throwIfAborted();
    const found = await Promise.all(
      wanted.map(async ({ metadata }) => {
        return await client.find(CUSTOM_RESOURCE_DEFINITION, metadata.name, undefined, signal);
      }),
    );
    const decision = ensureCrds(
      wanted,
      found.filter((crd) => crd !== undefined),
    );
    if (decision.kind === "refused") throw new Refusal(decision.sentence);
    if (decision.isReady) return;
    if (decision.actions.length > 0) log.info("CRDs are brought up to date", { count: decision.actions.length });
    const execution = await execute(decision.actions, options);
    if (execution.end === "rejected") throw new Refusal(`the API server refuses a CRD: ${execution.rejection.message}`);
    if (execution.end === "failed") throw execution.error;
    await sleep(POLL_MS);
  }
}
