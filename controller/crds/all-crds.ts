/**
 * Every kind of `cdi.kubevirt.io`. Clients of KubeVirt watch most of them, so all are there, also those that nothing acts on yet.
 */
import { cdiConfigDefinition, cdiDefinition } from "./cdi-config.ts";
import { dataVolumeDefinition } from "./data-volume.ts";
import { stamped } from "./definition.ts";
import type { CustomResourceDefinition } from "./definition.ts";
import { dataImportCronDefinition, dataSourceDefinition } from "./golden-images.ts";
import { objectTransferDefinition } from "./object-transfer.ts";
import { storageProfileDefinition } from "./storage-profile.ts";
import {
  volumeCloneSourceDefinition,
  volumeImportSourceDefinition,
  volumeUploadSourceDefinition,
} from "./volume-sources.ts";

export function allCrds(): readonly CustomResourceDefinition[] {
  return [
    dataVolumeDefinition,
    volumeImportSourceDefinition,
    volumeUploadSourceDefinition,
    volumeCloneSourceDefinition,
    storageProfileDefinition,
    dataSourceDefinition,
    dataImportCronDefinition,
    cdiConfigDefinition,
    cdiDefinition,
    objectTransferDefinition,
  ].map(stamped);
}
