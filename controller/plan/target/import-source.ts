/**
 * The VolumeImportSource of a DataVolume (contract 4.2): what its target's dataSourceRef names. It is there until the
 * DataVolume has succeeded, and goes with it.
 */
import type { DataVolume, ImportSource, VolumeImportSource } from "../../api/cdi.ts";
import { API_VERSION, importSourceName, VOLUME_IMPORT_SOURCE } from "../../api/names.ts";
import { controllerReference } from "../../api/ownership.ts";
import { preallocationFor } from "../config-values.ts";
import { defined } from "../defined.ts";
import type { ClusterFacts } from "../observed.ts";
import { contentTypeOf } from "./render-claim.ts";

/** @param source one that can be imported */
export function importSourceOf(dataVolume: DataVolume, source: ImportSource, facts: ClusterFacts): VolumeImportSource {
  const { metadata, spec } = dataVolume;
  const owner = controllerReference(dataVolume);
  const { checkpoints, finalCheckpoint } = spec;
  const isMultiStage = checkpoints !== undefined && checkpoints.length > 0;
  return {
    apiVersion: API_VERSION,
    kind: VOLUME_IMPORT_SOURCE,
    metadata: {
      name: importSourceName(owner.uid),
      ...defined({ namespace: metadata.namespace }),
      ownerReferences: [owner],
    },
    spec: {
      source,
      contentType: contentTypeOf(dataVolume),
      preallocation: preallocationFor(facts, spec.preallocation),
      ...(isMultiStage ? { targetClaim: metadata.name, checkpoints } : {}),
      ...(isMultiStage && finalCheckpoint !== undefined ? { finalCheckpoint } : {}),
    },
  };
}
