/**
 * What DataVolumes and claims can ask KubeVirt's CDI for and this controller does not do: told at once, in a sentence, instead
 * of silence, or of a worker that cannot succeed. What CDI itself has finished is left alone.
 */
import type { Checkpoint, DataVolume, DataVolumeSource } from "../../api/cdi.ts";
import type { Claim, DataReference } from "../../api/kube.ts";
import { ANNOTATIONS, GROUP, LABELS, VOLUME_IMPORT_SOURCE } from "../../api/names.ts";
import { fillPath } from "../claim-to-fill.ts";
import { annotationsOf } from "../draft.ts";
import type { ImportDraft } from "../draft.ts";
import { tell, warnOnce } from "../telling.ts";

export const SOURCE_NOT_SUPPORTED = "SourceNotSupported";
const PROFILE_NOT_APPLIED = "StorageProfileNotApplied";

/** Kinds of source that are accepted, and wait for a controller that knows them. */
const LATER = ["upload", "pvc", "snapshot"] as const;

const VMWARE_TEXT =
  "This controller does not import from VMware (source vddk): export the virtual machine as an OVA, and import that by http";

const STAGES_TEXT =
  "This controller copies whole disks only: an import in several stages, with checkpoints, is not supported";

const PROFILE_TEXT =
  `Label ${LABELS.applyProfile} has no effect here: the claim stays as it was written, and its size has no room added for the ` +
  "filesystem; a DataVolume with spec.storage is completed from the StorageProfile";

/** What a DataVolume or a VolumeImportSource has of it. */
interface Asked {
  readonly source?: DataVolumeSource;
  readonly sourceRef?: DataVolume["spec"]["sourceRef"];
  readonly checkpoints?: readonly Checkpoint[];
  readonly finalCheckpoint?: boolean;
}

/** A sentence for the user; undefined: nothing is asked that is not supported. */
export function unsupportedSource({ source, sourceRef, ...stages }: Asked): string | undefined {
  const later = sourceRef === undefined ? LATER.find((kind) => source?.[kind] !== undefined) : "sourceRef";
  if (later !== undefined) return unknownText(`the source ${later}`);
  if (source?.vddk !== undefined) return VMWARE_TEXT;
  return isStaged(stages) ? STAGES_TEXT : undefined;
}

/** The same of a claim's own reference: CDI has populators for these. */
export function unsupportedReference(reference: DataReference | undefined): string | undefined {
  const isOfCdi = reference?.apiGroup === GROUP && reference.kind !== VOLUME_IMPORT_SOURCE;
  return isOfCdi ? unknownText(reference.kind) : undefined;
}

/** A claim without a DataVolume, while it waits. */
export function tellUnsupportedClaim(draft: ImportDraft, claim: Claim): void {
  const { deletionTimestamp } = claim.metadata;
  if (claim.status?.phase !== "Pending" || deletionTimestamp !== undefined || fillPath(claim) !== "none") return;
  const annotations = annotationsOf(claim);
  if (annotations[ANNOTATIONS.podPhase] === "Succeeded") return;
  const asked =
    unsupportedReference(claim.spec.dataSourceRef) ??
    (annotations[ANNOTATIONS.uploadTarget] === undefined ? undefined : unknownText("uploads")) ??
    (annotations[ANNOTATIONS.cloneRequest] === undefined ? undefined : unknownText("copies of claims"));
  if (asked !== undefined) warnOnce(draft, claim, SOURCE_NOT_SUPPORTED, asked);
  else if (wantsProfile(claim)) warnOnce(draft, claim, PROFILE_NOT_APPLIED, PROFILE_TEXT);
}

/** Of a claim that is imported into all the same: to be called where that begins. */
export function tellProfileNotApplied(draft: ImportDraft, claim: Claim): void {
  if (wantsProfile(claim)) tell(draft, claim, "Warning", PROFILE_NOT_APPLIED, PROFILE_TEXT);
}

function wantsProfile({ metadata: { labels } }: Claim): boolean {
  return labels?.[LABELS.applyProfile] === "true";
}

/** One stage that is the first and the last is a whole copy. */
function isStaged({ checkpoints = [], finalCheckpoint = false }: Omit<Asked, "source" | "sourceRef">): boolean {
  const [first] = checkpoints;
  if (first === undefined) return false;
  return checkpoints.length > 1 || !finalCheckpoint || first.previous !== "";
}

function unknownText(what: string): string {
  return `This controller imports images; it does not know ${what} yet`;
}
