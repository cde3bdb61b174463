/**
 * The controller is killed before each step of an import, and another one takes it to the same end: the disk is whole, there was one
 * prime and one worker, no volume was lost, and nothing of the way is left.
 */
import assert from "node:assert/strict";
import fs from "node:fs";
import { describe, it } from "node:test";
import type { Claim, KubeObject, Volume } from "../../../controller/api/kube.ts";
import { ANNOTATIONS, primeName } from "../../../controller/api/names.ts";
import { baseDisk } from "../../support/base-disk.ts";
import { requireTools } from "../../support/tools.ts";
import { requireRunningCluster } from "../cluster.ts";
import type { Cluster } from "../cluster.ts";
import { localPathDisk, volumeFile } from "../objects.ts";
import { LOCAL_PATH } from "../storage.ts";
import { eventually } from "./eventually.ts";
import { withHeldImages } from "./held-images.ts";
import { assertDisk, assertEnds, assertOrdinary, DISKS, namesOf, objectsOf, volumesIn } from "./import-objects.ts";
import type { Deleted, ImportObjects } from "./import-objects.ts";
import type { ImportOptions, Imports } from "./imports.ts";
import {
  clusterWithoutController,
  creates,
  deletes,
  killBefore,
  patches,
  whileControlled,
} from "./killed-controller.ts";
import type { Call, CallTest } from "./killed-controller.ts";
import { withServedImages } from "./served-images.ts";

const skip = requireRunningCluster() || requireTools("nginx");
const DISK = baseDisk(1024 * 1024);

const CLAIM = "PersistentVolumeClaim";
const VOLUME = "PersistentVolume";
const POLICY = ["spec", "persistentVolumeReclaimPolicy"];
const RESULT = ["metadata", "annotations", ANNOTATIONS.podPhase];

/** Of the claims that the test asks for. */
const TARGET = /^before-/;

interface Path {
  readonly name: string;
  readonly options: ImportOptions;
  /** By what is about to be done when the controller is killed. */
  readonly steps: Readonly<Record<string, CallTest>>;
  /** Of the claim that is filled for this target. */
  readonly filledName: (target: Claim) => string;
  readonly diskOf: (cluster: Cluster, target: Claim, volume: Volume) => string;
}

const PATHS: readonly Path[] = [
  {
    name: "by a prime",
    options: { volumeMode: "Block" },
    steps: {
      "its source object is made": creates("VolumeImportSource"),
      "its claim is made": creates(CLAIM, TARGET),
      "its prime is made": creates(CLAIM, /^prime-/),
      "its worker is made": creates("Pod"),
      "the worker's result is noted": patches(CLAIM, RESULT, "Succeeded"),
      "the result shows on its claim": patches(
        CLAIM,
        ["metadata", "annotations", ANNOTATIONS.populatorProgress],
        "100.0%",
      ),
      "its volume gets the policy Retain": patches(VOLUME, POLICY, "Retain"),
      "its volume changes hands": patches(VOLUME, ["spec", "claimRef"]),
      "its volume gets its policy back": patches(VOLUME, POLICY, "Delete"),
      "it is called Succeeded": patches("DataVolume", ["status", "phase"], "Succeeded"),
      "its source object is removed": deletes("VolumeImportSource"),
      "its prime is removed, and the worker with it": deletes(CLAIM),
    },
    filledName: ({ metadata }) => primeName(metadata.uid ?? ""),
    diskOf: (cluster, _, volume) => volumeFile(cluster, volume),
  },
  {
    name: "in place",
    options: { storageClass: LOCAL_PATH, annotations: { [ANNOTATIONS.immediateBind]: "" } },
    steps: {
      "its claim is made": creates(CLAIM, TARGET),
      "its worker is made": creates("Pod"),
      "the worker's result is noted": patches(CLAIM, RESULT, "Succeeded"),
      "the worker is removed": deletes("Pod"),
      "it is called Succeeded": patches("DataVolume", ["status", "phase"], "Succeeded"),
    },
    filledName: ({ metadata }) => metadata.name,
    diskOf: ({ nodes }, target) => {
      const disks = nodes.map((node) => localPathDisk(node, target));
      return disks.find((disk) => fs.existsSync(disk)) ?? assert.fail(`there is no ${disks.join(" nor ")}`);
    },
  },
];

