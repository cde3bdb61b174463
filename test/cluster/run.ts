/**
 * `npm run test:cluster`: the tests in test/cluster, or those that are named, on a cluster that is started for them and
 * stopped after them. One that is up already (`npm run cluster:up`) is used, and stays. Exits with 3 where nodes cannot run at
 * all, whatever is installed, as in most containers.
 */
import { spawnSync } from "node:child_process";
import path from "node:path";
import { hasLoopDevices } from "../support/tools.ts";
import { requireCgroups } from "./cgroups.ts";
import { startCluster, stopCluster } from "./start-cluster.ts";

const FORBIDDEN = 3;

process.exitCode = await main(process.argv.slice(2));

async function main(args: readonly string[]): Promise<number> {
  // An interrupt ends the tests, not what comes after them.
  process.on("SIGINT", () => undefined);
  const forbidden = requireCgroups() || (!hasLoopDevices() && "needs loop devices");
  if (forbidden !== false) {
    console.error(`there can be no cluster here: it ${forbidden}`);
    return FORBIDDEN;
  }
  let isOurs = false;
  try {
    isOurs = await startCluster();
    const places = args.some((arg) => !arg.startsWith("-")) ? args : ["test/cluster", ...args];
    const runner = path.join(import.meta.dirname, "..", "run.ts");
    // One file at a time: they share settings of the cluster.
    return spawnSync(process.execPath, [runner, "--test-concurrency=1", ...places], { stdio: "inherit" }).status ?? 1;
  } catch (error) {
    console.error(error instanceof Error ? error.message : String(error));
    return 1;
  } finally {
    if (isOurs) await stopCluster();
  }
}
