/**
 * The objects of imports of which a user deletes one each, and how such imports end: whole, or without a trace. The imports of one
 * namespace stand side by side, named after what is deleted of them, with disks of their own; so none may touch another's.
 */
import assert from "node:assert/strict";
import fs from "node:fs";
import type { DataVolume } from "../../../controller/api/cdi.ts";
import type { Claim, KubeObject, Pod, Volume } from "../../../controller/api/kube.ts";
import { ANNOTATIONS, importSourceName, primeName } from "../../../controller/api/names.ts";
import { baseDisk } from "../../support/base-disk.ts";
import type { Cluster } from "../cluster.ts";
import { volumeFile } from "../objects.ts";
import type { VolumeObject } from "../objects.ts";
import { eventually } from "./eventually.ts";
import type { Imports } from "./imports.ts";

/** In the order of who owns whom. */
export const DELETED = ["data-volume", "source", "claim", "prime", "worker", "nothing"] as const;
export type Deleted = (typeof DELETED)[number];

/** What there is of an import at a moment. */
export interface ImportObjects {
  readonly dataVolume: DataVolume;
  readonly target: Claim;
  readonly source: KubeObject | undefined;
  readonly prime: Claim | undefined;
  readonly worker: Pod | undefined;
}

/** Read from the file of a Block volume, or wherever else the test finds it. */
export const DISKS: ReadonlyMap<string, Buffer> = new Map(
  DELETED.map((name, at) => [name, baseDisk(1024 * 1024, 100 + at)]),
);

type Part = Exclude<Deleted, "nothing">;

const PLURALS: Readonly<Record<Part, string>> = {
  "data-volume": "datavolumes",
  source: "volumeimportsources",
  claim: "persistentvolumeclaims",
  prime: "persistentvolumeclaims",
  worker: "pods",
};

/** Kubernetes' garbage collector, or the controller, deletes these too. */
const OWNED: Readonly<Record<Part, readonly Part[]>> = {
  "data-volume": ["source", "claim", "prime", "worker"],
  source: [],
  claim: ["prime", "worker"],
  prime: ["worker"],
  worker: [],
};

export async function objectsOf(imports: Imports, name: string): Promise<ImportObjects> {
  const dataVolume = await imports.get(name);
  const target = await imports.claim(name);
  const prime = primeName(target.metadata.uid ?? "");
  const find = async <T extends KubeObject>(plural: string, wanted: string): Promise<T | undefined> => {
    return (await imports.all<T>(plural)).find(({ metadata }) => metadata.name === wanted);
  };
  return {
    dataVolume,
    target,
    source: await find("volumeimportsources", importSourceName(dataVolume.metadata.uid ?? "")),
    prime: await find<Claim>("persistentvolumeclaims", prime),
    worker: await find<Pod>("pods", `importer-${prime}`),
  };
}

/** As a user does. Returns when this very object is gone: another of its name may be there by then. */
export async function deleteObject(imports: Imports, what: Deleted, objects: ImportObjects): Promise<void> {
  if (what === "nothing") return;
  const found = partOf(objects, what);
  assert.ok(found, `there is no ${what}`);
  await imports.remove(PLURALS[what], found.metadata.name);
  await untilPartIsGone(imports, what, objects);
}

/** Returns when all is gone that had to go with it. */
export async function untilOwnedAreGone(imports: Imports, what: Deleted, objects: ImportObjects): Promise<void> {
  if (what === "nothing") return;
  for (const one of OWNED[what]) await untilPartIsGone(imports, one, objects);
}

async function untilPartIsGone(imports: Imports, what: Part, objects: ImportObjects) {
  const uid = partOf(objects, what)?.metadata.uid;
  if (uid === undefined) return;
  await eventually(async () => {
    const left = (await imports.all(PLURALS[what])).filter(({ metadata }) => metadata.uid === uid);
    assert.deepEqual(namesOf(left), [], `the ${what} is still there`);
  });
}

