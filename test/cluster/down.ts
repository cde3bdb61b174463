/** `npm run cluster:down`: takes the test cluster down, or what a crash has left of it. */
import { stopCluster } from "./start-cluster.ts";

try {
  console.error((await stopCluster()) ? "the cluster is down" : "there is no cluster");
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
}
