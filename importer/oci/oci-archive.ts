/**
 * An OCI image layout in a tar file, as `skopeo copy … oci-archive:` and `docker buildx --output type=oci` make them.
 *
 * Read in place: the tar's headers are walked once, then each blob is a part of the file.
 * @see OCI image specification, "Image layout"
 */
import { listed, quoted } from "../../formats/archives/shown-names.ts";
import { startsAsTar } from "../../formats/archives/tar/header.ts";
import { tar } from "../../formats/archives/tar/tar.ts";
import type { Member } from "../../formats/archives/archive.ts";
import { checkMemberEnd } from "../../formats/archives/member-end.ts";
import { detectCodec } from "../../formats/codecs/registry.ts";
import { HEAD_LENGTH } from "../../formats/disk-format.ts";
import { FormatError } from "../../formats/errors.ts";
import { checkAnswer, checkNeed } from "../drive-parser.ts";
import { SourceError } from "../errors.ts";
import { FileStream } from "../file-stream.ts";
import { openRandomAccess } from "../random-access.ts";
import type { LocalAccess } from "../random-access.ts";
import { openFile } from "../sources/file.ts";
import type { Source } from "../sources/source.ts";
import { checkContent } from "./content-digest.ts";
import type { ContentDigest } from "./content-digest.ts";
import type { ImageStore, StoredBlob } from "./image-store.ts";
import { MAX_MANIFEST_LENGTH, parseManifest } from "./manifest.ts";
import type { Descriptor, ImageIndex, ImageManifest } from "./manifest.ts";
import type { ArchiveReference } from "./reference.ts";

const INDEX = "index.json";
const BLOB = /^blobs\/sha(?:256|512)\/[0-9a-f]{64,128}$/;

/** Blobs in one archive: names and places of so many take some 10 MiB. */
const MAX_BLOBS = 65_536;

/** The annotation that holds a tag, and what containerd writes. */
const REF_NAMES = ["org.opencontainers.image.ref.name", "io.containerd.image.name"];

export class OciArchive implements ImageStore {
  readonly #reference: ArchiveReference;
  readonly #source: Source;
  readonly #file: LocalAccess;
  readonly #members: ReadonlyMap<string, Member>;

  private constructor(
    reference: ArchiveReference,
    source: Source,
    file: LocalAccess,
    members: ReadonlyMap<string, Member>,
  ) {
    this.#reference = reference;
    this.#source = source;
    this.#file = file;
    this.#members = members;
  }

  /** @throws SourceError; FormatError FORMAT_UNRECOGNISED if it is no tar with an image layout */
  static open(reference: ArchiveReference): OciArchive {
    const source = openFile(reference.path);
    try {
      const file = localFile(source);
      return new OciArchive(reference, source, file, readMembers(file));
    } catch (error) {
      source.close();
      throw error;
    }
  }

