/**
 * Manifests: what an image consists of, and the index of an image for several platforms.
 *
 * OCI image manifest and index, Docker's schema 2 manifest and list. Which one it is is decided by content, never by the media
 * type, which servers get wrong; a document that could be both is refused, for two readers would see two images in it.
 * Schema 1, gone since 2017, is refused by name.
 * @see OCI image specification, "Image manifest", "Image index"; Docker "Image manifest version 2, schema 2"
 */
import { quoted } from "../../formats/archives/shown-names.ts";
import { FormatError } from "../../formats/errors.ts";
import { parseContentDigest } from "./content-digest.ts";
import type { ContentDigest } from "./content-digest.ts";
import { arrayAt, asObject, objectAt, parseObject, textAt, textsOf } from "./json-object.ts";
import type { JsonObject } from "./json-object.ts";

export interface Platform {
  readonly architecture: string;
  readonly os: string;
  readonly variant: string;
}

/** What a manifest says of one piece of content. */
export interface Descriptor {
  /** A stranger's word; it decides nothing alone. */
  readonly mediaType: string;
  readonly digest: ContentDigest;
  /** Bytes as they are stored. */
  readonly size: number;
  readonly annotations: Readonly<Record<string, string>>;
  /** In an index. */
  readonly platform: Platform | undefined;
}

export interface ImageIndex {
  readonly kind: "index";
  readonly manifests: readonly Descriptor[];
}

export interface ImageManifest {
  readonly kind: "image";
  readonly config: Descriptor;
  /** The base first. */
  readonly layers: readonly Descriptor[];
  readonly artifactType: string | undefined;
}

/** Bytes; what registries take. */
export const MAX_MANIFEST_LENGTH = 4 * 1024 * 1024;

/** The overlay file system takes 500. */
const MAX_LAYERS = 1024;

/** Platforms and attestations of an image; some registries' indexes list artifacts. */
const MAX_MANIFESTS = 4096;

/** What a manifest is asked for as. */
export const MANIFEST_TYPES = [
  "application/vnd.oci.image.index.v1+json",
  "application/vnd.oci.image.manifest.v1+json",
  "application/vnd.docker.distribution.manifest.list.v2+json",
  "application/vnd.docker.distribution.manifest.v2+json",
];

/**
 * @param bytes at most MAX_MANIFEST_LENGTH
 * @throws FormatError FORMAT_INVALID, FORMAT_UNSUPPORTED (schema 1), FORMAT_OUT_OF_BOUNDS
 */
export function parseManifest(bytes: Uint8Array): ImageIndex | ImageManifest {
  const document = parseObject(bytes, "the image's manifest");
  if (document["schemaVersion"] === 1 || "fsLayers" in document) throw schemaOne();
  const manifests = arrayAt(document, "manifests");
  const layers = arrayAt(document, "layers");
  if (manifests !== undefined && (layers !== undefined || "config" in document)) {
    throw invalid("is both an index and an image");
  }
  if (manifests !== undefined) {
    if (manifests.length > MAX_MANIFESTS) throw tooMany("manifests", manifests.length, MAX_MANIFESTS);
    return { kind: "index", manifests: manifests.map((value) => readDescriptor(value, "a manifest")) };
  }
  if (layers === undefined) throw invalid("has neither layers nor manifests");
  if (layers.length > MAX_LAYERS) throw tooMany("layers", layers.length, MAX_LAYERS);
  return {
    kind: "image",
    config: readDescriptor(document["config"], "the config"),
    layers: layers.map((value) => readDescriptor(value, "a layer")),
    artifactType: textAt(document, "artifactType"),
  };
}

function readDescriptor(value: unknown, what: string): Descriptor {
  const object = asObject(value);
  if (object === undefined) throw invalid(`has no descriptor of ${what}`);
  const text = textAt(object, "digest") ?? "";
  const digest = parseContentDigest(text);
  if (digest === undefined) throw invalid(`has ${what} with the digest ${quoted(text)}, which is none`);
  const { size } = object;
  if (typeof size !== "number" || !Number.isSafeInteger(size) || size < 0) {
    throw invalid(`has ${what} without a size`);
  }
  return {
    mediaType: textAt(object, "mediaType") ?? "",
    digest,
    size,
    annotations: textsOf(objectAt(object, "annotations")),
    platform: readPlatform(objectAt(object, "platform")),
  };
}

function readPlatform(object: JsonObject | undefined): Platform | undefined {
  if (object === undefined) return undefined;
  return {
    architecture: textAt(object, "architecture") ?? "",
    os: textAt(object, "os") ?? "",
    variant: textAt(object, "variant") ?? "",
  };
}

function schemaOne(): FormatError {
  return new FormatError(
    "FORMAT_UNSUPPORTED",
    "the image has a manifest of Docker's schema 1, which is not supported",
    {
      remedy: "Push it again with a present tool, for instance: skopeo copy --format oci.",
    },
  );
}

function tooMany(what: string, count: number, limit: number): FormatError {
  return new FormatError("FORMAT_OUT_OF_BOUNDS", `the image's manifest lists ${count} ${what}, more than ${limit}`);
}

function invalid(why: string): FormatError {
  return new FormatError("FORMAT_INVALID", `the image's manifest ${why}`);
}
