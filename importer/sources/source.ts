/**
 * What a source is: where an image's bytes come from. It says what it can do and never what happens next.
 */
import type { ByteStream } from "../../formats/byte-stream.ts";
import type { RandomAccess } from "../random-access.ts";

export interface Source {
  /** Safe to show: no credentials, no query string. */
  readonly name: string;
  /** Path on this machine, where it is a file or device; to see whether source and target are the same. */
  readonly path: string | undefined;
  /** Bytes of the image as it is stored; undefined where only the end of the stream tells. */
  readonly size: number | undefined;
  /** Undefined: the source passes once, as a stream. */
  readonly file: RandomAccess | undefined;
  /** The bytes from the first on. A source without random access has one stream only. */
  stream(): ByteStream;
  close(): void;
}
