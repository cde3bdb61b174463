/**
 * Where the parts of an image are kept: a registry, or an archive of one.
 */
import type { ByteStream } from "../../formats/byte-stream.ts";
import type { ContentDigest } from "./content-digest.ts";
import type { Descriptor, ImageIndex, ImageManifest } from "./manifest.ts";

export interface ImageStore {
  /** What was named: an image, or the index of it. */
  root(): Promise<ImageIndex | ImageManifest>;
  /** @throws SourceError SOURCE_CHECKSUM if the digest is another one */
  manifest(digest: ContentDigest): Promise<ImageIndex | ImageManifest>;
  /**
   * A small blob as a whole, compared with its digest.
   * @param maxLength bytes; a longer one is refused
   */
  document(descriptor: Descriptor, maxLength: number): Promise<Uint8Array>;
  /** A blob as it is stored; nobody has compared it with its digest. */
  blob(descriptor: Descriptor): Promise<StoredBlob>;
  close(): void;
}

export interface StoredBlob {
  readonly stream: ByteStream;
  /** How often it was continued after a cut. */
  resumes(): number;
}
