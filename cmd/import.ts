/**
 * decant import: the worker. It is the program of an importer pod: everything comes in through the environment, everything
 * goes out through the volume, the termination message, the exit status, a metrics page and the log.
 */
import { workerPaths } from "../importer/worker/paths.ts";
import { openLog, writeToStandardError } from "../importer/worker/log.ts";
import { runWorker } from "../importer/worker/run-worker.ts";
import { EXIT_OK } from "../importer/outcome.ts";
import { explainPhases } from "../importer/phases.ts";
import type { CommandIo } from "./command-io.ts";
import { parseGoFlags } from "./go-flags.ts";
import { decoderChoice, defaultThreads, memoryLimit } from "./image-options.ts";

const HELP = `Usage: decant import [-v=N] [-alsologtostderr] [--explain]

Imports one image into one volume, as the environment says. docs/worker.md lists the variables; these are enough to try it:

  IMPORTER_SOURCE=http IMPORTER_ENDPOINT=https://example.org/disk.qcow2 PREALLOCATION=false \\
    DECANT_DATA_DIR=/tmp/volume DECANT_TERMINATION_LOG=/tmp/message decant import

  -v=N              details in the log: 0 none, 9 all
  -alsologtostderr  accepted; the log goes to standard error in any case
  --explain         print the phases, and after a run the path that it took

Exit codes:
  0    over; the termination message says how
  1    failed; a restart begins from nothing
  2    an unknown flag
  143  told to stop; cleaned up
`;

/** The kubelet starts the container again. */
const EXIT_BUG = 1;

export async function run(args: readonly string[], io: CommandIo): Promise<number> {
  const flags = parseGoFlags(args);
  if (flags.help) {
    io.stdout.write(HELP);
    return EXIT_OK;
  }
  if (flags.explain && (io.env["IMPORTER_SOURCE"] ?? "") === "") {
    io.stdout.write(`${explainPhases()}\n`);
    return EXIT_OK;
  }
  const log = openLog({ verbosity: flags.verbosity, write: writeToStandardError, now: () => new Date() });
  // Node.js would print the error of a library as it is, and it may hold a URL with its signature.
  const onUncaught = (error: unknown): never => {
    log.error("an error that nobody caught", error);
    return io.exit(EXIT_BUG);
  };
  process.on("uncaughtException", onUncaught);
  const { exit, phases } = await runWorker({
    env: io.env,
    paths: workerPaths(io.env),
    log,
    signal: io.signal,
    engine: { threads: defaultThreads(), decoders: decoderChoice(io), memoryLimit: memoryLimit() },
  });
  process.off("uncaughtException", onUncaught);
  if (flags.explain) io.stdout.write(`${explainPhases(phases)}\n`);
  return exit;
}
