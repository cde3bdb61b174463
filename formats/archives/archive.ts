/**
 * What an archive is: a generator that walks an outer file and announces its members, without I/O.
 *
 * Headers are asked for in ascending order, so that an archive can pass once as a stream. A member is a list of extents
 * of the outer file, so a sparse member is one too, and a member of a random-access file is itself random-access.
 */
import type { Need } from "../disk-format.ts";

export interface MemberExtent {
  /** Position in the member. */
  readonly offset: number;
  readonly length: number;
  /** Position in the outer file. Ascending from extent to extent. */
  readonly hostOffset: number;
}

export interface Member {
  /** As the archive says, with `./` and leading slashes removed; to show and to compare, never to open. */
  readonly name: string;
  /** Length of the member's content, holes included. */
  readonly size: number;
  /** Ascending and disjoint; what they leave out reads as zeros. */
  readonly extents: readonly MemberExtent[];
}

export interface Archive {
  readonly name: "tar" | "zip";
  /** @param head the first 64 KiB of the file, or all of it */
  probe(head: Uint8Array): boolean;
  /**
   * Walks the archive; announces its regular files in archive order (links, folders and devices are passed over), each
   * before its content. Sent bytes after a Need, undefined after a Member.
   * @throws FormatError FORMAT_CORRUPT (checksum, truncated), FORMAT_OUT_OF_BOUNDS (a limit), FORMAT_UNSUPPORTED (named)
   */
  members(): Generator<Need | Member, void, Uint8Array | undefined>;
}
