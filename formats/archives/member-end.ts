/**
 * Members that are cut off: the check that an archive's driver makes, because headers cannot show it.
 *
 * An archive that ends right behind a header, or between two members, is read to its end without a complaint. So whoever
 * learns where the file ends (its length, or the end of the stream) compares it with every member that was announced,
 * also those it did not read.
 */
import type { Member } from "./archive.ts";
import { FormatError } from "../errors.ts";

/** Where the last byte of the member's content ends in the outer file; 0 if nothing of it is stored. */
export function memberEnd(member: Member): number {
  const last = member.extents.at(-1);
  return last === undefined ? 0 : last.hostOffset + last.length;
}

/**
 * @param fileLength of the outer file, or how many bytes the stream had when it ended
 * @throws FormatError FORMAT_CORRUPT if the member's content goes on behind it
 */
export function checkMemberEnd(member: Member, fileLength: number): void {
  const end = memberEnd(member);
  if (end <= fileLength) return;
  throw new FormatError("FORMAT_CORRUPT", `the archive ends at ${fileLength}, inside a member that ends at ${end}`, {
    remedy: "Get the archive again; it is cut short.",
    context: { member: member.name, offset: fileLength },
  });
}
