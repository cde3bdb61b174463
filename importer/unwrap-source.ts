/**
 * Takes the wrappers off a source by the best way that it has: a local file in place, a file that its server gives in ranges
 * in parallel (several at once and in order, if what is in it is compressed as a whole), all else as one stream.
 */
import type { ByteStream } from "../formats/byte-stream.ts";
import { HEAD_LENGTH } from "../formats/disk-format.ts";
import { PeekedStream } from "./peeked-stream.ts";
import { inOrder, MIN_LENGTH_FOR_RANGES, proveRanges, readAhead } from "./proved-ranges.ts";
import type { RandomAccess } from "./random-access.ts";
import type { Source } from "./sources/source.ts";
import { chooseFormat, isWrapped, unwrapFile, unwrapStream } from "./unwrap.ts";
import type { Unwrapped, UnwrapOptions } from "./unwrap.ts";

export interface UnwrapSourceOptions extends UnwrapOptions {
  /** All bytes have to pass, in order, for a checksum of them. */
  readonly inOrder: boolean;
  /** Ranges have failed before. */
  readonly asOneStream: boolean;
  /** Told what is to be read in ranges over the network, and if it cannot: to be closed, also while it waits. */
  readonly opened: (remote: RandomAccess | undefined) => void;
  /** Put around the bytes as they are stored, where they pass as a stream. */
  readonly passing: (stream: ByteStream) => ByteStream;
}

/** @throws FormatError, SourceError */
export async function unwrapSource(source: Source, options: UnwrapSourceOptions): Promise<Unwrapped> {
  const { asOneStream, passing, opened } = options;
  if (!options.inOrder && source.file !== undefined) return await unwrapFile(source.file, options, passing);
  if (asOneStream || source.ranges === undefined || (source.size ?? 0) < MIN_LENGTH_FOR_RANGES) {
    return await unwrapStream(passing(source.stream()), options);
  }
  if (options.inOrder) return await unwrapStream(passing(await inOrder(source, source.stream(), opened)), options);
  const { head, stream } = await PeekedStream.peek(source.stream(), HEAD_LENGTH);
  const wrapped = isWrapped(head, options);
  const proved = await proveRanges(source, { head, ahead: wrapped, opened });
  if (proved === undefined) return await unwrapStream(passing(stream), options);
  await stream.close();
  const { file, tail } = proved;
  if (wrapped) return await unwrapStream(passing(readAhead(source, file)), options);
  const format = chooseFormat(options, head, tail);
  return { wrappers: [], warnings: [], format, head, file, stream: undefined };
}
