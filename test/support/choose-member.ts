/**
 * Drives the choice of a member as an importer does: with random access in two walks, or in a single pass.
 */
import crypto from "node:crypto";
import type { Archive, Member } from "../../formats/archives/archive.ts";
import { checkDigest, MemberChoice } from "../../formats/archives/choose-member.ts";
import type { ChosenMember, Verdict } from "../../formats/archives/choose-member.ts";
import type { DigestAlgorithm } from "../../formats/archives/manifest.ts";
import { startsAsDisk } from "../../formats/archives/starts-as-disk.ts";
import { HEAD_LENGTH } from "../../formats/disk-format.ts";
import { memberBytes, walkArchive } from "./archive.ts";

export function hash(algorithm: DigestAlgorithm, bytes: Uint8Array): string {
  return crypto.createHash(algorithm).update(bytes).digest("hex");
}

export interface Poured {
  readonly chosen: ChosenMember;
  readonly content: Uint8Array;
  /** One for each member. */
  readonly verdicts: readonly Verdict[];
  /** How often something that was written had to be undone. */
  readonly undone: number;
}

function newChoice(member: string | undefined): MemberChoice {
  return new MemberChoice({ member, startsAsDisk, hash });
}

/** Random access: the whole archive is looked at before anything is read. */
export function pourFile(archive: Archive, file: Uint8Array, member?: string): Poured {
  const choice = newChoice(member);
  const verdicts: Verdict[] = [];
  walkArchive(archive, file, (each) => verdicts.push(consider(choice, each, file)));
  const chosen = choice.finish();
  const found = walkArchive(archive, file).members[chosen.index];
  if (found === undefined) throw new Error("no member has that index");
  const content = memberBytes(found, file);
  const digests = new Map<DigestAlgorithm, string>();
  if (chosen.digest !== undefined) digests.set(chosen.digest.algorithm, hash(chosen.digest.algorithm, content));
  checkDigest(chosen, digests);
  return { chosen, content, verdicts, undone: 0 };
}

/** A single pass; `tooLate` if the source would have to be read again. */
export function pourStream(archive: Archive, file: Uint8Array, member?: string): Poured {
  const choice = newChoice(member);
  const verdicts: Verdict[] = [];
  let content: Uint8Array | undefined;
  let digests = new Map<DigestAlgorithm, string>();
  let undone = 0;
  walkArchive(archive, file, (each) => {
    const verdict = consider(choice, each, file);
    verdicts.push(verdict);
    if (verdict !== "take" && verdict !== "maybe") return;
    if (content !== undefined) undone++;
    const taken = memberBytes(each, file);
    content = taken;
    digests = new Map(choice.digestsWanted.map((algorithm) => [algorithm, hash(algorithm, taken)]));
  });
  const chosen = choice.finish();
  if (!chosen.stands || content === undefined) throw choice.tooLate(chosen);
  checkDigest(chosen, digests);
  return { chosen, content, verdicts, undone };
}

function consider(choice: MemberChoice, member: Member, file: Uint8Array): Verdict {
  const verdict = choice.consider(member, memberBytes(member, file, 0, HEAD_LENGTH));
  if (verdict === "read") choice.learn(member.name, memberBytes(member, file));
  return verdict;
}
