/**
 * Finds the disk in an archive that passes once, and gives its content as a stream.
 *
 * A member is taken when it comes by; whether it really was the disk shows only at the archive's end, so the stream does not
 * end before the archive has: its last `read` walks the rest, checks the choice and the manifest, and throws if they do not
 * hold. A first file that does not look like a disk is kept in memory while it is small, in case nothing better comes.
 */
import type { Archive, Member } from "../formats/archives/archive.ts";
import { checkDigest, MemberChoice } from "../formats/archives/choose-member.ts";
import type { ChosenMember } from "../formats/archives/choose-member.ts";
import { checkMemberEnd } from "../formats/archives/member-end.ts";
import { startsAsDisk } from "../formats/archives/starts-as-disk.ts";
import type { ByteStream } from "../formats/byte-stream.ts";
import { HEAD_LENGTH } from "../formats/disk-format.ts";
import type { Warning } from "../formats/disk-format.ts";
import { checkAnswer, checkNeed } from "./drive-parser.ts";
import { MemberContent, truncated } from "./member-content.ts";
import { hashBytes, MemberDigests } from "./member-digests.ts";
import { StreamWindow } from "./stream-window.ts";

/** A file that is the disk only for want of a better one waits in memory up to this size; a larger one is taken at once. */
const MAX_KEPT_MEMBER = 8 * 1024 * 1024;

/**
 * @param warnings what is odd about the archive is added here, at the stream's end at the latest
 * @throws FormatError as MemberChoice and the archive do, here or from the stream's `read`
 */
export async function openMemberStream(
  archive: Archive,
  outer: ByteStream,
  wanted: string | undefined,
  warnings: Warning[] = [],
): Promise<ByteStream> {
  const walker = new ArchiveWalker(archive, new StreamWindow(outer), wanted);
  const member = await walker.untilTaken();
  return new MemberStream(walker, member, warnings);
}

class ArchiveWalker {
  readonly window: StreamWindow;
  readonly #choice: MemberChoice;
  readonly #members: ReturnType<Archive["members"]>;
  /** The small file that waits. */
  #kept: { readonly index: number; readonly bytes: Uint8Array } | undefined;
  /** Place in the archive of what `untilTaken` answered with last. */
  #answered = -1;
  #count = 0;
  #last: Member | undefined;
  #next: Uint8Array | undefined;

  constructor(archive: Archive, window: StreamWindow, wanted: string | undefined) {
    this.window = window;
    this.#members = archive.members();
    this.#choice = new MemberChoice({ member: wanted, startsAsDisk, hash: hashBytes });
  }

  /** Walks until a member is to be read; undefined: the archive has ended, and the one that waited is it. */
  async untilTaken(): Promise<Member | undefined> {
    for (;;) {
      const member = await this.#nextMember();
      if (member === undefined) {
        this.#answered = this.#kept?.index ?? -1;
        return undefined;
      }
      const index = this.#count++;
      const verdict = this.#choice.consider(member, await this.#head(member));
      if (verdict === "read") this.#choice.learn(member.name, await this.readAll(member));
      const keeps = verdict === "maybe" && member.size <= MAX_KEPT_MEMBER;
      if (keeps) this.#kept = { index, bytes: await this.readAll(member) };
      if (verdict === "take" || (verdict === "maybe" && !keeps)) {
        this.#kept = undefined;
        this.#answered = index;
        return member;
      }
    }
  }

  /** Walks to the end of the archive and of the stream. What was answered first has been delivered and must be the disk. */
  async rest(): Promise<ChosenMember> {
    const delivered = this.#answered;
    while ((await this.untilTaken()) !== undefined);
    const chosen = this.#choice.finish();
    await this.window.drain();
    if (this.#last !== undefined) checkMemberEnd(this.#last, this.window.position);
    if (chosen.index !== delivered) throw this.#choice.tooLate(chosen);
    return chosen;
  }

  get digestsWanted(): MemberChoice["digestsWanted"] {
    return this.#choice.digestsWanted;
  }

  get keptBytes(): Uint8Array {
    return this.#kept?.bytes ?? new Uint8Array(0);
  }

  /** All of a member's content; its size was compared with a limit. */
  async readAll(member: Member): Promise<Uint8Array> {
    const bytes = new Uint8Array(member.size);
    for (const { offset, length, hostOffset } of member.extents) {
      const part = await this.window.peek(hostOffset, length);
      if (part.length < length) throw truncated(member);
      bytes.set(part, offset);
    }
    return bytes;
  }

  async #nextMember(): Promise<Member | undefined> {
    for (;;) {
      const step = this.#next === undefined ? this.#members.next() : this.#members.next(this.#next);
      this.#next = undefined;
      if (step.done === true) return undefined;
      if ("extents" in step.value) {
        this.#last = step.value;
        return step.value;
      }
      const need = step.value;
      checkNeed(need);
      this.#next = await this.window.peek(need.offset, need.length);
      checkAnswer(need, this.#next.length);
    }
  }

  /** The first bytes of the content, without passing them. */
  async #head(member: Member): Promise<Uint8Array> {
    const head = new Uint8Array(Math.min(HEAD_LENGTH, member.size));
    const [first] = member.extents;
    if (first === undefined) return head;
    const stored = await this.window.peek(first.hostOffset, HEAD_LENGTH);
    for (const { offset, length, hostOffset } of member.extents) {
      const from = hostOffset - first.hostOffset;
      if (offset >= head.length || from >= stored.length) break;
      head.set(stored.subarray(from, Math.min(from + length, from + head.length - offset)), offset);
    }
    return head;
  }
}

class MemberStream implements ByteStream {
  readonly #walker: ArchiveWalker;
  readonly #content: MemberContent | undefined;
  readonly #digests: MemberDigests;
  readonly #warnings: Warning[];
  #keptPosition = 0;
  #ended = false;

  constructor(walker: ArchiveWalker, member: Member | undefined, warnings: Warning[]) {
    this.#walker = walker;
    this.#content = member === undefined ? undefined : new MemberContent(member, walker.window);
    this.#warnings = warnings;
    this.#digests = new MemberDigests(walker.digestsWanted);
  }

  async read(into: Uint8Array): Promise<number> {
    const count = this.#content === undefined ? this.#readKept(into) : await this.#content.read(into);
    if (count > 0) {
      this.#digests.update(into.subarray(0, count));
    } else if (!this.#ended) {
      this.#ended = true;
      const chosen = await this.#walker.rest();
      this.#warnings.push(...chosen.warnings);
      checkDigest(chosen, this.#digests.finish());
    }
    return count;
  }

  close(): void | Promise<void> {
    return this.#walker.window.close();
  }

  #readKept(into: Uint8Array): number {
    const bytes = this.#walker.keptBytes;
    const count = Math.min(into.length, bytes.length - this.#keptPosition);
    into.set(bytes.subarray(this.#keptPosition, this.#keptPosition + count));
    this.#keptPosition += count;
    return count;
  }
}
