/**
 * Takes the wrappers off a source by the best way that it has: a local file in place, a file that its server gives in ranges
 * in parallel (several at once and in order, if what is in it is compressed as a whole), all else as one stream.
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
import { ReadAheadStream } from "./read-ahead-stream.ts";
import type { RemoteRanges, Source } from "./sources/source.ts";
import { chooseFormat, isWrapped, unwrapFile, unwrapStream } from "./unwrap.ts";
import type { Unwrapped, UnwrapOptions } from "./unwrap.ts";

/** A shorter image has come by its first GET before ranges of it would. */
const MIN_LENGTH_FOR_RANGES = 4 * 1024 * 1024;

export interface UnwrapSourceOptions extends UnwrapOptions {
  /** All bytes have to pass in order, for a checksum of them; or ranges have failed before. */
  readonly asOneStream: boolean;
  /** Told what is to be read in ranges over the network, and if it cannot: to be closed, also while it waits. */
  readonly opened: (remote: RandomAccess | undefined) => void;
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
  const wrapped = isWrapped(head, options);
  const proved = await tryRanges(source, { head, directly: wrapped, opened: options.opened });
  if (proved === undefined) return await unwrapStream(passing(stream), options);
  await stream.close();
  const { file, tail } = proved;
  if (wrapped) return await unwrapStream(passing(new ReadAheadStream(file)), options);
  const format = chooseFormat(options, head, tail);
  return { wrappers: [], warnings: [], format, head, file, stream: undefined };
}

interface ProvedFile {
  readonly file: RandomAccess;
  readonly tail: Uint8Array;
}

interface Trial {
  /** The file's first bytes. */
  readonly head: Uint8Array;
  /** Only without a proxy or a limit of the rate: there one GET does as well, and for a proxy that keeps files better. */
  readonly directly: boolean;
  readonly opened: (remote: RandomAccess | undefined) => void;
}

/** Undefined: the server does not serve ranges, not of these bytes, or nothing to a second request. Its stream still comes. */
async function tryRanges({ name, ranges: remote }: Source, trial: Trial): Promise<ProvedFile | undefined> {
  if (remote === undefined || (trial.directly && !(await isDirect(remote)))) return undefined;
  const { size } = remote.spec.representation;
  const file = new CachedAccess(openRandomAccess({ remote, name, size }), trial.head);
  trial.opened(file);
  const tail = new Uint8Array(Math.min(TAIL_LENGTH, size));
  try {
    await file.readAt(tail, size - tail.length);
    return { file, tail };
  } catch (error) {
    file.close();
    trial.opened(undefined);
    if (error instanceof SourceError) return undefined;
    throw error;
  }
}

async function isDirect({ http, spec }: RemoteRanges): Promise<boolean> {
  const { DirectRanges } = await import("./http/direct-ranges.ts");
  return DirectRanges.reaches(http, spec);
}
