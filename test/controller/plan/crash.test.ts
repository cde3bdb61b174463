/**
 * Imports that are disturbed between every two changes that the controller makes: it is killed, or a user deletes something.
 * The cluster does all it can meanwhile, or nothing; in any case it comes to the same end, and on the way no claim is bound to
 * half a disk, none is written by two workers, and no disk is destroyed that a claim was to get.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";

import type { Claim, KubeObject, Pod, Volume } from "../../../controller/api/kube.ts";
import type { DataVolume } from "../../../controller/api/cdi.ts";
import { ANNOTATIONS } from "../../../controller/api/names.ts";
import { isWorker } from "../../../controller/api/pods.ts";
import type { Action } from "../../../controller/plan/action.ts";
import { planImport } from "../../../controller/plan/plan.ts";
import { ClusterModel, Conflict } from "../../support/cluster-model.ts";
import type { Change } from "../../support/cluster-model.ts";
import { observeAmong } from "../../support/observe-among.ts";
import {
  cdiConfig,
  dataVolume,
  facts,
  importSource,
  LOCAL_CLASS,
  NAME,
  pod,
  populatedClaim,
  WAITING_CSI_CLASS,
} from "../../support/observed-import.ts";

/** When the rest of the cluster acts: after each of the controller's changes, or when the controller waits. */
type Pace = "eager" | "lazy";

/** A disturbance alone, or with the controller killed by the way. Where the cluster is at rest after each change, it is one. */
const KILLED: Readonly<Record<Pace, readonly boolean[]>> = { eager: [false], lazy: [false, true] };

interface Scenario {
  readonly name: string;
  readonly objects: readonly KubeObject[];
  /** Of the controller, where it sees its worker only when that has ended; events come on top. Not one more without a reason. */
  readonly changes: number;
  readonly paces: readonly Pace[];
}

const BOTH: readonly Pace[] = ["eager", "lazy"];
const LAZY: readonly Pace[] = ["lazy"];

/** Called before each change; true: the controller is killed, and comes back when the cluster is at rest. */
type Disturbance = (at: number, cluster: ClusterModel) => boolean;

const NO_DISTURBANCE: Disturbance = () => false;
/** More passes than any import needs: it does not come to rest. */
const MAX_PASSES = 300;
/** What is due later comes in this many rounds. */
const MAX_WAITS = 10;

const { storageClasses, csiDrivers } = facts();
const BASE: readonly KubeObject[] = [
  ...storageClasses,
  ...csiDrivers,
  cdiConfig({ featureGates: ["HonorWaitForFirstConsumer"] }),
];

const consumer = pod({
  name: "consumer",
  uid: "consumer-uid",
  spec: { volumes: [{ name: "disk", persistentVolumeClaim: { claimName: NAME } }] },
});

function importInto(storageClassName: string, annotations: Readonly<Record<string, string>> = {}): DataVolume {
  const { spec, ...rest } = dataVolume({ annotations });
  return { ...rest, spec: { ...spec, pvc: { ...spec.pvc, storageClassName } } };
}

const blankDevice: DataVolume = {
  ...dataVolume(),
  spec: { source: { blank: {} }, pvc: { ...dataVolume().spec.pvc, volumeMode: "Block" } },
};

const SCENARIOS: readonly Scenario[] = [
  { name: "populator", objects: [dataVolume()], changes: 15, paces: BOTH },
  {
    name: "populator, waiting for a consumer",
    objects: [importInto(WAITING_CSI_CLASS), consumer],
    changes: 15,
    paces: LAZY,
  },
  {
    name: "populator, its worker the first consumer",
    objects: [importInto(WAITING_CSI_CLASS, { [ANNOTATIONS.immediateBind]: "" })],
    changes: 15,
    paces: LAZY,
  },
  { name: "claim made by hand", objects: [populatedClaim(), importSource()], changes: 9, paces: BOTH },
  { name: "blank device", objects: [blankDevice], changes: 15, paces: LAZY },
  {
    name: "in place, its worker the first consumer",
    objects: [importInto(LOCAL_CLASS, { [ANNOTATIONS.immediateBind]: "" })],
    changes: 7,
    paces: LAZY,
  },
];

