/**
 * A disk in a container registry, or in an archive of one: the file in a container image's folder `/disk`, or the blob of an
 * OCI artifact.
 *
 * Looked for when the source is opened, so what fails then is the image; from then on the disk's bytes pass as a stream, as
 * they come, without a copy. The registry vouches for them: a layer's or blob's digest is compared at the end of the stream.
 */
import type { DecodeOptions } from "../../formats/codecs/codec.ts";
import { DEFAULT_MEMORY_LIMIT } from "../../formats/codecs/codec.ts";
import type { ByteStream } from "../../formats/byte-stream.ts";
import { FormatError } from "../../formats/errors.ts";
import { quoted } from "../../formats/archives/shown-names.ts";
import { CountedStream } from "../counted-stream.ts";
import { SourceError } from "../errors.ts";
import type { HttpOptions } from "../http/http-options.ts";
import { chooseBlob, isArtifact } from "../oci/artifact.ts";
import { checkArchitecture, choosePlatform, goArchitecture } from "../oci/choose-platform.ts";
import { findLogin, isDockerConfig } from "../oci/docker-config.ts";
import { findDisk } from "../oci/find-disk.ts";
import { MAX_CONFIG_LENGTH, NO_CONFIG, parseImageConfig, refuseBootc } from "../oci/image-config.ts";
import type { ImageConfig } from "../oci/image-config.ts";
import type { ImageStore, StoredBlob } from "../oci/image-store.ts";
import { Layer } from "../oci/layer.ts";
import type { Descriptor, ImageManifest } from "../oci/manifest.ts";
import { OciArchive } from "../oci/oci-archive.ts";
import { parseImageReference } from "../oci/reference.ts";
import type { ImageReference, RegistryReference } from "../oci/reference.ts";
import { RegistryStore } from "../oci/registry-store.ts";
import { storedLogin } from "../oci/stored-login.ts";
import type { RegistryLogin } from "../oci/token-auth.ts";
import { VerifiedStream } from "../oci/verified-stream.ts";
import type { Source } from "./source.ts";

export interface ContainerImageOptions {
  /** How the network is reached; user and password in it are for the registry. */
  readonly http: HttpOptions;
  /** Undefined: those of `http`, else what the files that `env` leads to say. */
  readonly login?: RegistryLogin | undefined;
  /** A secret that may be the text of a pull secret (`.dockerconfigjson`): then the credentials in it are taken. */
  readonly pullSecret?: string | undefined;
  /** In Go's words (`amd64`); undefined: this machine's, and any where there is no choice. */
  readonly architecture?: string | undefined;
  /** Certificates are not verified, and plain http will do; by default what `http` says. */
  readonly insecure?: boolean;
  /** Of several files the one to take: name or path in an image, digest or annotation of a blob. */
  readonly member?: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Ranges have failed before. */
  readonly asOneStream?: boolean;
  /** How layers are decompressed. */
  readonly decoding?: DecodeOptions;
}

export interface ContainerImage extends Source {
  /** `NAME=value` lines of the image's configuration, for labels. */
  readonly environment: readonly string[];
}

/** The index of an index of an index; nobody makes deeper ones. */
const MAX_INDEXES = 4;

/**
 * @throws UsageError for a name that cannot be read; FormatError for an image that holds no disk, or several, or none for the
 *         platform; SourceError as the registry answers
 */
export async function openContainerImage(text: string, options: ContainerImageOptions): Promise<ContainerImage> {
  const reference = parseImageReference(text);
  const store = await openStore(reference, options);
  try {
    const manifest = await chooseManifest(store, options);
    const open = isArtifact(manifest) ? openArtifact : openImage;
    const source = await open(store, manifest, reference, options);
    return { ...source, reopen: () => openContainerImage(text, { ...options, asOneStream: true }) };
  } catch (error) {
    store.close();
    throw error;
  }
}

async function openStore(reference: ImageReference, options: ContainerImageOptions): Promise<ImageStore> {
  if (reference.kind === "archive") return OciArchive.open(reference);
  const { http, env, insecure = http.trust.insecure, asOneStream } = options;
  const login = givenLogin(reference, options) ?? (await storedLogin(reference, env));
  return await RegistryStore.open(reference, { http, login, insecure, asOneStream });
}

