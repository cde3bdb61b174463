/**
 * Who starts an import, when, and where its volume is made: both tables of contract section 6, row by row, on the real scheduler.
 * A row's name is its DataVolume's. What becomes of the disks is in wait-for-first-consumer.test.ts; claims without a DataVolume,
 * for which only their own annotation counts, are in hand-made-claims.test.ts.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Claim, Pod, StringMap } from "../../../controller/api/kube.ts";
import { ANNOTATIONS, GATE_HONOR_WAIT_FOR_FIRST_CONSUMER } from "../../../controller/api/names.ts";
import { requireRunningCluster } from "../cluster.ts";
import { CSI_IMMEDIATE, CSI_WAIT, LOCAL_PATH } from "../storage.ts";
import { createConsumer } from "./consumer.ts";
import { clusterWithController, withFeatureGates } from "./controller.ts";
import { withHistory } from "./history.ts";
import type { History } from "./history.ts";
import { Imports } from "./imports.ts";
import { withStaticVolumes } from "./static-volumes.ts";

const skip = requireRunningCluster();
const NODE = "node-2";
/** Immediate, like csi-immediate, but its volumes come when the test makes them. */
const STATIC = "static";

const IN_PLACE = { [ANNOTATIONS.usePopulator]: "false" };
const ON_NODE = { [ANNOTATIONS.selectedNode]: NODE };
const immediate = (value: string): StringMap => ({ [ANNOTATIONS.immediateBind]: value });

interface Row {
  readonly name: string;
  /** Binding mode and path: the CSI classes are filled by way of a prime. */
  readonly storageClass: string;
  /** Of the DataVolume, and so of its claim. */
  readonly annotations?: StringMap;
  /** Shown until the import is scheduled, and no other of these: Pending, WaitForFirstConsumer, PendingPopulation. */
  readonly phase: string;
  /** Nothing is made to fill the claim before that: a consumer on node 2, a volume. */
  readonly waits?: "for a consumer" | "for a volume";
  /** 6.1: where the prime's volume has to be. */
  readonly node?: string;
  /** 6.2: a worker is made before its claim is bound, as its first consumer where one is needed. */
  readonly early?: boolean;
}

const GATE_ON: readonly Row[] = [
  // 6.1, Immediate, whatever the target says.
  { name: "any", storageClass: CSI_IMMEDIATE, phase: "Pending" },
  { name: "any-both", storageClass: CSI_IMMEDIATE, annotations: { ...immediate(""), ...ON_NODE }, phase: "Pending" },
  // 6.1, WaitForFirstConsumer: neither, and then the scheduler selects a node; the annotation, by its presence; both.
  { name: "node", storageClass: CSI_WAIT, phase: "PendingPopulation", waits: "for a consumer", node: NODE },
  { name: "empty", storageClass: CSI_WAIT, annotations: immediate(""), phase: "Pending" },
  { name: "yes", storageClass: CSI_WAIT, annotations: immediate("true"), phase: "Pending" },
  { name: "no", storageClass: CSI_WAIT, annotations: immediate("false"), phase: "Pending" },
  {
    name: "both",
    storageClass: CSI_WAIT,
    annotations: { ...immediate(""), ...ON_NODE },
    phase: "Pending",
    node: NODE,
  },
  // 6.2, Immediate: bound at once; Pending without the annotation, and with it.
  { name: "bound", storageClass: CSI_IMMEDIATE, annotations: IN_PLACE, phase: "Pending" },
  { name: "unbound", storageClass: STATIC, phase: "Pending", waits: "for a volume" },
  { name: "unbound-yes", storageClass: STATIC, annotations: immediate(""), phase: "Pending", early: true },
  // 6.2, WaitForFirstConsumer: without the annotation, and with it; CDI shows WaitForFirstConsumer for both.
  { name: "consumer", storageClass: LOCAL_PATH, phase: "WaitForFirstConsumer", waits: "for a consumer" },
  { name: "worker", storageClass: LOCAL_PATH, annotations: immediate("false"), phase: "Pending", early: true },
];

const GATE_OFF: readonly Row[] = [
  // 6.1: the target gets the annotation, or keeps its own.
  { name: "none", storageClass: CSI_WAIT, phase: "Pending" },
  { name: "own", storageClass: CSI_WAIT, annotations: immediate("true"), phase: "Pending" },
  // 6.2, Immediate and WaitForFirstConsumer: any.
  { name: "unbound", storageClass: STATIC, phase: "Pending", early: true },
  { name: "unbound-yes", storageClass: STATIC, annotations: immediate(""), phase: "Pending", early: true },
  { name: "worker", storageClass: LOCAL_PATH, phase: "Pending", early: true },
  { name: "worker-yes", storageClass: LOCAL_PATH, annotations: immediate(""), phase: "Pending", early: true },
];

/** Before an import is scheduled. */
const UNSCHEDULED = ["Pending", "WaitForFirstConsumer", "PendingPopulation"];

interface Given {
  readonly imports: Imports;
  readonly history: History;
}

