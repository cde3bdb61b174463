/**
 * What a source is: where an image's bytes come from. It says what it can do and never what happens next.
 */
import type { ByteStream } from "../../formats/byte-stream.ts";
import type { Warning } from "../../formats/disk-format.ts";
import type { HttpOptions } from "../http/http-options.ts";
import type { RangeSpec } from "../http/range-reader.ts";
import type { RandomAccess } from "../random-access.ts";

/** An image that can be read in ranges over the network. Plain data for worker threads. It holds secrets. */
export interface RemoteRanges {
  readonly http: HttpOptions;
  readonly spec: RangeSpec;
}

export interface Source {
  /** Safe to show: no credentials, no query string. */
  readonly name: string;
  /** Path on this machine, where it is a file or device; to see whether source and target are the same. */
  readonly path: string | undefined;
  /** Bytes of the image as it is stored; undefined where only the end of the stream tells. */
  readonly size: number | undefined;
  /** Undefined: the source passes once, as a stream. */
  readonly file: RandomAccess | undefined;
  /** Of a source without `file`: how its bytes are had in any order. Not yet tried; where it fails the stream is left. */
  readonly ranges?: RemoteRanges | undefined;
  /** How often the stream was continued after a cut so far. */
  resumes?(): number;
  /**
   * Of a source that is sent something else than its stream gives, a compressed layer for instance: how many bytes came,
   * how many will have come at the end, and how long they were waited for.
   */
  transferred?(): { readonly bytes: number; readonly total: number; readonly waitedMs: number };
  /** What is odd about the way to it, once its first bytes came. The image has warnings of its own. */
  warnings?(): readonly Warning[];
  /**
   * The bytes from the first on. A source without random access has one stream only. It fails at its end where the source
   * itself vouches for its bytes (a layer's digest) and they are others.
   */
  stream(): ByteStream;
  /** The same check around all of the bytes where they come in order by `ranges`; undefined: it has none. */
  checked?(bytes: ByteStream): ByteStream;
  /** Opens the same source once more, when this one is closed; undefined: it passes once. @throws as opening it did */
  reopen?(): Promise<Source>;
  /**
   * Tells the far side that the transfer is over, and how: the target is safe, or given up. Unlocks what is locked there.
   * Never fails; a warning says what was left behind. Closing what was not finished gives it up.
   */
  finish?(succeeded: boolean): Promise<void>;
  close(): void;
}
