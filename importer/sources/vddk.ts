/**
 * A disk of VMware, by way of VMware's own library (VDDK), which nbdkit's vddk plugin loads. Neither comes with decant: who has
 * them is told what else is missing, who has not is told what to bring.
 */
import { UsageError } from "../errors.ts";
import { requireVddk, vddkPlaces } from "../vddk/requirements.ts";
import type { VddkPlaces } from "../vddk/requirements.ts";
import type { Source } from "./source.ts";

export interface VddkOptions {
  /** Of the disk's machine. */
  readonly uuid: string;
  /** Path of the disk, `[datastore] folder/disk.vmdk`. */
  readonly backingFile: string;
  readonly checkpoint: { readonly current: string | undefined; readonly previous: string | undefined };
  /** The machine's, as Node.js calls it. */
  readonly arch: string;
  /** Where programs are looked for. */
  readonly searchPath: string | undefined;
  readonly places?: VddkPlaces;
}

/** @throws UsageError with what is missing */
export async function openVddk(options: VddkOptions): Promise<Source> {
  const { checkpoint, uuid, backingFile, arch, searchPath, places = vddkPlaces } = options;
  if (checkpoint.previous !== undefined && checkpoint.current === undefined) {
    throw new UsageError("previous checkpoint set without current");
  }
  if (uuid === "" || backingFile === "") {
    throw new UsageError("a VMware disk is named by its machine's UUID and its backing file; one of them is missing");
  }
  await requireVddk(arch, searchPath, places);
  if (checkpoint.current !== undefined) {
    throw new UsageError("checkpoints of VMware disks are not supported: warm migration copies changed blocks only", {
      remedy: "Import the disk as a whole, without checkpoints.",
    });
  }
  throw new UsageError("VMware disks are not supported yet", { remedy: "Export the disk and import it over http." });
}