  async root(): Promise<ImageIndex | ImageManifest> {
    const index = parseManifest(this.#read(INDEX, MAX_MANIFEST_LENGTH));
    if (index.kind !== "index") throw new FormatError("FORMAT_INVALID", `${INDEX} of the archive is no image index`);
    const named = index.manifests.filter((manifest) => this.#isNamed(manifest));
    const [only, ...others] = named;
    if (only === undefined) throw this.#notFound(index);
    if (others.length === 0) return await this.manifest(only.digest);
    if (named.every(({ platform }) => platform !== undefined)) return { kind: "index", manifests: named };
    throw severalImages(named);
  }

  async manifest(digest: ContentDigest): Promise<ImageIndex | ImageManifest> {
    return await Promise.resolve(parseManifest(this.#readBlob(digest, MAX_MANIFEST_LENGTH)));
  }

  async document({ digest }: Descriptor, maxLength: number): Promise<Uint8Array> {
    return await Promise.resolve(this.#readBlob(digest, maxLength));
  }

  async blob({ digest }: Descriptor): Promise<StoredBlob> {
    const stream = new FileStream(this.#open(blobName(digest)));
    return await Promise.resolve({ stream, resumes: () => 0 });
  }

  close(): void {
    this.#source.close();
  }

  #isNamed({ annotations }: Descriptor): boolean {
    const { tag } = this.#reference;
    if (tag === undefined) return true;
    return REF_NAMES.some((name) => annotations[name] === tag || annotations[name]?.endsWith(`:${tag}`) === true);
  }

  #notFound({ manifests }: ImageIndex): FormatError {
    const { tag } = this.#reference;
    if (tag === undefined) return new FormatError("FORMAT_INVALID", "the archive holds no image");
    const message = `the archive holds no image ${quoted(tag)}`;
    const names = manifests.flatMap(refNames);
    return new FormatError("FORMAT_UNRECOGNISED", message, {
      remedy: names.length === 0 ? "Its images have no names." : `It has ${listed(names)}.`,
    });
  }

  #readBlob(digest: ContentDigest, maxLength: number): Uint8Array {
    const bytes = this.#read(blobName(digest), maxLength);
    checkContent(bytes, digest, `blob ${digest.text}`);
    return bytes;
  }

  #read(name: string, maxLength: number): Uint8Array {
    const file = this.#open(name);
    if (file.size > maxLength) {
      throw new FormatError(
        "FORMAT_OUT_OF_BOUNDS",
        `${name} of the archive has ${file.size} bytes, more than ${maxLength}`,
      );
    }
    const bytes = new Uint8Array(file.size);
    file.readAt(bytes, 0);
    return bytes;
  }

  #open(name: string): LocalAccess {
    const member = this.#members.get(name);
    if (member === undefined) {
      throw new SourceError("SOURCE_NOT_FOUND", `${name} is not in the archive ${this.#reference.path}`);
    }
    const segments = member.extents.flatMap(({ offset, length, hostOffset }) => [offset, length, hostOffset]);
    return openRandomAccess({ ...this.#file.spec, size: member.size, segments: Float64Array.from(segments) });
  }
}

function blobName({ algorithm, hex }: ContentDigest): string {
  return `blobs/${algorithm}/${hex}`;
}

function refNames({ annotations }: Descriptor): string[] {
  return REF_NAMES.flatMap((name) => annotations[name] ?? []);
}

function severalImages(manifests: readonly Descriptor[]): FormatError {
  const names = manifests.flatMap(refNames);
  return new FormatError("FORMAT_UNSUPPORTED", `the archive holds ${manifests.length} images: ${listed(names)}`, {
    remedy: "Name one behind the path, as oci-archive:PATH:TAG.",
  });
}

function localFile({ path, file }: Source): LocalAccess {
  const { fd } = file?.spec ?? {};
  if (path !== undefined && file !== undefined && fd !== undefined) {
    return openRandomAccess({ fd, name: file.spec.name, size: file.size });
  }
  throw new SourceError(
    "SOURCE_UNAVAILABLE",
    "an OCI archive has to be a file: it is not read from its start to its end",
  );
}

/** Where index and blobs are. Everything else in the archive is passed over. */
function readMembers(file: LocalAccess): ReadonlyMap<string, Member> {
  const head = new Uint8Array(Math.min(HEAD_LENGTH, file.size));
  file.readAt(head, 0);
  if (!startsAsTar(head)) throw notAnArchive(head);
  const members = new Map<string, Member>();
  const walk = tar.members();
  let buffer = new Uint8Array(0);
  let isDockerArchive = false;
  for (let step = walk.next(); step.done !== true;) {
    const { value } = step;
    if ("extents" in value) {
      checkMemberEnd(value, file.size);
      isDockerArchive ||= value.name === "manifest.json";
      if (value.name === INDEX || BLOB.test(value.name)) members.set(value.name, value);
      if (members.size > MAX_BLOBS) {
        throw new FormatError("FORMAT_OUT_OF_BOUNDS", `the archive holds more than ${MAX_BLOBS} blobs`);
      }
      step = walk.next();
      continue;
    }
    checkNeed(value);
    if (buffer.length < value.length) buffer = new Uint8Array(value.length);
    const into = buffer.subarray(0, value.length);
    step = walk.next(into.subarray(0, checkAnswer(value, file.readAt(into, value.offset))));
  }
  if (members.has(INDEX)) return members;
  throw new FormatError("FORMAT_UNRECOGNISED", `the archive holds no OCI image: there is no ${INDEX} in it`, {
    remedy: isDockerArchive
      ? "It is an archive of docker save: skopeo copy docker-archive:… oci-archive:… makes one of the other kind."
      : "skopeo copy … oci-archive:PATH makes one.",
  });
}

function notAnArchive(head: Uint8Array): FormatError {
  const codec = detectCodec(head)?.name;
  const is = codec === undefined ? "is no tar file" : `is compressed (${codec})`;
  return new FormatError("FORMAT_UNRECOGNISED", `the OCI archive ${is}`, {
    remedy: codec === undefined ? "skopeo copy … oci-archive:PATH makes one." : "Decompress it first.",
  });
}
