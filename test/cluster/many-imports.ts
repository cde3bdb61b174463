/**
 * Many DataVolumes at once on a real API server: how long until the last one has Succeeded, how many calls each takes, and how
 * much memory the controller has. Half of them are of a class with a CSI driver (by a prime), half of one without (in place).
 *
 * The controller is a process of its own, as it is in a pod.
 */
import fs from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { DataVolume } from "../../controller/api/cdi.ts";
import { ROOT } from "../support/run-decant.ts";
import { freePort } from "../support/server-process.ts";
import { withTemporaryFolder } from "../support/temporary-folder.ts";
import { openApi } from "./api.ts";
import type { Api } from "./api.ts";
import { withControlPlane } from "./control-plane.ts";
import type { ControlPlane } from "./control-plane.ts";
import { countCalls, metrics, objectsOn, sumOf, valueOf } from "./controller-metrics.ts";
import type { Calls } from "./controller-metrics.ts";
import { expectRunning, startProgram, stopPrograms, untilReady } from "./processes.ts";
import { startBinder, startStubNodes } from "./stub-nodes.ts";

export interface ManyImports {
  readonly count: number;
  /** From the first creation until the last one has Succeeded. */
  readonly seconds: number;
  readonly writesEach: number;
  readonly readsEach: number;
  /** Of both, by verb and kind: `patch DataVolume`. */
  readonly callsEach: Readonly<Record<string, number>>;
  /** Resident, of the controller: when all is done, and the most that it ever had. Megabytes. */
  readonly residentMb: number;
  readonly peakMb: number;
  /** Of the controller, until all is done. */
  readonly cpuSeconds: number;
  /** Writes besides Lease renewals in the idle time after it. */
  readonly idleWrites: number;
}

export interface ManyImportsOptions {
  readonly count: number;
  readonly idleSeconds: number;
  /** How long the cluster stands before. Default: 0. */
  readonly settleMs?: number;
  /** The folder in which the cluster has a folder, with the files of etcd. Default: the one for temporary files. */
  readonly place?: string;
  /**
   * What decant is started with. Default: Node.js, and cmd/decant.ts as it stands. What Node.js needs to read TypeScript is
   * 30 MB; the image has compiled code, and a launcher that saves memory.
   */
  readonly command?: readonly [string, ...string[]];
}

const NAMESPACE = "many";
const CLASSES = [
  { name: "csi", provisioner: "csi.test.decant" },
  { name: "plain", provisioner: "plain.test.decant" },
] as const;
const CREATORS = 8;
const POLL_MS = 1000;
/** A server that is stuck does not hold the caller for ever. */
const PATIENCE_MS = 600_000;

export async function importMany(options: ManyImportsOptions): Promise<ManyImports> {
  return await withTemporaryFolder(async (folder) => {
    return await withControlPlane(async (controlPlane) => await importOn(controlPlane, folder, options), { folder });
  }, options.place);
}

async function importOn(
  controlPlane: ControlPlane,
  folder: string,
  {
    count,
    idleSeconds,
    settleMs = 0,
    command = [process.execPath, path.join(ROOT, "cmd/decant.ts")],
  }: ManyImportsOptions,
): Promise<ManyImports> {
  const { kubeconfig } = controlPlane;
  const api = openApi(kubeconfig);
  const binder = await startBinder(controlPlane, folder);
  const stub = await startStubNodes(kubeconfig);
  const port = await freePort();
  const to = ["--kubeconfig", kubeconfig, "--namespace", "default", "--metrics-port", String(port)];
  const controller = await startProgram("controller", {
    command: command[0],
    args: [...command.slice(1), "controller", "--worker-image", "worker:test", ...to],
    folder,
    outlives: false,
  });
  try {
    await makeClasses(api);
    await untilReady(controller, async () => await knowsClasses(port), PATIENCE_MS);
    await sleep(settleMs);
    const before = await countCalls(port);
    const startedAt = performance.now();
    await createAll(api, count);
    await untilAllSucceeded(port, count, stub.failures);
    const seconds = (performance.now() - startedAt) / 1000;
    // Clean-up after the last one is work, too.
    await untilNothingIsLeft(port, count);
    await untilQuiet(port);
    const after = await countCalls(port);
    const memory = memoryOf(controller.pid);
    const cpuSeconds = valueOf(await metrics(port), "process_cpu_seconds_total") ?? 0;
    await sleep(idleSeconds * 1000);
    const idle = await countCalls(port);
    return {
      count,
      seconds,
      writesEach: (after.writes - before.writes) / count,
      readsEach: (after.reads - before.reads) / count,
      callsEach: eachOf(before, after, count),
      ...memory,
      cpuSeconds,
      idleWrites: idle.writes - after.writes,
    };
  } catch (error) {
    // If it has ended, its last words say more.
    expectRunning([controller]);
    throw error;
  } finally {
    await stopPrograms([controller]);
    await stub.stop();
    api.close();
    await stopPrograms([binder]);
  }
}

