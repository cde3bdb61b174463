/**
 * DataImportCron (contract 1.7): this controller does not look for new images yet, and says so on each, once. A cluster that
 * KubeVirt's CDI has managed before has such objects, with conditions that are out of date by now.
 */
import type { DataImportCron } from "../../api/cdi.ts";
import { keyOf } from "../action.ts";
import type { Action } from "../action.ts";
import { conditionsWith } from "../condition-times.ts";
import { onlyChanges } from "../draft.ts";

const REASON = "NotSupported";
const MESSAGE =
  "This controller does not look for new images yet: nothing is imported by this DataImportCron; import with a DataVolume";

const TYPES = ["Progressing", "UpToDate"];

export function planCron(cron: DataImportCron, now: Date): readonly Action[] {
  const { uid, deletionTimestamp } = cron.metadata;
  if (uid === undefined || deletionTimestamp !== undefined) return [];
  const own = TYPES.map((type) => ({ type, status: "False", reason: REASON, message: MESSAGE }) as const);
  const patch = onlyChanges(cron, { status: { conditions: conditionsWith(own, cron.status?.conditions, now) } });
  if (patch === undefined) return [];
  return [
    { do: "patch", object: keyOf(cron), uid, patch },
    { do: "event", on: cron, type: "Warning", reason: REASON, message: MESSAGE },
  ];
}
