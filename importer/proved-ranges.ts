/**
 * What a server says of ranges, proved before its stream is given up: until a second connection has answered with a range of
 * the same bytes, the first GET stays open, and the image may still come by it without another request.
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

/** A shorter file has come by its first GET before ranges of it would. */
export const MIN_LENGTH_FOR_RANGES = 4 * 1024 * 1024;

type RangedSource = Pick<Source, "name" | "ranges" | "checked">;

export interface ProvedFile {
  readonly file: RandomAccess;
  readonly tail: Uint8Array;
}

export interface Trial {
  /** The file's first bytes. */
  readonly head: Uint8Array;
  /**
   * To be read ahead: not through a proxy or with a limit of the rate, where one GET does as well and for a proxy that keeps
   * files better, and not by those who look at the start only.
   */
  readonly ahead: boolean;
  readonly opened: (remote: RandomAccess | undefined) => void;
}

/** Undefined: the server does not serve ranges, not of these bytes, or nothing to a second request. Its stream still comes. */
export async function proveRanges(
  { name, ranges: remote }: RangedSource,
  trial: Trial,
): Promise<ProvedFile | undefined> {
  if (remote === undefined || (trial.ahead && !(await mayReadAhead(remote)))) return undefined;
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

async function mayReadAhead({ http, spec }: RemoteRanges): Promise<boolean> {
  if (http.firstLength !== undefined) return false;
  const { DirectRanges } = await import("./http/direct-ranges.ts");
  return DirectRanges.reaches(http, spec);
}

/**
 * A file in order: several ranges at once, or the stream of its first GET.
 * @param stream of the first GET; closed if it is not needed
 * @throws SourceError as the stream does
 */
export async function inOrder(
  source: RangedSource,
  stream: ByteStream,
  opened: (remote: RandomAccess | undefined) => void,
): Promise<ByteStream> {
  if ((source.ranges?.spec.representation.size ?? 0) < MIN_LENGTH_FOR_RANGES) return stream;
  const peeked = await PeekedStream.peek(stream, HEAD_LENGTH);
  const proved = await proveRanges(source, { head: peeked.head, ahead: true, opened });
  if (proved === undefined) return peeked.stream;
  await stream.close();
  return readAhead(source, proved.file);
}

/** All of a file in order, several ranges at once, with what its source checks. */
export function readAhead(source: RangedSource, file: RandomAccess): ByteStream {
  const bytes = new ReadAheadStream(file);
  return source.checked?.(bytes) ?? bytes;
}
