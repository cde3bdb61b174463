/**
 * Takes the wrappers off a source by the best way that it has: a local file in place, a file that its server gives in ranges
 * in parallel, all else as one stream.
 *
 * What a server says of ranges is proved before its stream is given up: until a second connection has answered with a range
 * of the same bytes, the first GET stays open, and the image may still come by it without another request.
 */
import type { ByteStream } from "../formats/byte-stream.ts";
import { HEAD_LENGTH, TAIL_LENGTH } from "../formats/disk-format.ts";
import { CachedAccess } from "./cached-access.ts";
import { SourceError } from "./errors.ts";
import { PeekedStream } from "./peeked-stream.ts";
import { openRandomAccess } from "./random-access.ts";
import type { RandomAccess } from "./random-access.ts";
import type { RemoteRanges, Source } from "./sources/source.ts";
import { chooseFormat, isWrapped, unwrapFile, unwrapStream } from "./unwrap.ts";
import type { Unwrapped, UnwrapOptions } from "./unwrap.ts";

/** A shorter image has come by its first GET before ranges of it would. */
const MIN_LENGTH_FOR_RANGES = 4 * 1024 * 1024;

export interface UnwrapSourceOptions extends UnwrapOptions {
  /** All bytes have to pass in order, for a checksum of them; or ranges have failed before. */
  readonly asOneStream: boolean;
  /** Put around the bytes as they are stored, where they pass as a stream. */
  readonly passing: (stream: ByteStream) => ByteStream;
}

/** @throws FormatError, SourceError */
export async function unwrapSource(source: Source, options: UnwrapSourceOptions): Promise<Unwrapped> {
  const { asOneStream, passing } = options;
  if (!asOneStream && source.file !== undefined) return await unwrapFile(source.file, options, passing);
  if (asOneStream || source.ranges === undefined || (source.size ?? 0) < MIN_LENGTH_FOR_RANGES) {
    return await unwrapStream(passing(source.stream()), options);
  }
  const { head, stream } = await PeekedStream.peek(source.stream(), HEAD_LENGTH);
  const file = isWrapped(head, options) ? undefined : await tryRanges(source.name, source.ranges, head);
  if (file === undefined) return await unwrapStream(passing(stream), options);
  await stream.close();
  return {
    wrappers: [],
    warnings: [],
    format: chooseFormat(options, head, file.tail),
    head,
    file: file.access,
    stream: undefined,
  };
}

interface ProvedFile {
  readonly access: RandomAccess;
  readonly tail: Uint8Array;
}

/** Undefined: the server does not serve ranges, not of these bytes, or nothing to a second request. Its stream still comes. */
async function tryRanges(name: string, remote: RemoteRanges, head: Uint8Array): Promise<ProvedFile | undefined> {
  const { size } = remote.spec.representation;
  const access = new CachedAccess(openRandomAccess({ remote, name, size }), head);
  const tail = new Uint8Array(Math.min(TAIL_LENGTH, size));
  try {
    await access.readAt(tail, size - tail.length);
    return { access, tail };
  } catch (error) {
    access.close();
    if (error instanceof SourceError) return undefined;
    throw error;
  }
}
