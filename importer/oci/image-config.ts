/**
 * The configuration of a container image: for which architecture it is, its environment and labels, and the digests of its
 * layers without their compression.
 * @see OCI image specification, "Image configuration"
 */
import { FormatError } from "../../formats/errors.ts";
import { parseContentDigest } from "./content-digest.ts";
import type { ContentDigest } from "./content-digest.ts";
import { arrayAt, objectAt, parseObject, textAt, textsOf } from "./json-object.ts";

export interface ImageConfig {
  /** In Go's words; empty if it does not say. */
  readonly architecture: string;
  /** `NAME=value` lines. */
  readonly environment: readonly string[];
  readonly labels: Readonly<Record<string, string>>;
  /** One for each layer, the base's first; of one that says nothing usable undefined. */
  readonly diffIds: readonly (ContentDigest | undefined)[];
}

/** Of an artifact: it has none. */
export const NO_CONFIG: ImageConfig = { architecture: "", environment: [], labels: {}, diffIds: [] };

/** Bytes; histories of hundreds of layers take some 100 KiB. */
export const MAX_CONFIG_LENGTH = 4 * 1024 * 1024;

/** Labels by which an image says that it is a bootable root file system. */
const BOOTC_LABELS = ["containers.bootc", "ostree.bootable"];

/**
 * @param bytes at most MAX_CONFIG_LENGTH
 * @throws FormatError FORMAT_INVALID
 */
export function parseImageConfig(bytes: Uint8Array): ImageConfig {
  const document = parseObject(bytes, "the image's config");
  const config = objectAt(document, "config") ?? {};
  const rootFs = objectAt(document, "rootfs") ?? {};
  return {
    architecture: textAt(document, "architecture") ?? "",
    environment: (arrayAt(config, "Env") ?? []).filter((line) => typeof line === "string"),
    labels: textsOf(objectAt(config, "Labels")),
    diffIds: (arrayAt(rootFs, "diff_ids") ?? []).map((text) => {
      return typeof text === "string" ? parseContentDigest(text) : undefined;
    }),
  };
}

/** @throws FormatError FORMAT_UNSUPPORTED for an image that is a root file system to boot from */
export function refuseBootc({ labels }: ImageConfig): void {
  const label = BOOTC_LABELS.find((name) => labels[name] === "1");
  if (label === undefined) return;
  const message = `bootc image detected: it holds a root file system (label ${label}=1), not a disk`;
  throw new FormatError("FORMAT_UNSUPPORTED", message, {
    remedy: "Make a disk of it first, with bootc-image-builder for instance.",
  });
}
