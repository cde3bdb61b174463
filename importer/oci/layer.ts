/**
 * A layer of a container image as it passes: its compression taken off, its entries one after the other, its digest
 * compared at the end.
 *
 * The digest is the blob's, which the manifest vouches for. The config's `diff_ids`, of the tar without its compression, are
 * not compared: they would be of the same bytes, and took 30 % of the time of a layer with a sparse disk.
 *
 * How it is compressed and whether it is a tar is decided by content; media types are wrong often enough. What goes wrong
 * names the layer, and how many of its bytes had come.
 */
import type { Member } from "../../formats/archives/archive.ts";
import { isZero, startsAsTar } from "../../formats/archives/tar/header.ts";
import { checkMemberEnd } from "../../formats/archives/member-end.ts";
import { tarEntries } from "../../formats/archives/tar/tar.ts";
import type { TarEntry } from "../../formats/archives/tar/tar.ts";
import type { ByteStream } from "../../formats/byte-stream.ts";
import type { DecodeOptions } from "../../formats/codecs/codec.ts";
import { detectCodec } from "../../formats/codecs/registry.ts";
import { HEAD_LENGTH } from "../../formats/disk-format.ts";
import { FormatError } from "../../formats/errors.ts";
import { checkAnswer, checkNeed } from "../drive-parser.ts";
import { SourceError } from "../errors.ts";
import { MemberContent } from "../member-content.ts";
import { PeekedStream } from "../peeked-stream.ts";
import { StreamWindow } from "../stream-window.ts";
import type { Descriptor } from "./manifest.ts";
import { VerifiedStream } from "./verified-stream.ts";

export interface LayerOptions {
  readonly descriptor: Descriptor;
  readonly decoding: DecodeOptions;
}

export class Layer {
  readonly #descriptor: Descriptor;
  readonly #blob: VerifiedStream;
  readonly #window: StreamWindow;
  readonly #entries = tarEntries();
  #last: Member | undefined;

  private constructor(descriptor: Descriptor, blob: VerifiedStream, tar: ByteStream) {
    this.#descriptor = descriptor;
    this.#blob = blob;
    this.#window = new StreamWindow(tar);
  }

  /**
   * @param bytes of the blob, from its first; closed with the layer, and if it cannot be opened
   * @throws FormatError FORMAT_UNRECOGNISED if it is no tar; as codecs and the stream do
   */
  static async open(bytes: ByteStream, options: LayerOptions): Promise<Layer> {
    const { descriptor, decoding } = options;
    const { digest, size } = descriptor;
    const blob = new VerifiedStream(bytes, { digest, size, what: `layer ${digest.text}` });
    try {
      const peeked = await PeekedStream.peek(blob, HEAD_LENGTH);
      const codec = detectCodec(peeked.head);
      const tar = codec?.decode(peeked.stream, decoding) ?? peeked.stream;
      const { head, stream } = await PeekedStream.peek(tar, HEAD_LENGTH);
      if (!startsAsLayer(head)) throw new FormatError("FORMAT_UNRECOGNISED", "it is no tar archive");
      return new Layer(descriptor, blob, stream);
    } catch (error) {
      await bytes.close();
      throw ofLayer(error, descriptor, blob.position);
    }
  }

  /** Bytes of the blob that have not come yet. */
  get rest(): number {
    return Math.max(0, this.#descriptor.size - this.#blob.position);
  }

  /** The next entry; undefined at the layer's end. What of the one before was not read is skipped. */
  next(): Promise<TarEntry | undefined> {
    return this.#guarded(() => this.#next());
  }

  /** The content of the entry that came last. */
  content(entry: TarEntry): ByteStream {
    const content = new MemberContent(entry, this.#window);
    return { read: (into) => this.#guarded(() => content.read(into)), close: () => this.close() };
  }

  /**
   * Reads what is left and compares the digest.
   * @throws SourceError SOURCE_CHECKSUM
   */
  async finish(): Promise<void> {
    await this.#guarded(async () => {
      await this.#window.drain();
      if (this.#last !== undefined) checkMemberEnd(this.#last, this.#window.position);
    });
  }

  close(): void | Promise<void> {
    return this.#window.close();
  }

  async #next(): Promise<TarEntry | undefined> {
    let step = this.#entries.next();
    while (step.done !== true) {
      const { value } = step;
      if ("kind" in value) {
        this.#last = value;
        return value;
      }
      checkNeed(value);
      const bytes = await this.#window.peek(value.offset, value.length);
      checkAnswer(value, bytes.length);
      step = this.#entries.next(bytes);
    }
    return undefined;
  }

  async #guarded<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw ofLayer(error, this.#descriptor, this.#blob.position);
    }
  }
}

/** An empty layer begins with the zeros that end a tar, or is nothing at all. */
function startsAsLayer(head: Uint8Array): boolean {
  return startsAsTar(head) || isZero(head.subarray(0, 1024));
}

/** @param offset how many bytes of the blob had come */
function ofLayer(error: unknown, { digest }: Descriptor, offset: number): unknown {
  const isKnown = error instanceof FormatError || error instanceof SourceError;
  if (!isKnown || error.context["layer"] !== undefined) return error;
  const message = error.message.includes(digest.text)
    ? error.message
    : `layer ${digest.text}, at byte ${offset}: ${error.message}`;
  const details = {
    ...(error.remedy === undefined ? {} : { remedy: error.remedy }),
    context: { ...error.context, layer: digest.text, layerOffset: offset },
    cause: error.cause,
  };
  return error instanceof FormatError
    ? new FormatError(error.code, message, details)
    : new SourceError(error.code, message, details);
}
