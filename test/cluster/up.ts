/** `npm run cluster:up`: brings the test cluster up, or says in one sentence why it cannot. */
import { startCluster } from "./start-cluster.ts";
import { readState } from "./state.ts";

const began = Date.now();
try {
  const isNew = await startCluster();
  const seconds = ((Date.now() - began) / 1000).toFixed(1);
  console.error(isNew ? `the cluster is ready after ${seconds} s` : "the cluster is up already");
  console.log(`export KUBECONFIG=${readState()?.running?.kubeconfig ?? ""}`);
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
}
