/**
 * What is to be imported, as annotations of the claim to fill (contract 5.1, the rows marked S): the whole interface between
 * whoever asks for an import and whoever makes its worker pod. On the legacy path they are the target's, else the prime's.
 */
import type { Checkpoint, ContentType, ImportSource } from "../api/cdi.ts";
import type { StringMap } from "../api/kube.ts";
import { ANNOTATIONS } from "../api/names.ts";

export interface ImportRequest {
  /** Undefined, or without a member that is known: nothing can be imported. */
  readonly source: ImportSource | undefined;
  /** Undefined: a disk. */
  readonly contentType: ContentType | undefined;
  readonly preallocation: boolean;
  readonly checkpoints?: readonly Checkpoint[] | undefined;
  readonly finalCheckpoint?: boolean | undefined;
}

/** Members whose value is empty are left out. */
type Sparse = Readonly<Record<string, string | undefined>>;

/** @returns undefined where the source has no member that can be imported */
export function importAnnotations(request: ImportRequest): StringMap | undefined {
  const ofSource = request.source === undefined ? undefined : sourceAnnotations(request.source);
  if (ofSource === undefined) return undefined;
  return withoutEmpty({
    ...ofSource,
    ...checkpointAnnotations(request),
    [ANNOTATIONS.contentType]: request.contentType === "archive" ? "archive" : "kubevirt",
    [ANNOTATIONS.preallocationRequested]: String(request.preallocation),
  });
}

/** Of an import in several stages, each with a pod of its own: the one that was done is not the last. */
export function hasStagesLeft(annotations: StringMap): boolean {
  return annotations[ANNOTATIONS.checkpointCurrent] !== undefined && annotations[ANNOTATIONS.checkpointDone] !== "true";
}

function sourceAnnotations(source: ImportSource): Sparse | undefined {
  const { http, s3, gcs, registry, blank, imageio, vddk } = source;
  if (http !== undefined) {
    return {
      ...place("http", http),
      [ANNOTATIONS.importChecksum]: http.checksum,
      [ANNOTATIONS.importInsecureSkipVerify]: onlyTrue(http.insecureSkipVerify),
      ...numbered(ANNOTATIONS.importExtraHeaders, http.extraHeaders),
      ...numbered(ANNOTATIONS.importSecretExtraHeaders, http.secretExtraHeaders),
    };
  }
  if (s3 !== undefined) return place("s3", s3);
  if (gcs !== undefined) return place("gcs", gcs);
  if (registry !== undefined) {
    const { url, imageStream, pullMethod, platform } = registry;
    const byUrl = url !== undefined && url !== "";
    return {
      ...place("registry", { ...registry, url: byUrl ? url : imageStream }),
      [ANNOTATIONS.importRegistryImageStream]: onlyTrue(!byUrl),
      [ANNOTATIONS.importRegistryMethod]: pullMethod,
      [ANNOTATIONS.importRegistryArchitecture]: platform?.architecture,
    };
  }
  if (blank !== undefined) return { [ANNOTATIONS.importSource]: "none" };
  if (imageio !== undefined) {
    return {
      ...place("imageio", imageio),
      [ANNOTATIONS.importDiskId]: imageio.diskId,
      [ANNOTATIONS.importInsecureSkipVerify]: onlyTrue(imageio.insecureSkipVerify),
    };
  }
  if (vddk === undefined) return undefined;
  return {
    ...place("vddk", vddk),
    [ANNOTATIONS.importUuid]: vddk.uuid,
    [ANNOTATIONS.importBackingFile]: vddk.backingFile,
    [ANNOTATIONS.importThumbprint]: vddk.thumbprint,
    [ANNOTATIONS.podVddkInitImage]: vddk.initImageURL,
    [ANNOTATIONS.podVddkExtraArgs]: vddk.extraArgs,
  };
}

/** What most kinds of source have. */
interface Place {
  readonly url?: string | undefined;
  readonly secretRef?: string;
  readonly certConfigMap?: string;
}

function place(kind: string, { url, secretRef, certConfigMap }: Place): Sparse {
  return {
    [ANNOTATIONS.importSource]: kind,
    [ANNOTATIONS.importEndpoint]: url,
    [ANNOTATIONS.importSecret]: secretRef,
    [ANNOTATIONS.importCertConfigMap]: certConfigMap,
  };
}

/** Of several stages, the first (contract 5.10). */
function checkpointAnnotations({ checkpoints = [], finalCheckpoint = false }: ImportRequest): Sparse {
  const [first] = checkpoints;
  if (first === undefined) return {};
  return {
    [ANNOTATIONS.checkpointCurrent]: first.current,
    [ANNOTATIONS.checkpointPrevious]: first.previous,
    [ANNOTATIONS.checkpointFinal]: String(finalCheckpoint && checkpoints.length === 1),
  };
}

function numbered(prefix: string, values: readonly string[] = []): Sparse {
  return Object.fromEntries(values.map((value, index) => [`${prefix}${index}`, value]));
}

function onlyTrue(value: boolean | undefined): string | undefined {
  return value === true ? "true" : undefined;
}

function withoutEmpty(annotations: Sparse): StringMap {
  const kept = Object.entries(annotations).filter(([, value]) => value !== undefined && value !== "");
  return Object.fromEntries(kept) as StringMap;
}
