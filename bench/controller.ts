/**
 * `npm run bench:controller`: many DataVolumes at once on a real API server, with workers that end at once. Prints what the
 * controller took and which goals hold (controller-goals.ts); the figures go to bench/results as JSON. Needs a quiet machine
 * and what test/cluster needs.
 */
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { parseArgs } from "node:util";
import { describeMachine } from "../cmd/bench/machine.ts";
import { consequences } from "../importer/outcome.ts";
import { requireControlPlane } from "../test/cluster/control-plane.ts";
import { importMany } from "../test/cluster/many-imports.ts";
import { memoryFolder } from "../test/support/temporary-folder.ts";
import { controllerGoals, controllerTable } from "./controller-goals.ts";
import { revision, writeResults } from "./result-file.ts";

const ROOT = path.dirname(import.meta.dirname);
/**
 * A cluster that stands for a while: the API server has described its new kinds to those who ask for OpenAPI, and
 * kube-controller-manager, which looks for new kinds every 30 seconds, watches them. Until then it asks for the owner of each
 * claim by itself.
 */
const SETTLE_MS = 40_000;
/**
 * For etcd, which has 0.3 GiB for 2,000 imports. It does not wait for a disk here, but its writes to one take a fifth of the
 * time of all on a machine with two cores (500 imports: 43 to 44 s in memory, 53 to 55 on the disk), and are nothing that a
 * controller could change.
 */
const ROOM_BYTES = 2 * 1024 ** 3;
const USAGE = `Usage: npm run bench:controller -- [options]

Imports many DataVolumes at once, and says which goals hold. The cluster's etcd is in memory (/dev/shm) if there is room.

  --count 2000    so many, half of them by a prime and half in place
  --idle 60       so many seconds afterwards in which nothing is to be written
`;

const settings = await settingsOrHelp();
if (settings !== undefined) await main(settings);

interface Settings {
  readonly count: number;
  readonly idleSeconds: number;
}

/** Undefined: nothing is to be done, and why was said. */
async function settingsOrHelp(): Promise<Settings | undefined> {
  try {
    const { values } = parseArgs({
      options: {
        count: { type: "string", default: "2000" },
        idle: { type: "string", default: "60" },
        help: { type: "boolean", short: "h", default: false },
      },
    });
    if (values.help) {
      process.stdout.write(USAGE);
      return undefined;
    }
    const [count, idleSeconds] = [wholeNumber("--count", values.count), wholeNumber("--idle", values.idle)];
    const reason = await requireControlPlane();
    if (reason !== false) throw new Error(reason);
    return { count, idleSeconds };
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n\n${USAGE}`);
    process.exitCode = 2;
    return undefined;
  }
}

function wholeNumber(option: string, text: string): number {
  if (!/^[1-9]\d{0,5}$/.test(text)) throw new Error(`${option} is a whole number from 1 to 999999`);
  return Number(text);
}

async function main({ count, idleSeconds }: Settings): Promise<void> {
  const started = new Date().toISOString();
  const machine = describeMachine(undefined);
  // As in the image: reading TypeScript takes 30 MB more, and the launcher knows how to save memory.
  execFileSync(process.execPath, [path.join(ROOT, "bin/bundle.ts")], { stdio: "inherit" });
  const parent = memoryFolder(ROOM_BYTES);
  const place = fs.mkdtempSync(path.join(parent, "decant-bench-"));
  // Also when it is broken off: what is left in memory is memory that nobody else has.
  process.once("exit", () => fs.rmSync(place, { recursive: true, force: true, maxRetries: 5 }));
  process.once("SIGINT", () => process.exit(consequences.INTERRUPTED.exit));
  process.once("SIGTERM", () => process.exit(consequences.INTERRUPTED.exit));
  const command = [path.join(ROOT, "bin/decant")] as const;
  const found = await importMany({ count, idleSeconds, settleMs: SETTLE_MS, place, command });
  const report = {
    started,
    revision: revision(),
    machine,
    etcdIn: parent,
    idleSeconds,
    found,
    goals: controllerGoals(found),
  };
  const file = writeResults(path.join(ROOT, "bench/results"), "controller", report);
  process.stdout.write(`${controllerTable(found)}\netcd in ${parent}; ${path.relative(ROOT, file)}\n`);
}
