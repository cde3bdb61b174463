/**
 * OCI artifacts: manifests whose blobs are files and not layers of a file system, so that a blob is the disk itself.
 *
 * A manifest is an artifact's if it says so, if its config is not that of a container image, or if none of its layers is
 * meant as a tar. Which blob: the one that is named; else the only one.
 * @see OCI image specification, "Guidelines for artifact usage"
 */
import { listed, quoted } from "../../formats/archives/shown-names.ts";
import { FormatError } from "../../formats/errors.ts";
import type { Descriptor, ImageManifest } from "./manifest.ts";
import { isSelected, nameOf } from "./select-descriptor.ts";

const IMAGE_CONFIGS = ["application/vnd.oci.image.config.v1+json", "application/vnd.docker.container.image.v1+json"];

/** Stands where a manifest must have something and has nothing. */
const EMPTY = "application/vnd.oci.empty.v1+json";

/** Media types of layers: `…image.layer.v1.tar+gzip`, `…image.rootfs.diff.tar.gzip`. */
const LAYER = /\btar\b/;

/** The most names that an error's context holds. */
const MAX_NAMES = 20;

export function isArtifact({ artifactType, config, layers }: ImageManifest): boolean {
  if (artifactType !== undefined && artifactType !== "") return true;
  if (config.mediaType !== "" && !IMAGE_CONFIGS.includes(config.mediaType)) return true;
  return layers.length > 0 && layers.every(({ mediaType }) => mediaType !== "" && !LAYER.test(mediaType));
}

/**
 * @param selector digest, title or value of an annotation
 * @throws FormatError FORMAT_INVALID (no blob), FORMAT_UNRECOGNISED (none is called so), FORMAT_UNSUPPORTED with the names
 */
export function chooseBlob(manifest: ImageManifest, selector: string | undefined): Descriptor {
  const blobs = manifest.layers.filter(({ mediaType }) => mediaType !== EMPTY);
  const names = blobs.map(nameOf);
  const context = { members: names.slice(0, MAX_NAMES) };
  const fitting = selector === undefined ? blobs : blobs.filter((blob) => isSelected(blob, selector));
  const [first, ...others] = fitting;
  if (first !== undefined && others.length === 0) return first;
  if (blobs.length === 0) throw new FormatError("FORMAT_INVALID", "the artifact holds no file");
  // One that was named for the archive that it is.
  const [only] = blobs;
  if (only !== undefined && blobs.length === 1) return only;
  if (first === undefined) {
    const message = `the artifact holds no file ${quoted(selector ?? "")}, but ${listed(names)}`;
    throw new FormatError("FORMAT_UNRECOGNISED", message, { context });
  }
  throw new FormatError("FORMAT_UNSUPPORTED", `the artifact holds ${fitting.length} files: ${listed(names)}`, {
    remedy: "Name the one to take with --member NAME; a digest or the value of an annotation is a name too.",
    context,
  });
}