for (const scenario of SCENARIOS) {
  describe(`an import, ${scenario.name}`, () => {
    const undisturbed = run(scenario, "lazy", NO_DISTURBANCE);
    const end = endOf(undisturbed.cluster);

    it("comes to its end", () => {
      assertFilled(undisturbed.cluster);
      assert.equal(undisturbed.changes, scenario.changes);
      assert.deepEqual(endOf(run(scenario, "eager", NO_DISTURBANCE).cluster), end);
    });

    for (const pace of scenario.paces) {
      it(`comes to the same end, killed before any change (${pace})`, () => {
        for (let killedAt = 0; killedAt <= undisturbed.changes; killedAt++) {
          const { cluster } = run(scenario, pace, (at) => at === killedAt);
          assert.deepEqual(endOf(cluster), end, `killed before change ${killedAt}`);
          const primes = cluster.created.filter((one) => one.startsWith("PersistentVolumeClaim prime-"));
          assert.ok(primes.length <= 1, `${primes.length} primes, killed before change ${killedAt}`);
          assert.deepEqual(cluster.destroyed, [], `killed before change ${killedAt}`);
        }
      });

      for (const killed of KILLED[pace]) {
        const how = `${pace}${killed ? ", and the controller killed" : ""}`;
        const disturb = (kind: string, isIt: (object: KubeObject) => boolean) => {
          return forEachChange(undisturbed.changes, scenario, pace, killed, (cluster) => {
            const found = cluster.all().find((object) => object.kind === kind && isIt(object));
            if (found !== undefined) cluster.remove(found);
          });
        };

        it(`comes to its end where somebody deletes the prime (${how})`, () => {
          for (const { cluster, at } of disturb("PersistentVolumeClaim", isPrime)) {
            assertFilled(cluster, `deleted before change ${at}`);
            assertNoPromise(cluster);
          }
        });

        it(`comes to its end where somebody deletes the worker (${how})`, () => {
          for (const { cluster, at } of disturb("Pod", isWorkerPod))
            assertFilled(cluster, `deleted before change ${at}`);
        });

        it(`begins anew, or ends, where somebody deletes the target (${how})`, () => {
          for (const { cluster, at } of disturb("PersistentVolumeClaim", ({ metadata }) => metadata.name === NAME)) {
            if (
              cluster.find("DataVolume", NAME) === undefined &&
              cluster.find("PersistentVolumeClaim", NAME) === undefined
            ) {
              assertNothingLeft(cluster, `deleted before change ${at}`);
            } else assertFilled(cluster, `deleted before change ${at}`);
            assertNoPromise(cluster);
          }
        });

        it(`leaves nothing where somebody deletes the DataVolume (${how})`, () => {
          for (const { cluster, at } of disturb("DataVolume", () => true)) {
            if (cluster.find("DataVolume", NAME) === undefined && scenario.name !== "claim made by hand") {
              assertNothingLeft(cluster, `deleted before change ${at}`);
            }
          }
        });

        it(`comes to its end where somebody deletes the source object (${how})`, () => {
          if (scenario.name === "claim made by hand") return;
          for (const { cluster, at } of disturb("VolumeImportSource", () => true)) {
            assertFilled(cluster, `deleted before change ${at}`);
          }
        });
      }
    }
  });
}

function* forEachChange(
  changes: number,
  scenario: Scenario,
  pace: Pace,
  killed: boolean,
  disturb: (cluster: ClusterModel) => void,
): Generator<{ readonly cluster: ClusterModel; readonly at: number }> {
  for (let disturbedAt = 0; disturbedAt <= changes; disturbedAt++) {
    const { cluster } = run(scenario, pace, (at, disturbed) => {
      if (at !== disturbedAt) return false;
      disturb(disturbed);
      return killed;
    });
    replaceConsumer(cluster, pace);
    yield { cluster, at: disturbedAt };
  }
}

function run({ objects }: Scenario, pace: Pace, disturbance: Disturbance) {
  const cluster = new ClusterModel([...BASE, ...objects]);
  return { cluster, changes: bringToRest(cluster, pace, disturbance) };
}

/**
 * Until neither the controller nor anybody else has anything to do.
 * @returns how many changes the controller made
 */
function bringToRest(cluster: ClusterModel, pace: Pace, disturbance: Disturbance = NO_DISTURBANCE): number {
  let changes = 0;
  let waits = 0;
  for (let pass = 0; pass < MAX_PASSES; pass++) {
    const actions = planImport(observeAmong(cluster.all(), cluster.now));
    const before = changes;
    for (const change of actions.filter(isChange)) {
      if (disturbance(changes++, cluster)) {
        settle(cluster);
        break;
      }
      if (!attempt(cluster, change)) break;
      assertSound(cluster);
      if (pace === "eager") settle(cluster);
    }
    if (changes > before || settle(cluster)) continue;
    const due = actions.find((action) => action.do === "again");
    if (due === undefined || ++waits > MAX_WAITS) return changes;
    cluster.now = new Date(cluster.now.getTime() + due.afterMs);
  }
  throw new Error(`no end after ${MAX_PASSES} passes`);
}

