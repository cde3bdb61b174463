/**
 * decant controller: fills the claims of a cluster. It runs in a pod of its own, or beside a cluster with a kubeconfig file;
 * what it does is in controller/.
 */
import { randomBytes } from "node:crypto";
import os from "node:os";
import { ApiClient } from "../controller/api-client.ts";
import { connect } from "../controller/cluster.ts";
import type { Connection } from "../controller/cluster.ts";
import { openLog } from "../controller/log.ts";
import { ownImage } from "../controller/own-image.ts";
import type { ControllerSettings } from "../controller/plan/observed.ts";
import { systemClock } from "../controller/queue.ts";
import { runController } from "../controller/run.ts";
import { UsageError } from "../importer/errors.ts";
import { EXIT_OK } from "../importer/outcome.ts";
import { HELP_SHOWN, newCommand, parseCommand } from "./command-line.ts";
import type { CommandIo } from "./command-io.ts";
import { report } from "./report-error.ts";

const HELP = `Several replicas may run: one works, the others wait for its Lease.

Examples:
  decant controller
  decant controller --kubeconfig ~/.kube/config --namespace decant --worker-image decant:dev -v 1

Environment:
  KUBECONFIG                    the same as --kubeconfig
  DECANT_WORKER_IMAGE           the same as --worker-image
  POD_NAMESPACE, POD_NAME       the pod that this runs in: without --worker-image, workers have its image
  INSTALLER_PART_OF_LABEL       for the label app.kubernetes.io/part-of of what it makes
  INSTALLER_VERSION_LABEL       for the label app.kubernetes.io/version

Ports:
  /healthz, /readyz and /metrics, on --metrics-port

Exit codes:
  0    told to stop
  1    the Lease was lost, or there is no cluster, or another controller works in it
  2    wrong usage
`;

const EXIT_FAILED = 1;
const DEFAULT_NAMESPACE = "decant";
const DEFAULT_METRICS_PORT = 8080;
const MAX_PORT = 65_535;
const MAX_IMPORTS = 1_000_000;
const MAX_VERBOSITY = 9;
const PULL_POLICIES = ["IfNotPresent", "Always", "Never"];

interface ControllerOptions {
  readonly namespace?: string;
  readonly workerImage?: string;
  readonly imagePullPolicy: string;
  readonly maxImports: string;
  readonly maxImportsPerNode: string;
  readonly metricsPort: string;
  readonly kubeconfig?: string;
  readonly verbosity: string;
}

export async function run(args: readonly string[], io: CommandIo): Promise<number> {
  try {
    const command = newCommand("controller", "Fills the claims of a cluster, as its DataVolumes say.", HELP, io)
      .option("--namespace <name>", `of the Lease (default: the pod's own, else ${DEFAULT_NAMESPACE})`)
      .option("--worker-image <name>", "image of the pods that import (default: the pod's own)")
      .option("--image-pull-policy <policy>", `of those pods: ${PULL_POLICIES.join(", ")}`, PULL_POLICIES[0])
      .option("--max-imports <n>", "worker pods at a time; 0 sets no limit", "0")
      .option("--max-imports-per-node <n>", "the same for one node", "0")
      .option(
        "--metrics-port <port>",
        "of /healthz, /readyz and /metrics; 0 takes a free one",
        `${DEFAULT_METRICS_PORT}`,
      )
      .option("--kubeconfig <file>", "outside a pod: how to reach the cluster")
      .option("-v, --verbosity <n>", "details in the logs, its own and those of its workers: 0 to 9", "1");
    if (parseCommand(command, args) === HELP_SHOWN) return EXIT_OK;
    return await control(command.opts<ControllerOptions>(), io);
  } catch (error) {
    return report(error, io, false);
  }
}

async function control(options: ControllerOptions, io: CommandIo): Promise<number> {
  const { findImage, ...given } = settingsOf(options, io.env);
  const metricsPort = wholeNumber("--metrics-port", options.metricsPort, MAX_PORT);
  const log = openLog({
    verbosity: given.verbosity - 1,
    write: (line) => io.stderr.write(line),
    now: () => new Date(),
  });
  try {
    const connection = await connect({ kubeconfig: options.kubeconfig ?? io.env["KUBECONFIG"], env: io.env });
    const namespace = options.namespace ?? connection.namespace ?? DEFAULT_NAMESPACE;
    // A replica that starts again on the same machine is another one.
    const identity = `${os.hostname()}_${randomBytes(4).toString("hex")}`;
    log.info("the controller starts", { server: connection.server, namespace, identity });
    const settings = { ...given, workerImage: await findImage(connection) };
    const { signal } = io;
    const end = await runController({
      connection,
      settings,
      namespace,
      identity,
      metricsPort,
      log,
      clock: systemClock,
      signal,
    });
    if (end === "lost") log.error("the lease was lost: another replica may work by now, so this one ends");
    else log.info("the controller ends, as it was told to");
    return end === "stopped" ? EXIT_OK : EXIT_FAILED;
  } catch (error) {
    log.error("the controller cannot go on", { error });
    return EXIT_FAILED;
  }
}

type GivenSettings = Omit<ControllerSettings, "workerImage"> & {
  readonly findImage: (connection: Connection) => Promise<string>;
};

function settingsOf(options: ControllerOptions, env: CommandIo["env"]): GivenSettings {
  const labels = {
    "app.kubernetes.io/part-of": env["INSTALLER_PART_OF_LABEL"],
    "app.kubernetes.io/version": env["INSTALLER_VERSION_LABEL"],
  };
  return {
    findImage: imageFinder(options, env),
    imagePullPolicy: pullPolicy(options.imagePullPolicy),
    verbosity: wholeNumber("-v", options.verbosity, MAX_VERBOSITY),
    maxImports: wholeNumber("--max-imports", options.maxImports, MAX_IMPORTS),
    maxImportsPerNode: wholeNumber("--max-imports-per-node", options.maxImportsPerNode, MAX_IMPORTS),
    recommendedLabels: Object.fromEntries(
      Object.entries(labels).flatMap(([name, value]) => (value === undefined || value === "" ? [] : [[name, value]])),
    ),
  };
}

function imageFinder(options: ControllerOptions, env: CommandIo["env"]): GivenSettings["findImage"] {
  const given = options.workerImage ?? env["DECANT_WORKER_IMAGE"] ?? "";
  if (given !== "") return async () => given;
  const { POD_NAMESPACE: namespace = "", POD_NAME: pod = "" } = env;
  if (namespace !== "" && pod !== "")
    return async (connection) => await ownImage(new ApiClient(connection), namespace, pod);
  throw new UsageError("which image workers are started from is missing: --worker-image");
}

function pullPolicy(text: string): string {
  if (PULL_POLICIES.includes(text)) return text;
  throw new UsageError(`--image-pull-policy takes ${PULL_POLICIES.join(", ")}, not ${JSON.stringify(text)}`);
}

function wholeNumber(option: string, text: string, max: number): number {
  const number = /^\d{1,7}$/.test(text) ? Number(text) : Number.NaN;
  if (number <= max) return number;
  throw new UsageError(`${option} takes a whole number from 0 to ${max}, not ${JSON.stringify(text)}`);
}
