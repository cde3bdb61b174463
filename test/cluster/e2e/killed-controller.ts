/**
 * The controller with its own account's rights, in this process, killed between two calls of the API; the one that an administrator
 * installed is sent away meanwhile.
 *
 * All of them have one identity: the next one takes the Lease of a dead one at once, as a replica that is started again would after
 * fifteen seconds.
 */
import { before } from "node:test";
import type { CallSubject } from "../../../controller/api-client.ts";
import { connect } from "../../../controller/cluster.ts";
import { isMap } from "../../../controller/plan/draft.ts";
import { DECANT_IMAGE } from "../../support/decant-tarball.ts";
import { settings } from "../../support/observed-import.ts";
import { startController } from "../../support/run-controller.ts";
import type { StartedController } from "../../support/run-controller.ts";
import type { Cluster } from "../cluster.ts";
import { clusterWithController, CONTROLLER_NAME, CONTROLLER_NAMESPACE, untilRolledOut } from "./controller.ts";

/** A call that the controller is about to make. */
export interface Call extends CallSubject {
  readonly verb: string;
  readonly kind: string;
}

export type CallTest = (call: Call) => boolean;

const PATIENCE_MS = 150_000;
/** Of the controller's log. */
const SHOWN_LINES = 20;

/** For a `describe`: the running cluster, with CRDs and rights but no controller, which is back after the last test. */
export function clusterWithoutController(): Cluster {
  const cluster = clusterWithController(async () => {
    await scale(cluster, 2);
    await untilRolledOut(cluster);
  });
  before(async () => {
    await scale(cluster, 0);
    const pods = `/api/v1/namespaces/${CONTROLLER_NAMESPACE}/pods`;
    const isEmpty = (list: { readonly items: readonly object[] } | undefined): boolean => list?.items.length === 0;
    await cluster.api.until(pods, isEmpty, PATIENCE_MS);
  });
  return cluster;
}

/**
 * Runs a controller, and kills it when so many have come to their last call, which is not made; the others go on until then.
 * @param stops whom the call is for, where it is not to be made
 */
export async function killBefore(
  cluster: Cluster,
  stops: (call: Call) => string | undefined,
  count: number,
): Promise<void> {
  const due = Promise.withResolvers<void>();
  const stopped = new Set<string>();
  const controller = await startInProcess(cluster, (call) => {
    const whom = stops(call);
    if (whom === undefined) return;
    stopped.add(whom);
    if (stopped.size === count) {
      due.resolve();
      void controller.kill();
    }
    throw new Error("killed");
  });
  const fail = (why: string): void => {
    const last = controller.lines.slice(-SHOWN_LINES).map((line) => JSON.stringify(line));
    due.reject(
      new Error(
        [`${stopped.size} of ${count} had come to their last call ${why}: ${[...stopped].join(", ")}`, ...last].join(
          "\n",
        ),
      ),
    );
  };
  const tooLate = setTimeout(() => fail(`after ${PATIENCE_MS} ms`), PATIENCE_MS);
  controller.ended.then(
    (end) => fail(`when the controller was ${end}`),
    (error: unknown) => fail(String(error)),
  );
  try {
    await due.promise;
  } finally {
    clearTimeout(tooLate);
    await controller.kill();
  }
}

/** Runs `use` while a controller works, which ends in order. */
export async function whileControlled<T>(cluster: Cluster, use: () => Promise<T>): Promise<T> {
  const controller = await startInProcess(cluster, () => undefined);
  try {
    return await use();
  } finally {
    await controller.stop();
  }
}

/** @param onCall told of each call before it is made; what it throws takes the call's place */
export async function startInProcess(cluster: Cluster, onCall: (call: Call) => void): Promise<StartedController> {
  const kubeconfig = await cluster.kubeconfigFor(CONTROLLER_NAMESPACE, CONTROLLER_NAME);
  return startController(await connect({ kubeconfig, env: {} }), {
    identity: `test-${process.pid}`,
    settings: settings({ workerImage: DECANT_IMAGE }),
    onCall: (verb, kind, subject) => onCall({ ...subject, verb, kind }),
  });
}

export function creates(kind: string, name = /(?:)/): CallTest {
  return (call) => call.verb === "create" && call.kind === kind && name.test(call.name ?? "");
}

export function deletes(kind: string): CallTest {
  return ({ verb, kind: of }) => verb === "delete" && of === kind;
}

/** @param field the way to something in the patch, which is there, and `value` if that is given */
export function patches(kind: string, field: readonly string[], value?: string): CallTest {
  return ({ verb, kind: of, sent }) => {
    if (verb !== "patch" || of !== kind) return false;
    const found = field.reduce<unknown>((at, name) => (isMap(at) ? at[name] : undefined), sent);
    return value === undefined ? found !== undefined : found === value;
  };
}

async function scale(cluster: Cluster, replicas: number): Promise<void> {
  const what = ["-n", CONTROLLER_NAMESPACE, `deployment/${CONTROLLER_NAME}`];
  await cluster.kubectl(["scale", ...what, `--replicas=${replicas}`]);
}
