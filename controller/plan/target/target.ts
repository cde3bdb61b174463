/**
 * The first step of a plan: a DataVolume gets its target claim, and on the populator path the VolumeImportSource that the claim
 * names. What cannot be made is reported as a problem and not tried again by the clock: it heals when a storage class, a
 * profile, a volume, a CSIDriver or the DataVolume's annotations change.
 */
import type { DataVolume, ImportSource } from "../../api/cdi.ts";
import type { Claim, ClaimSpec, DataReference } from "../../api/kube.ts";
import { ANNOTATIONS, VOLUME_IMPORT_SOURCE } from "../../api/names.ts";
import { annotationsOf } from "../draft.ts";
import type { ImportDraft } from "../draft.ts";
import { importAnnotations } from "../import-annotations.ts";
import { rejectionReason } from "../telling.ts";
import { requiresWork } from "./adoption.ts";
import { planExistingTarget } from "./existing-target.ts";
import { importSourceOf } from "./import-source.ts";
import { choosePopulator, describeClass } from "./populator-choice.ts";
import { renderClaim } from "./render-claim.ts";
import { reservedVolumes } from "./static-volumes.ts";
import { targetClaim, usesPopulator } from "./target-claim.ts";
import type { Filling } from "./target-claim.ts";
import { SOURCE_NOT_SUPPORTED, tellUnsupportedClaim, unsupportedReference, unsupportedSource } from "./unsupported.ts";

/** The gate and the overhead are decided with the claim, for good; CDIConfig is made when the controller starts. */
const CONFIG_WAIT_MS = 1000;

export function planTarget(draft: ImportDraft): void {
  const { dataVolume, target, cluster } = draft.now;
  if (dataVolume === undefined) {
    if (target !== undefined) tellUnsupportedClaim(draft, target);
    return;
  }
  if (dataVolume.metadata.deletionTimestamp !== undefined) return;
  if (target !== undefined) {
    planExistingTarget(draft, dataVolume, target);
    tellDroppedReference(draft, dataVolume, target);
    return;
  }
  // Restored from a backup: the claim comes from there, too.
  if (annotationsOf(dataVolume)[ANNOTATIONS.prePopulated] !== undefined) return;
  if (cluster.config === undefined) {
    draft.again(CONFIG_WAIT_MS);
    return;
  }
  // A volume that is there already holds what a source would bring.
  if (!looksForVolumes(dataVolume) && tellUnsupported(draft, dataVolume)) return;
  const rendered = renderClaim(dataVolume, cluster);
  if ("refused" in rendered) {
    draft.problem("ErrClaimNotValid", `The claim cannot be made: ${rendered.refused}`, { phase: "" });
    return;
  }
  if (tellRejection(draft)) return;
  const { spec } = rendered;
  const volumes = volumesFor(dataVolume, spec, draft);
  if (volumes.length > 0) {
    draft.create(targetClaim(dataVolume, spec, { by: "volume", volumes }, cluster), "target");
    return;
  }
  const filling = chooseFilling(draft, dataVolume, spec);
  if (filling === undefined) return;
  draft.annotate(dataVolume, {
    [ANNOTATIONS.usePopulator]: annotationsOf(dataVolume)[ANNOTATIONS.usePopulator] ?? String(usesPopulator(filling)),
  });
  const { source } = dataVolume.spec;
  if (filling.by === "populator" && source !== undefined && draft.now.source === undefined) {
    draft.create(importSourceOf(dataVolume, source, cluster), "source");
  }
  draft.create(targetClaim(dataVolume, spec, filling, cluster), "target");
}

/** @returns whether the API server has just refused what this step makes */
function tellRejection(draft: ImportDraft): boolean {
  const { rejected, name } = draft.now;
  if (rejected?.do !== "create") return false;
  const isClaim = rejected.kind === "PersistentVolumeClaim" && rejected.name === name;
  if (!isClaim && rejected.kind !== VOLUME_IMPORT_SOURCE) return false;
  draft.problem(rejectionReason(rejected, "ErrClaimNotValid"), rejected.message);
  return true;
}

/** An API server that does not know references to other kinds lets the claim in without. */
function tellDroppedReference(draft: ImportDraft, dataVolume: DataVolume, target: Claim): void {
  const reference = externalReference(dataVolume);
  if (reference === undefined || !isOfOthers(reference) || target.spec.dataSourceRef !== undefined) return;
  if (!requiresWork(target, dataVolume, draft.now.cluster)) return;
  draft.problem("NoAnyVolumeDataSource", "The API server has dropped dataSourceRef: the claim will stay empty");
}

/** What a DataVolume without a source of CDI's own is filled from, by others (contract 2.6). */
function externalReference({ spec }: DataVolume): DataReference | undefined {
  if (spec.source !== undefined || spec.sourceRef !== undefined) return undefined;
  const claim = spec.pvc ?? spec.storage;
  return claim?.dataSourceRef ?? claim?.dataSource;
}

function looksForVolumes(dataVolume: DataVolume): boolean {
  return annotationsOf(dataVolume)[ANNOTATIONS.checkStaticVolume] !== undefined;
}

function volumesFor(dataVolume: DataVolume, spec: ClaimSpec, { now }: ImportDraft): readonly string[] {
  if (!looksForVolumes(dataVolume)) return [];
  return reservedVolumes(now.cluster, now.namespace, now.name, spec);
}

/** Undefined where it was reported why there is none. */
function chooseFilling(draft: ImportDraft, dataVolume: DataVolume, spec: ClaimSpec): Filling | undefined {
  const { cluster } = draft.now;
  if (tellUnsupported(draft, dataVolume)) return undefined;
  const external = externalReference(dataVolume);
  if (external === undefined && !isImport(dataVolume.spec.source)) {
    draft.problem("ErrClaimNotValid", "The claim cannot be made: spec.source names no source", { phase: "" });
    return undefined;
  }
  const choice = choosePopulator(dataVolume, spec, cluster);
  if ("refused" in choice) {
    draft.problem(choice.refused.reason, choice.refused.message, { phase: "" });
    return undefined;
  }
  const { usePopulator } = choice;
  if (external === undefined) return { by: usePopulator ? "populator" : "import" };
  if (!usePopulator && external.kind !== "VolumeSnapshot") {
    const message = `A ${external.kind} can only be the source of a claim of a CSI class, but ${describeClass(spec, cluster)}`;
    draft.problem("NoCSIDriverForExternalPopulation", message, { phase: "" });
    return undefined;
  }
  return { by: "others", usePopulator };
}

/** @returns whether there was something to tell */
function tellUnsupported(draft: ImportDraft, dataVolume: DataVolume): boolean {
  const unsupported = unsupportedSource(dataVolume.spec) ?? unsupportedReference(externalReference(dataVolume));
  if (unsupported !== undefined) draft.problem(SOURCE_NOT_SUPPORTED, unsupported);
  return unsupported !== undefined;
}

function isImport(source: ImportSource | undefined): boolean {
  return importAnnotations({ source, contentType: undefined, preallocation: false }) !== undefined;
}

/** Neither a claim nor a snapshot: populated by a controller of its own. */
function isOfOthers({ kind }: DataReference): boolean {
  return kind !== "PersistentVolumeClaim" && kind !== "VolumeSnapshot";
}
