/**
 * The labels of what this controller makes for an import, beside the target: whose it is, and what is to be left out of
 * backups. An installer's labels are added, but take no place of ours.
 */
import type { StringMap } from "../api/kube.ts";
import { APP, COMPONENT, LABELS, MANAGED_BY } from "../api/names.ts";
import type { ControllerSettings } from "./observed.ts";

export function ownLabels({ recommendedLabels }: ControllerSettings): StringMap {
  return {
    ...recommendedLabels,
    [LABELS.app]: APP,
    [LABELS.component]: COMPONENT,
    [LABELS.managedBy]: MANAGED_BY,
  };
}

/** Of an object that is gone when the import is done. */
export function passingLabels(settings: ControllerSettings): StringMap {
  return { ...ownLabels(settings), [LABELS.excludeFromBackup]: "true" };
}