/** A claim that is deleted stays while a pod uses it. */
function replaceConsumer(cluster: ClusterModel, pace: Pace): void {
  const target = cluster.find<Claim>("PersistentVolumeClaim", NAME);
  const using = cluster.find<Pod>("Pod", consumer.metadata.name);
  if (using === undefined || target?.metadata.deletionTimestamp === undefined) return;
  cluster.remove(using);
  bringToRest(cluster, pace);
  cluster.do({ do: "create", object: consumer });
  bringToRest(cluster, pace);
}

/** @returns whether the plan goes on */
function attempt(cluster: ClusterModel, change: Change): boolean {
  try {
    cluster.do(change);
    return true;
  } catch (error) {
    if (error instanceof Conflict) return false;
    throw error;
  }
}

function isChange(action: Action): action is Change {
  return action.do !== "event" && action.do !== "again";
}

function settle(cluster: ClusterModel): boolean {
  let hasChanged = false;
  while (cluster.step()) {
    hasChanged = true;
    assertSound(cluster);
  }
  return hasChanged;
}

/** What must hold at every moment. */
function assertSound(cluster: ClusterModel): void {
  const target = cluster.find<Claim>("PersistentVolumeClaim", NAME);
  if (target?.spec.dataSourceRef !== undefined && target.status?.phase === "Bound") {
    assert.notEqual(cluster.contentOf(target.spec.volumeName), "half", "the target is bound to half a disk");
  }
  const written = cluster
    .all()
    .flatMap((object) => (isWorkerPod(object) ? (object.metadata.ownerReferences ?? []) : []));
  assert.equal(new Set(written.map(({ uid }) => uid)).size, written.length, "two workers of one claim");
  const uid = target?.metadata.uid ?? "none";
  const lost = cluster.destroyed.filter(({ of, meantFor = "" }) => of === uid || meantFor.endsWith(`/${uid}`));
  assert.deepEqual(lost, [], "a disk was destroyed that is the target's, or was promised to it");
  assert.equal(cluster.emptyPatches, 0, "a patch that changes nothing");
}

function assertFilled(cluster: ClusterModel, when = "undisturbed"): void {
  const target = cluster.find<Claim>("PersistentVolumeClaim", NAME);
  assert.equal(target?.status?.phase, "Bound", when);
  const isBlank = cluster.find<DataVolume>("DataVolume", NAME)?.spec.source?.blank !== undefined;
  assert.equal(cluster.contentOf(target?.spec.volumeName), isBlank ? "empty" : "image", when);
  assert.equal(target?.metadata.annotations?.[ANNOTATIONS.podPhase], "Succeeded", when);
  const made = cluster.find<DataVolume>("DataVolume", NAME);
  if (made !== undefined) assert.equal(made.status?.phase, "Succeeded", when);
  const left = cluster.all().filter((object) => isPrime(object) || isWorkerPod(object));
  assert.deepEqual(left, [], when);
}

function assertNothingLeft(cluster: ClusterModel, when: string): void {
  const kinds = ["PersistentVolumeClaim", "PersistentVolume", "DataVolume", "Pod"];
  const left = cluster.all().filter(({ kind, metadata }) => kinds.includes(kind) && metadata.name !== "consumer");
  assert.deepEqual(left, [], when);
}

function assertNoPromise(cluster: ClusterModel): void {
  for (const volume of cluster.all().filter((object): object is Volume => object.kind === "PersistentVolume")) {
    assert.equal(volume.metadata.annotations?.[ANNOTATIONS.meantFor], undefined);
    assert.equal(volume.spec.persistentVolumeReclaimPolicy, "Delete");
  }
}

function isPrime({ kind, metadata }: KubeObject): boolean {
  return kind === "PersistentVolumeClaim" && metadata.name.startsWith("prime-");
}

function isWorkerPod(object: KubeObject): boolean {
  return object.kind === "Pod" && isWorker(object as Pod);
}

/** What is there at the end, without what differs from run to run. */
function endOf(cluster: ClusterModel): unknown {
  const text = JSON.stringify(cluster.all().filter(({ kind }) => !BASE.some((object) => object.kind === kind)));
  const uids = [...new Set(text.match(/uid-\d+/g))];
  const named = uids.reduce((rest, uid, at) => rest.replaceAll(uid, `uid ${at}`), text);
  const timeless = named
    .replaceAll(/"resourceVersion":"\d+"/g, '"resourceVersion":""')
    .replaceAll(/"\d{4}-\d\d-\d\dT[\d:.]+Z"/g, '""');
  const objects = JSON.parse(timeless) as KubeObject[];
  return objects.sort((a, b) => (a.kind + a.metadata.name < b.kind + b.metadata.name ? -1 : 1));
}