describe("who starts an import, and where", { skip }, () => {
  const cluster = clusterWithController();

  it("with the gate", async () => await showTable(GATE_ON, [GATE_HONOR_WAIT_FOR_FIRST_CONSUMER]));

  it("without the gate", async () => await showTable(GATE_OFF, []));

  /** All together; those that wait get what they wait for when the others are on their way. */
  async function showTable(rows: readonly Row[], featureGates: readonly string[]): Promise<void> {
    await withFeatureGates(cluster, featureGates, async () => {
      await withStaticVolumes(cluster, async ({ storageClass, add }) => {
        await withImports(async (given) => {
          const { imports } = given;
          for (const row of rows) {
            const options = { ...row, storageClass: row.storageClass === STATIC ? storageClass : row.storageClass };
            await imports.start(row.name, { blank: {} }, options);
          }
          for (const { name, waits } of rows) if (waits === undefined) await madeWorker(given, name);
          for (const row of rows) if (row.waits !== undefined) await isWaiting(given, row);
          for (const row of rows) {
            if (row.storageClass === STATIC) await add(imports.namespace, row.name);
            if (row.waits === "for a consumer") await consume(given, row);
          }
          for (const { name } of rows) await imports.untilSucceeded(name);
          for (const row of rows) await isAsInTable(given, row, featureGates.length > 0);
        });
      });
    });
  }

  async function madeWorker({ imports, history }: Given, name: string): Promise<Pod> {
    return await history.untilMade("pods", await imports.workerName(name));
  }

  async function withImports(use: (given: Given) => Promise<void>): Promise<void> {
    await cluster.withNamespace(async (namespace) => {
      const imports = new Imports(cluster, namespace);
      await withHistory(cluster, namespace, async (history) => await use({ imports, history }));
    });
  }

  /** Its turn has come: imports that were asked for after it have their workers. */
  async function isWaiting({ imports, history }: Given, { name, phase, ...row }: Row): Promise<void> {
    await imports.until(name, ({ status }) => status?.phase === phase);
    if (usesPrime(row))
      assert.deepEqual(history.states("persistentvolumeclaims", await imports.primeName(name)), [], name);
    else assert.deepEqual(history.states("pods", `importer-${name}`), [], name);
  }

  /** By a pod on node 2, until it has done its part. */
  async function consume({ imports, history }: Given, { name, ...row }: Row): Promise<void> {
    const { namespace } = imports;
    const pod = `uses-${name}`;
    await createConsumer(cluster, pod, { namespace, claims: [name], node: NODE, use: "holds" });
    if (usesPrime(row)) await history.untilMade("persistentvolumeclaims", await imports.primeName(name));
    else {
      // For a claim that is bound and said to wait, KubeVirt would make a pod each second.
      await imports.until(name, ({ status }) => status?.phase === "PVCBound");
      await imports.untilStopped(name, "ImportTargetInUse", new RegExp(`^pod ${namespace}/${pod} using `));
    }
    await imports.remove("pods", pod);
  }

  async function isAsInTable(given: Given, row: Row, hasGate: boolean): Promise<void> {
    const { imports, history } = given;
    const { name, annotations = {}, phase, node, early = false } = row;
    await history.untilPhase(name, "Succeeded");
    const [first, ...others] = history.phases(name).filter((one) => UNSCHEDULED.includes(one));
    const shown = first === "Pending" || first === undefined ? others : [first, ...others];
    assert.deepEqual(shown, phase === "Pending" ? [] : [phase], `${name}: ${history.phases(name).join()}`);

    const target = await imports.claim(name);
    const byController = usesPrime(row) && !hasGate ? "" : undefined;
    const asked = annotations[ANNOTATIONS.immediateBind] ?? byController;
    assert.equal(target.metadata.annotations?.[ANNOTATIONS.immediateBind], asked, name);
    const pod = await madeWorker(given, name);
    if (usesPrime(row)) {
      const made = await history.untilMade("persistentvolumeclaims", await imports.primeName(name));
      assert.equal(made.metadata.annotations?.[ANNOTATIONS.selectedNode], node, name);
      assert.equal(pod.spec.nodeName, node, name);
    } else {
      const states = history.states("persistentvolumeclaims", name);
      const bound = states.find(({ status }) => status?.phase === "Bound");
      assert.equal(versionOf(pod) < versionOf(bound), early, `${name}: whether its worker is made before it is bound`);
    }
    if (node === undefined && row.waits !== "for a consumer") return;
    const { spec } = await imports.volumeOf(target);
    assert.match(JSON.stringify(spec.nodeAffinity), /"node-2"/, name);
  }
});

function usesPrime({ storageClass, annotations = {} }: Omit<Row, "name" | "phase">): boolean {
  return storageClass.startsWith("csi-") && annotations[ANNOTATIONS.usePopulator] !== "false";
}

/** Of etcd, so that of two objects the one that was written later has the greater one. */
function versionOf(object: Claim | Pod | undefined): number {
  return Number(object?.metadata.resourceVersion);
}
