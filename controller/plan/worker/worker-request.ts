/**
 * What a worker is to do, read from the annotations of the claim that it fills (contract 5.1, the rows marked R). Whoever
 * made the claim wrote them: an unknown word counts as its default, as CDI has it, and no text is taken for more than a text.
 */
import type { ContentType } from "../../api/cdi.ts";
import type { Claim, StringMap } from "../../api/kube.ts";
import { ANNOTATIONS } from "../../api/names.ts";
import { annotationsOf } from "../draft.ts";

const SOURCES = ["http", "s3", "gcs", "glance", "none", "registry", "imageio", "vddk"] as const;

export interface WorkerRequest {
  /** `none`: a blank disk. */
  readonly source: (typeof SOURCES)[number];
  readonly endpoint: string;
  readonly contentType: ContentType;
  readonly secret: string | undefined;
  readonly certConfigMap: string | undefined;
  readonly skipsVerification: boolean;
  readonly checksum: string;
  /** In the order of their numbers. */
  readonly extraHeaders: readonly string[];
  /** Names of Secrets, in the same order. */
  readonly secretExtraHeaders: readonly string[];
  /** The node pulls the container image, and a container of the same pod hands the disk out. */
  readonly nodePull: boolean;
  /** The endpoint is the name of an OpenShift image stream. */
  readonly imageStream: boolean;
  readonly architecture: string;
  readonly diskId: string;
  readonly uuid: string;
  readonly backingFile: string;
  readonly thumbprint: string;
  readonly checkpoint: { readonly current: string; readonly previous: string; readonly final: string };
  readonly preallocation: boolean;
  /** A worker ran out of memory. */
  readonly directIo: boolean;
  /** A worker asked for it. */
  readonly scratch: boolean;
}

export function readRequest(claim: Claim): WorkerRequest {
  const annotations = annotationsOf(claim);
  const source = SOURCES.find((known) => known === annotations[ANNOTATIONS.importSource]) ?? "http";
  // Of a blank disk nothing is asked but what it is to be.
  const given = (name: string): string => (source === "none" ? "" : (annotations[name] ?? ""));
  const optional = (name: string): string | undefined => given(name) || undefined;
  const headers = (prefix: string): readonly string[] => (source === "none" ? [] : numbered(annotations, prefix));
  const imageStream = source === "registry" && given(ANNOTATIONS.importRegistryImageStream) === "true";
  return {
    source,
    endpoint: given(ANNOTATIONS.importEndpoint),
    contentType: annotations[ANNOTATIONS.contentType] === "archive" ? "archive" : "kubevirt",
    secret: optional(ANNOTATIONS.importSecret),
    certConfigMap: optional(ANNOTATIONS.importCertConfigMap),
    skipsVerification: given(ANNOTATIONS.importInsecureSkipVerify) === "true",
    checksum: given(ANNOTATIONS.importChecksum),
    extraHeaders: headers(ANNOTATIONS.importExtraHeaders),
    secretExtraHeaders: headers(ANNOTATIONS.importSecretExtraHeaders),
    nodePull: source === "registry" && (imageStream || given(ANNOTATIONS.importRegistryMethod) === "node"),
    imageStream,
    architecture: given(ANNOTATIONS.importRegistryArchitecture),
    diskId: given(ANNOTATIONS.importDiskId),
    uuid: given(ANNOTATIONS.importUuid),
    backingFile: given(ANNOTATIONS.importBackingFile),
    thumbprint: given(ANNOTATIONS.importThumbprint),
    checkpoint: {
      current: given(ANNOTATIONS.checkpointCurrent),
      previous: given(ANNOTATIONS.checkpointPrevious),
      final: given(ANNOTATIONS.checkpointFinal),
    },
    preallocation: annotations[ANNOTATIONS.preallocationRequested] === "true",
    directIo: annotations[ANNOTATIONS.importRequiresDirectIo] === "true",
    scratch: annotations[ANNOTATIONS.importRequiresScratch] === "true",
  };
}

/** Nothing has to be written: a device without an image is what it was. */
export function isBlankDevice(claim: Claim): boolean {
  const { source, preallocation } = readRequest(claim);
  return claim.spec.volumeMode === "Block" && source === "none" && !preallocation;
}

/** One copy of several, of which each needs what the one before it left; this controller makes whole ones only. */
export function isStage({ checkpoint: { current, previous, final } }: WorkerRequest): boolean {
  return current !== "" && (final !== "true" || previous !== "");
}

/** Values of `prefix0`, `prefix1`, … in the order of their numbers; what has no number comes last. */
function numbered(annotations: StringMap, prefix: string): readonly string[] {
  const found = Object.entries(annotations).filter(([name, value]) => name.startsWith(prefix) && value !== "");
  const numberOf = (name: string): number => {
    const digits = name.slice(prefix.length);
    return /^\d{1,9}$/.test(digits) ? Number(digits) : Number.MAX_SAFE_INTEGER;
  };
  return found.sort(([a], [b]) => numberOf(a) - numberOf(b) || (a < b ? -1 : 1)).map(([, value]) => value);
}
