/**
 * The configuration of a container image: for which architecture it is, its environment and its labels.
 * @see OCI image specification, "Image configuration"
 */
import { FormatError } from "../../formats/errors.ts";
import { arrayAt, objectAt, parseObject, textAt, textsOf } from "./json-object.ts";

export interface ImageConfig {
  /** In Go's words; empty if it does not say. */
  readonly architecture: string;
  /** `NAME=value` lines. */
  readonly environment: readonly string[];
  readonly labels: Readonly<Record<string, string>>;
}

/** Of an artifact: it has none. */
export const NO_CONFIG: ImageConfig = { architecture: "", environment: [], labels: {} };

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
  return {
    architecture: textAt(document, "architecture") ?? "",
    environment: (arrayAt(config, "Env") ?? []).filter((line) => typeof line === "string"),
    labels: textsOf(objectAt(config, "Labels")),
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