function givenLogin(reference: RegistryReference, options: ContainerImageOptions): RegistryLogin | undefined {
  const { http, login, pullSecret } = options;
  if (login !== undefined) return login;
  const auth = http.auth?.kind === "basic" ? http.auth : undefined;
  const config = [pullSecret, auth?.password].find((text) => text !== undefined && isDockerConfig(text));
  if (config === undefined) return auth === undefined ? undefined : { ...auth, kind: "password" };
  const finding = findLogin(config, reference, "the pull secret");
  if (finding === undefined || "login" in finding) return finding?.login;
  throw new SourceError(
    "SOURCE_DENIED",
    `the pull secret leaves the password to the program ${quoted(finding.helper)}`,
    {
      remedy: "Make a secret that holds the password itself, with kubectl create secret docker-registry for instance.",
    },
  );
}

async function chooseManifest(store: ImageStore, options: ContainerImageOptions): Promise<ImageManifest> {
  const architecture = options.architecture ?? goArchitecture(process.arch);
  let manifest = await store.root();
  for (let indexes = 0; manifest.kind === "index"; indexes++) {
    if (indexes === MAX_INDEXES) {
      throw new FormatError("FORMAT_OUT_OF_BOUNDS", `the image has more than ${MAX_INDEXES} indexes of indexes`);
    }
    manifest = await store.manifest(choosePlatform(manifest, architecture, options.member).digest);
  }
  return manifest;
}

async function openArtifact(
  store: ImageStore,
  manifest: ImageManifest,
  reference: ImageReference,
  options: ContainerImageOptions,
): Promise<ContainerImage> {
  const descriptor = chooseBlob(manifest, options.member);
  const { digest, size } = descriptor;
  const blob = await store.blob(descriptor);
  const stream = new VerifiedStream(blob.stream, { digest, size, what: `blob ${digest.text}` });
  return sourceOf(store, reference, {
    size,
    stream,
    config: NO_CONFIG,
    resumes: () => blob.resumes(),
  });
}

async function openImage(
  store: ImageStore,
  manifest: ImageManifest,
  reference: ImageReference,
  options: ContainerImageOptions,
): Promise<ContainerImage> {
  const config = parseImageConfig(await store.document(manifest.config, MAX_CONFIG_LENGTH));
  checkArchitecture(options.architecture, config.architecture);
  refuseBootc(config);
  const reading = new LayerReading(store, manifest, options);
  const disk = await findDisk(reading.openers(), options.member);
  const total = reading.bytes + disk.rest;
  return sourceOf(store, reference, {
    size: disk.size,
    stream: disk.stream,
    config,
    resumes: () => reading.resumes,
    transferred: () => ({ bytes: reading.bytes, total, waitedMs: reading.waitedMs }),
  });
}

/** Opens layers and counts what comes of all of them. */
class LayerReading {
  readonly #store: ImageStore;
  readonly #manifest: ImageManifest;
  readonly #decoding: DecodeOptions;
  readonly #opened: { readonly blob: StoredBlob; readonly counted: CountedStream }[] = [];

  constructor(store: ImageStore, manifest: ImageManifest, options: ContainerImageOptions) {
    this.#store = store;
    this.#manifest = manifest;
    const decoders = options.env["DECANT_DECODERS"] === "portable" ? "portable" : "auto";
    this.#decoding = options.decoding ?? { decoders, memoryLimit: DEFAULT_MEMORY_LIMIT };
  }

  /** Bytes of blobs so far, as they are stored. */
  get bytes(): number {
    return this.#opened.reduce((sum, { counted }) => sum + counted.bytes, 0);
  }

  get waitedMs(): number {
    return this.#opened.reduce((sum, { counted }) => sum + counted.waitedMs, 0);
  }

  get resumes(): number {
    return this.#opened.reduce((sum, { blob }) => sum + blob.resumes(), 0);
  }

  /** The topmost layer first. */
  openers(): (() => Promise<Layer>)[] {
    const { layers } = this.#manifest;
    return layers.map((descriptor) => () => this.#open(descriptor)).toReversed();
  }

  async #open(descriptor: Descriptor): Promise<Layer> {
    const blob = await this.#store.blob(descriptor);
    const counted = new CountedStream(blob.stream);
    this.#opened.push({ blob, counted });
    return await Layer.open(counted, { descriptor, decoding: this.#decoding });
  }
}

interface OpenedDisk {
  readonly size: number;
  readonly stream: ByteStream;
  readonly config: ImageConfig;
  readonly resumes: () => number;
  readonly transferred?: NonNullable<Source["transferred"]>;
}

function sourceOf(store: ImageStore, reference: ImageReference, disk: OpenedDisk): ContainerImage {
  const { size, stream, config, resumes, transferred } = disk;
  return {
    name: reference.name,
    path: reference.kind === "archive" ? reference.path : undefined,
    size,
    file: undefined,
    environment: config.environment,
    resumes,
    ...(transferred === undefined ? {} : { transferred }),
    stream: () => stream,
    close: () => {
      void stream.close();
      store.close();
    },
  };
}
