/**
 * Takes the wrappers off a source, in whatever order they nest, until a disk is left. Decided by content, never by name.
 *
 * A source with random access keeps it through archives (a member is a part of the file) and loses it at the first codec:
 * from there on the bytes pass once.
 */
import type { Archive } from "../formats/archives/archive.ts";
import { detectArchive } from "../formats/archives/registry.ts";
import type { ByteStream } from "../formats/byte-stream.ts";
import { detectCodec } from "../formats/codecs/registry.ts";
import type { Codec, DecodeOptions } from "../formats/codecs/codec.ts";
import { HEAD_LENGTH, TAIL_LENGTH } from "../formats/disk-format.ts";
import type { DiskFormat, Warning } from "../formats/disk-format.ts";
import { FormatError } from "../formats/errors.ts";
import { raw } from "../formats/raw.ts";
import { detectFormat, diskFormats } from "../formats/registry.ts";
import { openMember } from "./archive-file.ts";
import { openMemberStream } from "./archive-stream.ts";
import { FileStream } from "./file-stream.ts";
import { PeekedStream } from "./peeked-stream.ts";
import type { RandomAccess } from "./random-access.ts";

/** Wrappers around a disk nest at most this deep. */
export const MAX_WRAPPERS = 8;

export interface UnwrapOptions extends DecodeOptions {
  /** The disk format that was named; undefined: what the content says. Wrappers are taken off in any case. */
  readonly format: DiskFormat["name"] | undefined;
  /** The archive member that was named. */
  readonly member: string | undefined;
  /** False: a tar is a raw disk like any other file, as CDI's importer has it. */
  readonly archives: boolean;
}

/** A disk image without its wrappers: either a file, or a stream that passes once. */
export interface Unwrapped {
  /** From the outside in: `gzip`, `tar`. */
  readonly wrappers: readonly string[];
  /** Of the wrappers. Grows until a stream's end: an archive's manifest may come last. */
  readonly warnings: readonly Warning[];
  readonly format: DiskFormat;
  /** The first bytes of the image itself. */
  readonly head: Uint8Array;
  readonly file: RandomAccess | undefined;
  readonly stream: ByteStream | undefined;
}

/**
 * @param counted put around a stream of the file's bytes, should they have to pass as one
 * @throws FormatError, SourceError
 */
export async function unwrapFile(
  outer: RandomAccess,
  options: UnwrapOptions,
  counted: (stream: ByteStream) => ByteStream = (stream) => stream,
): Promise<Unwrapped> {
  const wrappers: string[] = [];
  const warnings: Warning[] = [];
  let file = outer;
  for (;;) {
    const head = new Uint8Array(Math.min(HEAD_LENGTH, file.size));
    await file.readAt(head, 0);
    const wrapper = detectWrapper(head, options);
    if (wrapper === undefined) {
      const tail = new Uint8Array(Math.min(TAIL_LENGTH, file.size));
      await file.readAt(tail, file.size - tail.length);
      const format = chooseFormat(options, head, tail);
      return { wrappers, warnings, format, head, file, stream: undefined };
    }
    addWrapper(wrappers, wrapper);
    if (wrapper.kind === "codec") {
      const stream = wrapper.codec.decode(counted(new FileStream(file)), options);
      return await unwrapStream(stream, options, { wrappers, warnings });
    }
    const member = await openMember(wrapper.archive, file, options.member);
    warnings.push(...member.warnings);
    if (member.checkedStream !== undefined) {
      return await unwrapStream(counted(member.checkedStream), options, { wrappers, warnings });
    }
    file = member.file;
  }
}

/**
 * @param so what was taken off already
 * @throws FormatError, SourceError
 */
export async function unwrapStream(
  outer: ByteStream,
  options: UnwrapOptions,
  so: { readonly wrappers: string[]; readonly warnings: Warning[] } = { wrappers: [], warnings: [] },
): Promise<Unwrapped> {
  const { wrappers, warnings } = so;
  let bytes = outer;
  for (;;) {
    const { head, stream } = await PeekedStream.peek(bytes, HEAD_LENGTH);
    const wrapper = detectWrapper(head, options);
    if (wrapper === undefined) {
      const format = chooseFormat(options, head, undefined);
      return { wrappers, warnings, format, head, file: undefined, stream };
    }
    addWrapper(wrappers, wrapper);
    if (wrapper.kind === "codec") bytes = wrapper.codec.decode(stream, options);
    else bytes = await openMemberStream(wrapper.archive, stream, options.member, warnings);
  }
}

/** Whether there is something to take off. */
export function isWrapped(head: Uint8Array, options: UnwrapOptions): boolean {
  return detectWrapper(head, options) !== undefined;
}

type Wrapper =
  | { readonly kind: "codec"; readonly codec: Codec }
  | { readonly kind: "archive"; readonly archive: Archive };

/** A disk format's magic comes first: nothing that is a disk is unwrapped. */
function detectWrapper(head: Uint8Array, options: UnwrapOptions): Wrapper | undefined {
  if (detectFormat(head, undefined) !== raw) return undefined;
  const codec = detectCodec(head);
  if (codec !== undefined) return { kind: "codec", codec };
  const archive = options.archives ? detectArchive(head) : undefined;
  return archive === undefined ? undefined : { kind: "archive", archive };
}

function addWrapper(wrappers: string[], wrapper: Wrapper): void {
  if (wrappers.length === MAX_WRAPPERS) {
    throw new FormatError("FORMAT_OUT_OF_BOUNDS", `the image is wrapped more than ${MAX_WRAPPERS} times`, {
      context: { wrappers: [...wrappers] },
    });
  }
  wrappers.push(wrapper.kind === "codec" ? wrapper.codec.name : wrapper.archive.name);
}

/** @throws FormatError FORMAT_UNRECOGNISED where another format was named than the one that is there */
export function chooseFormat(options: UnwrapOptions, head: Uint8Array, tail: Uint8Array | undefined): DiskFormat {
  if (options.format === undefined) return detectFormat(head, tail);
  const named = diskFormats.find((format) => format.name === options.format);
  if (named === undefined) throw new Error(`no format ${options.format}`);
  if (!named.probe(head, tail)) {
    const found = detectFormat(head, tail).name;
    throw new FormatError("FORMAT_UNRECOGNISED", `the image is not ${options.format}: it looks like ${found}`);
  }
  return named;
}
