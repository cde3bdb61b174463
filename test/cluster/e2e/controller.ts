/**
 * The controller as an administrator installs it: deploy/ with the image that these sources make, under its own service account.
 * Whoever comes first installs it; it stays until the cluster goes.
 */
import { randomUUID } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { after, before } from "node:test";
import type { CdiConfig } from "../../../controller/api/cdi.ts";
import { ROOT } from "../../support/run-decant.ts";
import { withTemporaryFolder } from "../../support/temporary-folder.ts";
import { openCluster } from "../cluster.ts";
import type { Cluster } from "../cluster.ts";

export const CONTROLLER_NAMESPACE = "decant";
/** Of its Deployment and its service account. */
export const CONTROLLER_NAME = "decant-controller";

const DEPLOYMENT = `/apis/apps/v1/namespaces/${CONTROLLER_NAMESPACE}/deployments/${CONTROLLER_NAME}`;
const CONFIG = "/apis/cdi.kubevirt.io/v1beta1/cdiconfigs/config";
/** Says of which sources the running one is made: the image's name is always the same. */
const SOURCES_ANNOTATION = "test.decant/sources";
const READY = "180s";

/**
 * For a `describe`: the running cluster, with the controller before the first test, closed after the last one.
 * @param atEnd what else is to be done after the last one
 */
export function clusterWithController(atEnd?: (cluster: Cluster) => Promise<void>): Cluster {
  const cluster = openCluster();
  before(async () => await deployController(cluster));
  after(async () => {
    await atEnd?.(cluster);
    cluster.close();
  });
  return cluster;
}

/** Runs `use` while CDIConfig has these feature gates and no others; after it there are none. */
export async function withFeatureGates(
  cluster: Cluster,
  featureGates: readonly string[],
  use: () => Promise<void>,
): Promise<void> {
  await withSettings(cluster, { featureGates }, use);
}

/** Runs `use` while CDIConfig has these settings; after it they are unset. The controller has seen both when it goes on. */
export async function withSettings<T>(
  cluster: Cluster,
  settings: CdiConfig["spec"],
  use: () => Promise<T>,
): Promise<T> {
  await set(cluster, settings);
  try {
    return await use();
  } finally {
    await set(cluster, Object.fromEntries(Object.keys(settings).map((name) => [name, null])));
  }
}

/** Not all of them show in the status, but an address that comes with them does. */
async function set(cluster: Cluster, settings: object): Promise<void> {
  const address = `https://${randomUUID()}.test`;
  await cluster.api.request("PATCH", CONFIG, { spec: { ...settings, uploadProxyURLOverride: address } });
  await cluster.api.until<CdiConfig>(CONFIG, (found) => found?.status?.uploadProxyURL === address);
  await cluster.api.request("PATCH", CONFIG, { spec: { uploadProxyURLOverride: null } });
}

/** Returns when all replicas that the Deployment is to have are ready. */
export async function untilRolledOut(cluster: Cluster): Promise<void> {
  const what = ["-n", CONTROLLER_NAMESPACE, `deployment/${CONTROLLER_NAME}`];
  await cluster.kubectl(["rollout", "status", ...what, `--timeout=${READY}`]);
}

async function deployController(cluster: Cluster): Promise<void> {
  const sources = await cluster.loadDecantImage();
  await withTemporaryFolder(async (folder) => {
    const deploy = path.join(folder, "deploy");
    fs.cpSync(path.join(ROOT, "deploy"), deploy, { recursive: true });
    const file = path.join(deploy, "kustomization.yaml");
    fs.writeFileSync(file, fs.readFileSync(file, "utf8").replace(/newTag: .*/, "newTag: test"));
    await cluster.kubectl(["apply", "-k", deploy]);
  });
  const annotations = { [SOURCES_ANNOTATION]: sources };
  await cluster.api.request("PATCH", DEPLOYMENT, { spec: { template: { metadata: { annotations } } } });
  await untilRolledOut(cluster);
  // Ready is also who waits for its turn.
  const isThere = (profile: object | undefined): boolean => profile !== undefined;
  await cluster.api.until("/apis/cdi.kubevirt.io/v1beta1/storageprofiles/csi-immediate", isThere);
}
