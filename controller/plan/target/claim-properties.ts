/**
 * Access modes and volume mode of a claim whose `storage` spec leaves them open (contract 3.3): from the class's storage
 * profile, in its order of preference.
 */
import type { ClaimPropertySet, ContentType } from "../../api/cdi.ts";
import type { AccessMode, VolumeMode } from "../../api/kube.ts";

export interface ClaimProperties {
  readonly accessModes: readonly AccessMode[];
  /** Undefined: left open, which is Filesystem. */
  readonly volumeMode: VolumeMode | undefined;
}

/** What is chosen, or why nothing can be. */
export type ChosenProperties = ClaimProperties | { readonly refused: string };

export interface AskedProperties {
  readonly accessModes: readonly AccessMode[] | undefined;
  readonly volumeMode: VolumeMode | undefined;
  readonly contentType: ContentType;
}

/** @param sets of the profile's status; undefined: the class has no profile yet */
export function chooseProperties(
  asked: AskedProperties,
  className: string,
  sets: readonly ClaimPropertySet[] | undefined,
): ChosenProperties {
  const wanted = forContent(asked);
  if ("refused" in wanted) return wanted;
  const { accessModes, volumeMode } = wanted;
  if (accessModes.length > 0 && volumeMode !== undefined) return wanted;
  if (sets === undefined) return { refused: `there is no StorageProfile for storage class ${className} yet` };
  if (accessModes.length > 0) {
    const matching = sets.find((set) => set.accessModes?.some((mode) => accessModes.includes(mode)));
    return { accessModes, volumeMode: matching?.volumeMode };
  }
  const [first] = sets;
  const set = volumeMode === undefined ? first : sets.find((one) => one.volumeMode === volumeMode);
  if (set?.accessModes === undefined || set.accessModes.length === 0) {
    const mode = volumeMode === undefined ? "" : ` with volumeMode ${volumeMode}`;
    return {
      refused: `no accessModes are given, and StorageProfile ${className} has none${mode}: give them in spec.storage or in the profile's claimPropertySets`,
    };
  }
  return { accessModes: set.accessModes, volumeMode: volumeMode ?? set.volumeMode };
}

/** An archive is unpacked into a filesystem. */
export function forContent({ accessModes = [], volumeMode, contentType }: AskedProperties): ChosenProperties {
  if (contentType !== "archive") return { accessModes, volumeMode };
  if (volumeMode === "Block") return { refused: "an archive needs volumeMode Filesystem, not Block" };
  return { accessModes, volumeMode: "Filesystem" };
}