describe("a controller that is killed", { skip }, () => {
  const cluster = clusterWithoutController();

  for (const { name: way, options, steps, filledName, diskOf } of PATHS) {
    it(`before each step of an import ${way}`, async () => {
      await withServedImages(cluster, async ({ imports, urlOf, write }) => {
        write("disk", DISK);
        await withWitness(cluster, imports, async (witness) => {
          const stepOf = new Map(Object.entries(steps).map(([step, isStep]) => [nameFor(step), isStep]));
          const names = [...stepOf.keys()].sort();
          for (const name of names) await imports.start(name, { http: { url: urlOf("disk") } }, options);
          await killBefore(cluster, stopEachAt(stepOf), names.length);
          await whileControlled(cluster, async () => {
            await Promise.all(names.map(async (name) => await imports.untilSucceeded(name)));
            await untilTidy(cluster, imports, names);
          });
          const claims = await Promise.all(names.map(async (name) => await imports.claim(name)));
          for (const claim of claims) {
            assert.equal(claim.status?.phase, "Bound");
            const disk = diskOf(cluster, claim, await imports.volumeOf(claim));
            assertDisk(disk, DISK, claim.metadata.name);
          }
          // One object each, by its UID.
          const filled = claims.map(filledName);
          assert.deepEqual(witness.claims(), [...new Set([...names, ...filled])].sort());
          assert.deepEqual(witness.workers(), filled.map((name) => `importer-${name}`).sort());
          assert.deepEqual(witness.volumes(), claims.map(({ spec }) => spec.volumeName ?? "").sort());
        });
      });
    });
  }

  it("and does not see that a claim is deleted: the worker of its prime is ended", async () => {
    await withHeldImages(cluster, DISKS, async ({ imports, urlOf, release }) => {
      await imports.start("claim", { http: { url: urlOf("claim") } }, { volumeMode: "Block" });
      await whileControlled(cluster, async () => {
        await imports.until("claim", ({ status }) => status?.phase === "ImportInProgress");
      });
      const objects = await objectsOf(imports, "claim");
      await imports.remove("persistentvolumeclaims", "claim");
      await imports.untilGone("persistentvolumeclaims", "claim");
      await whileControlled(cluster, async () => {
        const { worker, prime } = objects;
        await imports.untilGone("pods", worker?.metadata.name ?? "");
        await imports.untilGone("persistentvolumeclaims", prime?.metadata.name ?? "");
        release();
        await assertEnds(cluster, imports, new Map<Deleted, ImportObjects>([["claim", objects]]), []);
      });
    });
  });
});

/** For a DataVolume whose import is to stop there. */
function nameFor(step: string): string {
  return `before-${step.replaceAll(/[^a-z]+/g, "-")}`;
}

/**
 * For each import the controller is dead from its step on: none of its calls is made any more. Which import a call is for shows in
 * what it sends, then or earlier.
 */
function stopEachAt(stepOf: ReadonlyMap<string, CallTest>): (call: Call) => string | undefined {
  const importOf = new Map([...stepOf.keys()].map((name) => [name, name]));
  const stopped = new Set<string>();
  return (call) => {
    const { name = "", sent } = call;
    const said = [
      (sent as Partial<KubeObject> | undefined)?.metadata?.ownerReferences?.[0]?.name,
      (sent as Partial<KubeObject> | undefined)?.metadata?.annotations?.[ANNOTATIONS.meantFor]?.split("/")[1],
    ];
    const whom = importOf.get(name) ?? said.map((one) => importOf.get(one ?? "")).find((one) => one !== undefined);
    if (whom === undefined) return undefined;
    importOf.set(name, whom);
    if (stopped.has(whom)) return whom;
    if (stepOf.get(whom)?.(call) !== true) return undefined;
    stopped.add(whom);
    return whom;
  };
}

/** Until nothing is there but these DataVolumes, their claims, and the claims' volumes. */
async function untilTidy(cluster: Cluster, imports: Imports, names: readonly string[]): Promise<void> {
  await eventually(async () => {
    assert.deepEqual(namesOf(await imports.all("persistentvolumeclaims")), [...names].sort());
    assert.deepEqual(namesOf(await imports.all("pods")), []);
    assert.deepEqual(namesOf(await imports.all("volumeimportsources")), []);
    const volumes = await volumesIn(cluster, imports.namespace);
    assert.equal(volumes.length, names.length);
    for (const volume of volumes) assertOrdinary(volume);
  });
}

/** All that there ever was. A name stands as often as there were objects of it. */
interface Witness {
  claims(): readonly string[];
  workers(): readonly string[];
  volumes(): readonly string[];
}

async function withWitness(
  cluster: Cluster,
  { namespace }: Imports,
  use: (witness: Witness) => Promise<void>,
): Promise<void> {
  const ends: (() => void)[] = [];
  const watch = async (place: string, isOurs: (object: KubeObject) => boolean = () => true) => {
    const seen = new Map<string, KubeObject>();
    const end = await cluster.api.watch<KubeObject>(place, ({ object }) => {
      if (isOurs(object)) seen.set(object.metadata.uid ?? "", object);
    });
    ends.push(end);
    return () => namesOf([...seen.values()]);
  };
  try {
    const claims = await watch(`/api/v1/namespaces/${namespace}/persistentvolumeclaims`);
    const workers = await watch(`/api/v1/namespaces/${namespace}/pods`);
    const volumes = await watch("/api/v1/persistentvolumes", (object) => {
      return (object as Volume).spec.claimRef?.namespace === namespace;
    });
    await use({ claims, workers, volumes });
  } finally {
    for (const end of ends) end();
  }
}
