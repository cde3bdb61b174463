/**
 * StorageProfile: what claims of a storage class may ask for (contract 9.1). There is one for each class, of its name. Its spec
 * is what a person knows better; its status is computed here, and alone is read.
 */
import type { ClaimPropertySet, CloneStrategy, StorageProfile } from "../../api/cdi.ts";
import type { AccessMode, KubeObject, StorageClass, StringMap, Volume } from "../../api/kube.ts";
import { ANNOTATIONS, API_VERSION, APP, GROUP, LABELS, NO_PROVISIONER } from "../../api/names.ts";
import { keyOf } from "../action.ts";
import type { Action } from "../action.ts";
import { withTimes } from "../condition-times.ts";
import type { Finding } from "../condition-times.ts";
import { annotationsOf, onlyChanges } from "../draft.ts";
import { capabilitiesOf } from "./capabilities.ts";
import type { Capabilities } from "./capabilities.ts";
import { provisionerKey, UNKNOWN_KEY } from "./provisioner-key.ts";
import { replacingPatch } from "./replacing-patch.ts";

/** `snapshot.storage.k8s.io/v1`. */
export interface SnapshotClass extends KubeObject {
  readonly kind: "VolumeSnapshotClass";
  readonly driver: string;
  readonly parameters?: StringMap;
}

export interface ObservedProfile {
  readonly now: Date;
  /** Undefined: it was deleted, or never there. */
  readonly storageClass: StorageClass | undefined;
  /** The one of the class's name. */
  readonly profile: StorageProfile | undefined;
  /** In any phase; only those of the class count. */
  readonly volumes: Iterable<Volume>;
  /** Empty also where snapshots are not installed. */
  readonly snapshotClasses: readonly SnapshotClass[];
}

const DEFAULT_SNAPSHOT_CLASS = "snapshot.storage.kubernetes.io/is-default-class";

/** Of a class: how its claims are to be copied. */
const CLONE_STRATEGY = `${GROUP}/clone-strategy`;

/** Of a snapshot class of Google's disks: its snapshots are images, which can be read more often. */
const IMAGE_SNAPSHOTS: readonly [string, string] = ["snapshot-type", "images"];
const PERSISTENT_DISK = "pd.csi.storage.gke.io";

const PROFILE_ANNOTATIONS = {
  readWriteOnceForCron: `${GROUP}/useReadWriteOnceForDataImportCron`,
  snapshotClassForCron: `${GROUP}/snapshotClassForDataImportCron`,
} as const;

const PROFILE_LABELS: StringMap = { [LABELS.app]: APP, [GROUP]: "" };

/** Preferred first: shared by nodes, then written by one, then read only. */
const MODE_ORDER: readonly AccessMode[] = ["ReadWriteMany", "ReadWriteOnce", "ReadOnlyMany", "ReadWriteOncePod"];

/** As many as the API lets in. */
const MAX_SETS = 8;

export function planProfile(observed: ObservedProfile): readonly Action[] {
  const { storageClass, profile } = observed;
  if (storageClass === undefined || storageClass.metadata.deletionTimestamp !== undefined) return deletion(profile);
  const capabilities = capabilitiesOf(provisionerKey(storageClass));
  const annotations = annotationsFor(observed, storageClass, capabilities);
  if (profile === undefined) {
    const { name } = storageClass.metadata;
    const metadata = { name, labels: PROFILE_LABELS, annotations };
    const created: StorageProfile = { apiVersion: API_VERSION, kind: "StorageProfile", metadata, spec: {} };
    return [{ do: "create", object: created }];
  }
  const { uid } = profile.metadata;
  if (uid === undefined) return [];
  const object = keyOf(profile);
  const missing = Object.entries(annotations).filter(([name]) => annotationsOf(profile)[name] === undefined);
  const wanted = { metadata: { labels: PROFILE_LABELS, annotations: Object.fromEntries(missing) } };
  const patch = onlyChanges(profile, wanted);
  const status = replacingPatch(profile.status, statusOf(observed, storageClass, profile, capabilities));
  return [
    ...(patch === undefined ? [] : [{ do: "patch", object, uid, patch } as const]),
    ...(status === undefined ? [] : [{ do: "patch", object, uid, subresource: "status", patch: { status } } as const]),
  ];
}

/** A profile that somebody wrote before there was the class is left. */
function deletion(profile: StorageProfile | undefined): readonly Action[] {
  const { uid, deletionTimestamp, labels } = profile?.metadata ?? {};
  if (profile === undefined || uid === undefined || deletionTimestamp !== undefined) return [];
  return labels?.[GROUP] === undefined ? [] : [{ do: "delete", object: keyOf(profile), uid }];
}

