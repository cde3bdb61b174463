/**
 * Builds container images and OCI artifacts field by field, as blobs that a registry, a stub of one or an image layout holds.
 */
import { createHash } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import zlib from "node:zlib";
import { buildTar } from "./build-tar.ts";
import type { TarEntry } from "./build-tar.ts";

export const OCI_MANIFEST = "application/vnd.oci.image.manifest.v1+json";
export const OCI_INDEX = "application/vnd.oci.image.index.v1+json";
const OCI_CONFIG = "application/vnd.oci.image.config.v1+json";
const OCI_LAYER = "application/vnd.oci.image.layer.v1.tar+gzip";

/** Blobs and manifests by their digest, and the manifest or index to begin with. */
export interface BuiltImage {
  readonly blobs: ReadonlyMap<string, Buffer>;
  readonly manifests: ReadonlyMap<string, Buffer>;
  readonly digest: string;
}

export interface BuiltLayer {
  readonly bytes: Buffer;
  readonly diffId: string;
  readonly mediaType?: string;
  readonly annotations?: Readonly<Record<string, string>>;
}

export interface ImageFields {
  readonly architecture?: string;
  readonly environment?: readonly string[];
  readonly labels?: Readonly<Record<string, string>>;
  /** Over those of the manifest. */
  readonly manifest?: Readonly<Record<string, unknown>>;
  /** Over those of the config. */
  readonly config?: Readonly<Record<string, unknown>>;
}

export function digestOf(bytes: Uint8Array): string {
  return `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
}

/** The base first, as manifests have it. */
export function buildImage(layers: readonly BuiltLayer[], fields: ImageFields = {}): BuiltImage {
  const config = json({
    architecture: fields.architecture ?? "amd64",
    os: "linux",
    config: { Env: fields.environment ?? [], Labels: fields.labels ?? {} },
    rootfs: { type: "layers", diff_ids: layers.map(({ diffId }) => diffId) },
    ...fields.config,
  });
  return withManifest([...layers.map(({ bytes }) => bytes), config], {
    config: { mediaType: OCI_CONFIG, digest: digestOf(config), size: config.length },
    layers: layers.map(descriptorOf),
    ...fields.manifest,
  });
}

/** Blobs as ORAS pushes files. */
export function buildArtifact(
  blobs: readonly BuiltLayer[],
  manifest: Readonly<Record<string, unknown>> = {},
): BuiltImage {
  const empty = Buffer.from("{}");
  return withManifest([...blobs.map(({ bytes }) => bytes), empty], {
    artifactType: "application/vnd.unknown.artifact.v1",
    config: { mediaType: "application/vnd.oci.empty.v1+json", digest: digestOf(empty), size: 2 },
    layers: blobs.map(descriptorOf),
    ...manifest,
  });
}

/** An index of images, each with fields of its descriptor. */
export function buildIndex(
  images: readonly { readonly image: BuiltImage; readonly fields: Readonly<Record<string, unknown>> }[],
): BuiltImage {
  const index = json({
    schemaVersion: 2,
    mediaType: OCI_INDEX,
    manifests: images.map(({ image, fields }) => ({
      mediaType: OCI_MANIFEST,
      digest: image.digest,
      size: image.manifests.get(image.digest)?.length ?? 0,
      ...fields,
    })),
  });
  const digest = digestOf(index);
  return {
    blobs: new Map(images.flatMap(({ image }) => [...image.blobs])),
    manifests: new Map([...images.flatMap(({ image }) => [...image.manifests]), [digest, index]]),
    digest,
  };
}

export type Compression = "none" | "gzip" | "zstd";

export function buildLayer(
  entries: readonly TarEntry[],
  compression: Compression = "gzip",
  mediaType = OCI_LAYER,
): BuiltLayer {
  const tar = buildTar(entries);
  return { bytes: compress(tar, compression), diffId: digestOf(tar), mediaType };
}

export function file(name: string, content: Uint8Array | string): TarEntry {
  return { name, content: Buffer.from(content) };
}

export function symbolicLink(name: string, link: string): TarEntry {
  return { name, type: "2", link };
}

export function hardLink(name: string, link: string): TarEntry {
  return { name, type: "1", link };
}

/** An image layout as a tar, `oci-archive:`, of one image without a name. */
export function ociArchive({ blobs, manifests, digest }: BuiltImage): Uint8Array {
  const index = { schemaVersion: 2, manifests: [{ digest, size: manifests.get(digest)?.length }] };
  return buildTar([
    file("oci-layout", `{"imageLayoutVersion":"1.0.0"}`),
    ...[...blobs, ...manifests].map(([name, bytes]) => file(`blobs/${name.replace(":", "/")}`, bytes)),
    file("index.json", json(index)),
  ]);
}

/** An image layout in a folder; each image by its tag, or without one. */
export function writeLayout(
  folder: string,
  images: readonly {
    readonly tag?: string;
    readonly image: BuiltImage;
    readonly fields?: Readonly<Record<string, unknown>>;
  }[],
): void {
  const blobFolder = path.join(folder, "blobs", "sha256");
  fs.mkdirSync(blobFolder, { recursive: true });
  for (const { image } of images) {
    for (const [digest, bytes] of [...image.blobs, ...image.manifests]) {
      fs.writeFileSync(path.join(blobFolder, digest.slice("sha256:".length)), bytes);
    }
  }
  const manifests = images.map(({ tag, image, fields }) => {
    const bytes = image.manifests.get(image.digest) ?? Buffer.alloc(0);
    const { mediaType } = JSON.parse(bytes.toString()) as { readonly mediaType: string };
    const annotations = tag === undefined ? {} : { annotations: { "org.opencontainers.image.ref.name": tag } };
    return { mediaType, digest: image.digest, size: bytes.length, ...annotations, ...fields };
  });
  fs.writeFileSync(path.join(folder, "oci-layout"), json({ imageLayoutVersion: "1.0.0" }));
  fs.writeFileSync(path.join(folder, "index.json"), json({ schemaVersion: 2, manifests }));
}

function withManifest(blobs: readonly Buffer[], fields: Readonly<Record<string, unknown>>): BuiltImage {
  const manifest = json({ schemaVersion: 2, mediaType: OCI_MANIFEST, ...fields });
  const digest = digestOf(manifest);
  return {
    blobs: new Map(blobs.map((bytes) => [digestOf(bytes), bytes])),
    manifests: new Map([[digest, manifest]]),
    digest,
  };
}

function descriptorOf({ bytes, mediaType, annotations }: BuiltLayer): object {
  return {
    mediaType: mediaType ?? OCI_LAYER,
    digest: digestOf(bytes),
    size: bytes.length,
    ...(annotations === undefined ? {} : { annotations }),
  };
}

function compress(bytes: Uint8Array, compression: Compression): Buffer {
  if (compression === "none") return Buffer.from(bytes);
  return compression === "gzip" ? zlib.gzipSync(bytes) : zlib.zstdCompressSync(bytes);
}

function json(value: unknown): Buffer {
  return Buffer.from(JSON.stringify(value));
}
