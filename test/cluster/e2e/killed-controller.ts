/**
 * The controller with its own account's rights, in this process, killed between two calls of the API; the one that an administrator
 * installed is sent away meanwhile, and comes back to what it finds.
 */
import { connect } from "../../../controller/cluster.ts";
import { DECANT_IMAGE } from "../../support/decant-tarball.ts";
import { settings } from "../../support/observed-import.ts";
import { startController } from "../../support/run-controller.ts";
import type { Cluster } from "../cluster.ts";
import { CONTROLLER_NAME, CONTROLLER_NAMESPACE, untilRolledOut } from "./controller.ts";

const PATIENCE_MS = 150_000;

/**
 * Runs a controller until a call for which `isLast` says so: that one is not made, and no other after it.
 * @param start what is to be done when there is no controller
 */
export async function killBefore(
  cluster: Cluster,
  isLast: (verb: string, kind: string) => boolean,
  start: () => Promise<void>,
): Promise<void> {
  await scale(cluster, 0);
  const pods = `/api/v1/namespaces/${CONTROLLER_NAMESPACE}/pods`;
  const isEmpty = (list: { readonly items: readonly object[] } | undefined): boolean => list?.items.length === 0;
  await cluster.api.until(pods, isEmpty, PATIENCE_MS);
  await start();
  const kubeconfig = await cluster.kubeconfigFor(CONTROLLER_NAMESPACE, CONTROLLER_NAME);
  const due = Promise.withResolvers<void>();
  let isDue = false;
  const controller = startController(await connect({ kubeconfig, env: {} }), {
    identity: `test-${process.pid}`,
    settings: settings({ workerImage: DECANT_IMAGE }),
    onCall: (verb, kind) => {
      isDue ||= isLast(verb, kind);
      if (!isDue) return;
      due.resolve();
      throw new Error("killed");
    },
  });
  const tooLate = setTimeout(() => due.reject(new Error(`the call did not come in ${PATIENCE_MS} ms`)), PATIENCE_MS);
  try {
    await due.promise;
  } finally {
    clearTimeout(tooLate);
    await controller.kill();
  }
}

/** Both replicas are ready again. */
export async function bringBack(cluster: Cluster): Promise<void> {
  await scale(cluster, 2);
  await untilRolledOut(cluster);
}

async function scale(cluster: Cluster, replicas: number): Promise<void> {
  await cluster.kubectl([
    "scale",
    "-n",
    CONTROLLER_NAMESPACE,
    `deployment/${CONTROLLER_NAME}`,
    `--replicas=${replicas}`,
  ]);
}
