/**
 * Takes the wrappers off a source, in whatever order they nest, until a disk is left. Decided by content, never by name.
 *
 * A source with random access keeps it through archives (a member is a part of the file) and loses it at the first codec:
 * from there on the bytes pass once.
 */
import type { ByteStream } from "../formats/byte-stream.ts";
import { detectCodec } from "../formats/codecs/registry.ts";
import type { DecodeOptions } from "../formats/codecs/codec.ts";
import { HEAD_LENGTH, TAIL_LENGTH } from "../formats/disk-format.ts";
import type { DiskFormat } from "../formats/disk-format.ts";
import { FormatError } from "../formats/errors.ts";
import { raw } from "../formats/raw.ts";
import { detectFormat, diskFormats } from "../formats/registry.ts";
import { PeekedStream } from "./peeked-stream.ts";
import type { RandomAccess } from "./random-access.ts";

/** Wrappers around a disk nest at most this deep. */
export const MAX_WRAPPERS = 8;

export interface UnwrapOptions extends DecodeOptions {
  /** The disk format that was named; undefined: what the content says. Wrappers are taken off in any case. */
  readonly format: DiskFormat["name"] | undefined;
  /** The archive member that was named. */
  readonly member: string | undefined;
}

/** A disk image without its wrappers: either a file, or a stream that passes once. */
export interface Unwrapped {
  /** From the outside in: `gzip`, `tar`. */
  readonly wrappers: readonly string[];
  readonly format: DiskFormat;
  /** The first bytes of the image itself. */
  readonly head: Uint8Array;
  readonly file: RandomAccess | undefined;
  readonly stream: ByteStream | undefined;
}

/** @throws FormatError, SourceError */
export async function unwrapFile(file: RandomAccess, stream: () => ByteStream, options: UnwrapOptions): Promise<Unwrapped> {
  const head = new Uint8Array(Math.min(HEAD_LENGTH, file.size));
  file.readAt(head, 0);
  const tail = new Uint8Array(Math.min(TAIL_LENGTH, file.size));
  file.readAt(tail, file.size - tail.length);
  const codec = detectCodec(head);
  if (codec !== undefined && detectFormat(head, undefined) === raw) {
    const unwrapped = await unwrapStream(codec.decode(stream(), options), options, [codec.name]);
    return unwrapped;
  }
  return { wrappers: [], format: chooseFormat(options, head, tail), head, file, stream: undefined };
}

/** @throws FormatError, SourceError */
export async function unwrapStream(
  outer: ByteStream,
  options: UnwrapOptions,
  outerWrappers: readonly string[] = [],
): Promise<Unwrapped> {
  const wrappers = [...outerWrappers];
  let bytes = outer;
  for (;;) {
    const { head, stream } = await PeekedStream.peek(bytes, HEAD_LENGTH);
    const codec = detectFormat(head, undefined) === raw ? detectCodec(head) : undefined;
    if (codec === undefined) {
      return { wrappers, format: chooseFormat(options, head, undefined), head, file: undefined, stream };
    }
    checkDepth(wrappers);
    wrappers.push(codec.name);
    bytes = codec.decode(stream, options);
  }
}

function chooseFormat(options: UnwrapOptions, head: Uint8Array, tail: Uint8Array | undefined): DiskFormat {
  if (options.format === undefined) return detectFormat(head, tail);
  const named = diskFormats.find((format) => format.name === options.format);
  if (named === undefined) throw new Error(`no format ${options.format}`);
  if (!named.probe(head, tail)) {
    const found = detectFormat(head, tail).name;
    throw new FormatError("FORMAT_UNRECOGNISED", `the image is not ${options.format}: it looks like ${found}`);
  }
  return named;
}

function checkDepth(wrappers: readonly string[]): void {
  if (wrappers.length < MAX_WRAPPERS) return;
  throw new FormatError("FORMAT_OUT_OF_BOUNDS", `the image is wrapped more than ${MAX_WRAPPERS} times`, {
    context: { wrappers },
  });
}