async function makeClasses(api: Api): Promise<void> {
  await api.request("POST", "/api/v1/namespaces", { metadata: { name: NAMESPACE } });
  for (const { name, provisioner } of CLASSES) {
    await api.request("POST", "/apis/storage.k8s.io/v1/storageclasses", { metadata: { name }, provisioner });
  }
  const driver = { metadata: { name: CLASSES[0].provisioner }, spec: { attachRequired: false } };
  await api.request("POST", "/apis/storage.k8s.io/v1/csidrivers", driver);
}

/** True if the controller is ready, and has seen the classes. */
async function knowsClasses(port: number): Promise<boolean> {
  const { ok } = await fetch(`http://127.0.0.1:${port}/readyz`);
  return ok && objectsOn(await metrics(port), "StorageProfile") === CLASSES.length;
}

async function createAll(api: Api, count: number): Promise<void> {
  let next = 0;
  const create = async (): Promise<void> => {
    for (let number = next++; number < count; number = next++) {
      const dataVolume = dataVolumeOf(number);
      await api.request("POST", `/apis/cdi.kubevirt.io/v1beta1/namespaces/${NAMESPACE}/datavolumes`, dataVolume);
    }
  };
  await Promise.all(Array.from({ length: CREATORS }, create));
}

function dataVolumeOf(number: number): DataVolume {
  const storageClassName = CLASSES[number % CLASSES.length]?.name ?? "";
  return {
    apiVersion: "cdi.kubevirt.io/v1beta1",
    kind: "DataVolume",
    metadata: {
      name: `disk-${number}`,
      annotations: { "cdi.kubevirt.io/storage.bind.immediate.requested": "" },
    },
    spec: {
      source: { http: { url: `http://images.example.org/disk-${number}.qcow2` } },
      pvc: { storageClassName, accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
    },
  };
}

async function untilAllSucceeded(port: number, count: number, failures: readonly unknown[]): Promise<void> {
  const succeededOn = (page: string): number => sumOf(page, /^decant_controller_imports\{phase="Succeeded"/);
  await untilPage(
    port,
    (page) => succeededOn(page) === count,
    (page) => [`${succeededOn(page)} of ${count} have Succeeded:`, ...failures, page].join("\n"),
  );
}

/** But the claims and their volumes: primes, workers and what they import are gone, whoever deletes them. */
async function untilNothingIsLeft(port: number, count: number): Promise<void> {
  const leftOn = (page: string): string => {
    const left = ["PersistentVolumeClaim", "Pod", "VolumeImportSource"].map((kind) => objectsOn(page, kind));
    return left.join(", ");
  };
  await untilPage(
    port,
    (page) => leftOn(page) === `${count}, 0, 0`,
    (page) => `claims, pods and sources: ${leftOn(page)}`,
  );
}

/** Until the controller's metrics are as they should be. @throws Error with what `otherwise` says of them in the end */
async function untilPage(
  port: number,
  isReached: (page: string) => boolean,
  otherwise: (page: string) => string,
): Promise<void> {
  const deadline = Date.now() + PATIENCE_MS;
  for (;;) {
    const page = await metrics(port);
    if (isReached(page)) return;
    if (Date.now() > deadline) throw new Error(otherwise(page));
    await sleep(POLL_MS);
  }
}

async function untilQuiet(port: number): Promise<void> {
  for (let before = -1; ; await sleep(POLL_MS)) {
    const { writes } = await countCalls(port);
    if (writes === before) return;
    before = writes;
  }
}

function eachOf(before: Calls, after: Calls, count: number): ManyImports["callsEach"] {
  const entries = [...after.counts].map(
    ([call, calls]) => [call, (calls - (before.counts.get(call) ?? 0)) / count] as const,
  );
  return Object.fromEntries(entries.filter(([, each]) => each > 0).sort(([a], [b]) => (a < b ? -1 : 1)));
}

function memoryOf(pid: number): { readonly residentMb: number; readonly peakMb: number } {
  const status = fs.readFileSync(`/proc/${pid}/status`, "utf8");
  const megabytes = (name: string): number => {
    return Math.round((Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, "m").exec(status)?.[1] ?? 0) * 1024) / 1e6);
  };
  return { residentMb: megabytes("VmRSS"), peakMb: megabytes("VmHWM") };
}
