/**
 * The controller as an administrator installs it: deploy/ with the image that these sources make, under its own service account.
 * Whoever comes first installs it; it stays until the cluster goes.
 */
import fs from "node:fs";
import path from "node:path";
import { ROOT } from "../../support/run-decant.ts";
import { withTemporaryFolder } from "../../support/temporary-folder.ts";
import type { Cluster } from "../cluster.ts";

const CONTROLLER_NAMESPACE = "decant";

const DEPLOYMENT = `/apis/apps/v1/namespaces/${CONTROLLER_NAMESPACE}/deployments/decant-controller`;
/** Says of which sources the running one is made: the image's name is always the same. */
const SOURCES_ANNOTATION = "test.decant/sources";
const READY = "180s";

/** Returns when both replicas are ready. */
export async function deployController(cluster: Cluster): Promise<void> {
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
  await cluster.kubectl([
    "rollout",
    "status",
    "-n",
    CONTROLLER_NAMESPACE,
    "deployment/decant-controller",
    `--timeout=${READY}`,
  ]);
  // Ready is also who waits for its turn.
  const isThere = (profile: object | undefined): boolean => profile !== undefined;
  await cluster.api.until("/apis/cdi.kubevirt.io/v1beta1/storageprofiles/csi-immediate", isThere);
}
