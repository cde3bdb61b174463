/**
 * Finds the disk in an archive that is a file: all members are looked at first, then the one that is the disk is opened in
 * place, with random access of its own.
 */
import type { Archive, Member, MemberExtent } from "../formats/archives/archive.ts";
import { checkDigest, MemberChoice } from "../formats/archives/choose-member.ts";
import type { ChosenMember } from "../formats/archives/choose-member.ts";
import { checkMemberEnd } from "../formats/archives/member-end.ts";
import { startsAsDisk } from "../formats/archives/starts-as-disk.ts";
import type { ByteStream } from "../formats/byte-stream.ts";
import { HEAD_LENGTH } from "../formats/disk-format.ts";
import type { Warning } from "../formats/disk-format.ts";
import { checkAnswer, checkNeed } from "./drive-parser.ts";
import { FileStream } from "./file-stream.ts";
import { hashBytes, MemberDigests } from "./member-digests.ts";
import { openRandomAccess } from "./random-access.ts";
import type { RandomAccess, ReadSpec } from "./random-access.ts";

export interface OpenedMember {
  readonly name: string;
  readonly file: RandomAccess;
  readonly warnings: readonly Warning[];
  /** Where a manifest says what the member's bytes must be: a stream of it that fails at its end if they are not. */
  readonly checkedStream: ByteStream | undefined;
}

/**
 * @param wanted the member that was named, if one was
 * @throws FormatError as MemberChoice and the archive do
 */
export async function openMember(
  archive: Archive,
  outer: RandomAccess,
  wanted: string | undefined,
): Promise<OpenedMember> {
  const choice = new MemberChoice({ member: wanted, startsAsDisk, hash: hashBytes });
  for await (const member of walk(archive, outer)) {
    const content = memberFile(member, outer);
    const head = new Uint8Array(Math.min(HEAD_LENGTH, member.size));
    await content.readAt(head, 0);
    if (choice.consider(member, head) !== "read") continue;
    // `consider` has compared the length with its limit.
    const bytes = new Uint8Array(member.size);
    await content.readAt(bytes, 0);
    choice.learn(member.name, bytes);
  }
  const chosen = choice.finish();
  const file = memberFile(await memberAt(chosen.index, archive, outer), outer);
  const checkedStream = chosen.digest === undefined ? undefined : new CheckedStream(file, chosen);
  return { name: chosen.name, file, warnings: chosen.warnings, checkedStream };
}

async function* walk(archive: Archive, outer: RandomAccess): AsyncGenerator<Member> {
  const members = archive.members();
  let buffer = new Uint8Array(0);
  let step = members.next();
  while (step.done !== true) {
    const { value } = step;
    if ("extents" in value) {
      checkMemberEnd(value, outer.size);
      yield value;
      step = members.next();
      continue;
    }
    checkNeed(value);
    if (buffer.length < value.length) buffer = new Uint8Array(value.length);
    const into = buffer.subarray(0, value.length);
    step = members.next(into.subarray(0, checkAnswer(value, await outer.readAt(into, value.offset))));
  }
}

async function memberAt(index: number, archive: Archive, outer: RandomAccess): Promise<Member> {
  let at = 0;
  for await (const member of walk(archive, outer)) {
    if (at === index) return member;
    at += 1;
  }
  throw new Error(`the archive has no member ${index} any more`);
}

function memberFile(member: Member, outer: RandomAccess): RandomAccess {
  const segments = flatSegments(member.extents, outer.spec);
  return openRandomAccess({ ...outer.spec, size: member.size, segments });
}

/** A member of a member: its extents as parts of the file itself. */
function flatSegments(extents: readonly MemberExtent[], outer: ReadSpec): Float64Array {
  const { segments } = outer;
  if (segments === undefined) {
    return Float64Array.from(extents.flatMap(({ offset, length, hostOffset }) => [offset, length, hostOffset]));
  }
  const flat: number[] = [];
  for (const extent of extents) {
    const end = extent.hostOffset + extent.length;
    for (let i = 0; i < segments.length; i += 3) {
      const [start = 0, length = 0, hostOffset = 0] = segments.subarray(i, i + 3);
      const from = Math.max(extent.hostOffset, start);
      const to = Math.min(end, start + length);
      if (from < to) flat.push(extent.offset + from - extent.hostOffset, to - from, hostOffset + from - start);
    }
  }
  return Float64Array.from(flat);
}

class CheckedStream implements ByteStream {
  readonly #stream: FileStream;
  readonly #chosen: ChosenMember;
  readonly #digests: MemberDigests;
  #checked = false;

  constructor(file: RandomAccess, chosen: ChosenMember) {
    this.#stream = new FileStream(file);
    this.#chosen = chosen;
    this.#digests = new MemberDigests(chosen.digest === undefined ? [] : [chosen.digest.algorithm]);
  }

  async read(into: Uint8Array): Promise<number> {
    const count = await this.#stream.read(into);
    if (count > 0) {
      this.#digests.update(into.subarray(0, count));
    } else if (!this.#checked) {
      this.#checked = true;
      checkDigest(this.#chosen, this.#digests.finish());
    }
    return count;
  }

  close(): void {
    this.#stream.close();
  }
}