/** Only where there are none: a person may have set others. */
function annotationsFor(
  { snapshotClasses }: ObservedProfile,
  { provisioner }: StorageClass,
  capabilities: Capabilities | undefined,
): StringMap {
  const [name, value] = IMAGE_SNAPSHOTS;
  const ofImages = snapshotClasses
    .filter((one) => one.driver === provisioner && one.driver === PERSISTENT_DISK && one.parameters?.[name] === value)
    .map(({ metadata }) => metadata.name)
    .sort()[0];
  return {
    ...(capabilities?.minimumSize === undefined
      ? {}
      : { [ANNOTATIONS.minimumSupportedSize]: capabilities.minimumSize }),
    ...(capabilities?.readWriteOnceForCron === true ? { [PROFILE_ANNOTATIONS.readWriteOnceForCron]: "true" } : {}),
    ...(ofImages === undefined ? {} : { [PROFILE_ANNOTATIONS.snapshotClassForCron]: ofImages }),
  };
}

function statusOf(
  observed: ObservedProfile,
  storageClass: StorageClass,
  profile: StorageProfile,
  capabilities: Capabilities | undefined,
): NonNullable<StorageProfile["status"]> {
  const snapshotClass = chooseSnapshotClass(observed.snapshotClasses, storageClass, profile.spec.snapshotClass);
  const cronFormat = snapshotClass === undefined ? undefined : capabilities?.cronFormat;
  const given = (profile.spec.claimPropertySets ?? []).filter(isComplete);
  return {
    storageClass: storageClass.metadata.name,
    provisioner: storageClass.provisioner,
    claimPropertySets: given.length > 0 ? given : setsOf(observed, storageClass, capabilities),
    cloneStrategy: cloneStrategyOf(storageClass, profile, capabilities, snapshotClass),
    dataImportCronSourceFormat: profile.spec.dataImportCronSourceFormat ?? cronFormat ?? "pvc",
    ...(snapshotClass === undefined ? {} : { snapshotClass }),
    conditions: [withTimes(recognition(storageClass, capabilities), profile.status?.conditions, observed.now)],
  };
}

/** Without a provisioner, claims get what volumes are there. */
function setsOf(
  { volumes }: ObservedProfile,
  { provisioner, metadata: { name } }: StorageClass,
  capabilities: Capabilities | undefined,
): readonly ClaimPropertySet[] {
  if (provisioner !== NO_PROVISIONER) return capabilities?.sets ?? [];
  const found = new Set<string>();
  for (const { spec } of volumes) {
    if (spec.storageClassName !== name) continue;
    for (const mode of spec.accessModes ?? []) found.add(`${mode}/${spec.volumeMode ?? "Filesystem"}`);
  }
  const ordered = MODE_ORDER.flatMap((mode) =>
    (["Block", "Filesystem"] as const).map((volumeMode) => ({ accessModes: [mode], volumeMode })),
  );
  return ordered.filter((set) => found.has(`${set.accessModes[0]}/${set.volumeMode}`)).slice(0, MAX_SETS);
}

function chooseSnapshotClass(
  classes: readonly SnapshotClass[],
  { provisioner }: StorageClass,
  asked: string | undefined,
): string | undefined {
  const ofDriver = classes
    .filter(({ driver }) => driver === provisioner)
    .sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
  const found =
    ofDriver.find(({ metadata }) => metadata.name === asked) ??
    ofDriver.find((one) => annotationsOf(one)[DEFAULT_SNAPSHOT_CLASS] === "true") ??
    ofDriver[0];
  return found?.metadata.name;
}

function cloneStrategyOf(
  storageClass: StorageClass,
  { spec }: StorageProfile,
  capabilities: Capabilities | undefined,
  snapshotClass: string | undefined,
): CloneStrategy {
  const annotated = annotationsOf(storageClass)[CLONE_STRATEGY];
  const wanted =
    spec.cloneStrategy ??
    (isCloneStrategy(annotated) ? annotated : undefined) ??
    capabilities?.cloneStrategy ??
    "snapshot";
  return wanted === "snapshot" && snapshotClass === undefined ? "copy" : wanted;
}

function recognition(storageClass: StorageClass, capabilities: Capabilities | undefined): Finding {
  const { provisioner } = storageClass;
  const type = "Recognized";
  if (capabilities !== undefined) {
    const message = `Provisioner ${provisioner} is known`;
    return { type, status: "True", reason: "RecognizedProvisioner", message };
  }
  if (provisionerKey(storageClass) === UNKNOWN_KEY) {
    const message = `Provisioner ${provisioner} is known, but not with these parameters of the storage class`;
    return { type, status: "False", reason: "UnrecognizedStorageClassParameters", message };
  }
  const message = `Provisioner ${provisioner} is not known: give claimPropertySets in this profile's spec`;
  return { type, status: "False", reason: "UnrecognizedProvisioner", message };
}

function isComplete({ accessModes, volumeMode }: ClaimPropertySet): boolean {
  return accessModes !== undefined && accessModes.length > 0 && volumeMode !== undefined;
}

function isCloneStrategy(text: string | undefined): text is CloneStrategy {
  return text === "copy" || text === "snapshot" || text === "csi-clone";
}
