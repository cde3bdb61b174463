/**
 * Drives archives from bytes in memory: as a file that is read anywhere, or as a stream that passes once.
 *
 * Both check what a driver relies on: needs are bounded and ascending, and a member is announced before its content goes
 * by. An outer file may be `Pieces`: a few bytes at far offsets, zeros between, for members above 8 GiB.
 */
import assert from "node:assert/strict";
import type { Archive, Member } from "../../formats/archives/archive.ts";
import { checkMemberEnd, memberEnd } from "../../formats/archives/member-end.ts";
import { MAX_NEED_LENGTH } from "../../formats/disk-format.ts";
import type { Need } from "../../formats/disk-format.ts";
import { FormatError } from "../../formats/errors.ts";

/** A file that is mostly zeros: pieces at their offsets. */
export interface Pieces {
  readonly length: number;
  readonly pieces: readonly { readonly offset: number; readonly bytes: Uint8Array }[];
}

/** Reads [offset, offset + length), cut at the end of the file; a copy. */
function slice(file: Uint8Array | Pieces, offset: number, length: number): Uint8Array {
  if (file instanceof Uint8Array) return Uint8Array.from(file.subarray(offset, offset + length));
  const bytes = new Uint8Array(Math.max(0, Math.min(length, file.length - offset)));
  for (const piece of file.pieces) {
    const start = Math.max(offset, piece.offset);
    const end = Math.min(offset + bytes.length, piece.offset + piece.bytes.length);
    if (start < end) bytes.set(piece.bytes.subarray(start - piece.offset, end - piece.offset), start - offset);
  }
  return bytes;
}

/** What a member that was announced is handed to, in a walk. */
export type OnMember = (member: Member) => void;

export interface Walked {
  readonly members: readonly Member[];
  readonly needs: readonly Need[];
}

/** Walks the archive to its end, checking every need and every member. */
export function walkArchive(archive: Archive, file: Uint8Array | Pieces, onMember?: OnMember): Walked {
  const members: Member[] = [];
  const needs: Need[] = [];
  let asked = 0; // the end of what was asked for
  const walk = archive.members();
  let step = walk.next();
  while (step.done !== true) {
    const value = step.value;
    if ("name" in value) {
      checkMember(value, asked);
      checkMemberEnd(value, file.length);
      members.push(value);
      onMember?.(value);
      asked = Math.max(asked, memberEnd(value));
      step = walk.next();
      continue;
    }
    assert.ok(Number.isSafeInteger(value.offset) && value.offset >= asked, `need at ${value.offset} after ${asked}`);
    assert.ok(value.length >= 1 && value.length <= MAX_NEED_LENGTH, `need of ${value.length} bytes`);
    needs.push(value);
    asked = value.offset + value.length;
    const bytes = slice(file, value.offset, value.length);
    if (bytes.length < value.length && value.shortAtEnd !== true) {
      throw new FormatError("FORMAT_INVALID", `the file ends at ${file.length}, inside a structure at ${value.offset}`);
    }
    step = walk.next(bytes);
    bytes.fill(0xa5);
  }
  return { members, needs };
}

function checkMember(member: Member, asked: number): void {
  let offset = 0;
  let hostOffset = asked; // nothing of the content may have gone by
  for (const extent of member.extents) {
    assert.ok(extent.offset >= offset && extent.length > 0 && extent.hostOffset >= hostOffset);
    offset = extent.offset + extent.length;
    hostOffset = extent.hostOffset + extent.length;
  }
  assert.ok(offset <= member.size && Number.isSafeInteger(member.size));
}

/** A member's content, or a part of it, holes as zeros. */
export function memberBytes(member: Member, file: Uint8Array | Pieces, offset = 0, length = member.size): Uint8Array {
  const bytes = new Uint8Array(Math.max(0, Math.min(length, member.size - offset)));
  for (const extent of member.extents) {
    const start = Math.max(offset, extent.offset);
    const end = Math.min(offset + bytes.length, extent.offset + extent.length);
    if (start >= end) continue;
    bytes.set(slice(file, extent.hostOffset + start - extent.offset, end - start), start - offset);
  }
  return bytes;
}

/** Name and content of every member, in archive order. */
export function readMembers(archive: Archive, file: Uint8Array): [string, Uint8Array][] {
  return walkArchive(archive, file).members.map((member) => [member.name, memberBytes(member, file)]);
}