function partOf({ dataVolume, ...rest }: ImportObjects, what: Part): KubeObject | undefined {
  if (what === "data-volume") return dataVolume;
  return what === "claim" ? rest.target : rest[what];
}

/**
 * Waits until each DataVolume that is left has its disk, and nothing else is there.
 * @param keepVolume imports of these names end with the volume that was being filled, or was full, when the object was deleted
 */
export async function assertEnds(
  cluster: Cluster,
  imports: Imports,
  before: ReadonlyMap<Deleted, ImportObjects>,
  keepVolume: readonly Deleted[],
): Promise<void> {
  const left = [...before].filter(([what]) => what !== "data-volume");
  const names = left.map(([what]) => what).sort();
  await eventually(async () => {
    const dataVolumes = await imports.all<DataVolume>("datavolumes");
    assert.deepEqual(namesOf(dataVolumes), names);
    for (const { metadata, status } of dataVolumes) assert.equal(status?.phase, "Succeeded", metadata.name);
    const claims = await imports.all<Claim>("persistentvolumeclaims");
    assert.deepEqual(
      claims.map(shownClaim).sort(),
      names.map((name) => `${name} Bound`),
    );
    assert.deepEqual(namesOf(await imports.all("pods")), []);
    assert.deepEqual(namesOf(await imports.all("volumeimportsources")), []);
    const volumes = await volumesIn(cluster, imports.namespace);
    assert.deepEqual(namesOf(volumes), claims.map(({ spec }) => spec.volumeName ?? "").sort());
    for (const volume of volumes) assertOrdinary(volume);
  });
  for (const [what, { target, prime }] of left) {
    const claim = await imports.claim(what);
    const isSameClaim = claim.metadata.uid === target.metadata.uid;
    assert.equal(isSameClaim, what !== "claim", `the claim where ${what} was deleted`);
    const volumeName = prime?.spec.volumeName ?? target.spec.volumeName;
    if (volumeName !== undefined) {
      const isSameVolume = claim.spec.volumeName === volumeName;
      assert.equal(isSameVolume, keepVolume.includes(what), `the volume where ${what} was deleted`);
    }
    assertDisk(volumeFile(cluster, await imports.volumeOf(claim)), DISKS.get(what) ?? assert.fail(), what);
  }
}

/** A file, or that of a device, begins with this disk. */
export function assertDisk(file: string, disk: Uint8Array, name: string): void {
  const found = Buffer.alloc(disk.length);
  const descriptor = fs.openSync(file, "r");
  fs.readSync(descriptor, found, 0, found.length, 0);
  fs.closeSync(descriptor);
  assert.ok(found.equals(disk), `${name} holds something else`);
}

/** As its provisioner made it, without a trace of its way. */
export function assertOrdinary({ metadata, spec }: Volume): void {
  assert.equal(spec.persistentVolumeReclaimPolicy, "Delete", metadata.name);
  assert.equal(metadata.annotations?.[ANNOTATIONS.originalReclaimPolicy], undefined, metadata.name);
  assert.equal(metadata.annotations?.[ANNOTATIONS.meantFor], undefined, metadata.name);
}

/** Made for claims of this namespace. */
export async function volumesIn(cluster: Cluster, namespace: string): Promise<readonly VolumeObject[]> {
  const { items } = await cluster.api.get<{ readonly items: readonly VolumeObject[] }>("/api/v1/persistentvolumes");
  return items.filter(({ spec }) => spec.claimRef?.namespace === namespace);
}

/** With what it still waits for, where it is on its way out. */
function shownClaim({ metadata: { name, deletionTimestamp, finalizers = [] }, status }: Claim): string {
  return [name, status?.phase, ...(deletionTimestamp === undefined ? [] : finalizers)].join(" ");
}

export function namesOf(objects: readonly KubeObject[]): readonly string[] {
  return objects.map(({ metadata }) => metadata.name).sort();
}
