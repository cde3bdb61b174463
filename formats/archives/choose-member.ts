/**
 * Which member of an archive is the disk: the one named; in an OVA the one disk of its descriptor; else the only regular
 * file; else the only one that starts as a disk or as a wrapper; else refused with the list of names.
 *
 * A pure decision, for archives that are read at random and for such that pass once. In a stream a member must be taken
 * or left when it comes by, before what decides may be known, so the answer is provisional until `finish`.
 * A name that comes twice is the later one, as with tar.
 */
import type { Warning } from "../disk-format.ts";
import { FormatError } from "../errors.ts";
import { MAX_MANIFEST_LENGTH, manifestTooLong } from "./manifest.ts";
import type { DigestAlgorithm, ManifestDigest } from "./manifest.ts";
import { digestDiffers, OvaPackage } from "./ova-package.ts";
import type { HashBytes } from "./ova-package.ts";
import { MAX_OVF_LENGTH, tooLong } from "./ova.ts";
import { listed, quoted } from "./shown-names.ts";

export interface MemberChoiceOptions {
  /** `--member`: a member's whole name, or its base name where that is unique. */
  readonly member: string | undefined;
  /** `startsAsDisk` of `starts-as-disk.ts`. */
  readonly startsAsDisk: (head: Uint8Array) => boolean;
  readonly hash: HashBytes;
}

/**
 * - `take`: as far as is known this is the disk; what was taken before it was not
 * - `maybe`: the same, but only for want of a better one
 * - `skip`: not the disk
 * - `read`: a small file that says which one is; hand all of it to `learn` before the next `consider`
 */
export type Verdict = "take" | "maybe" | "skip" | "read";

export interface ChosenMember {
  readonly name: string;
  /** Its place among the members that were considered, from 0. */
  readonly index: number;
  /** False if the last member that was taken is another one, or the disk was never taken. */
  readonly stands: boolean;
  /** What the OVA's manifest says of the member's content as it is stored. */
  readonly digest: ManifestDigest | undefined;
  readonly warnings: readonly Warning[];
}

/** Names are kept until the archive's end, for a descriptor that comes last: 65,536 names of 128 characters. */
const MAX_NAMES_LENGTH = 8 * 1024 * 1024;

const NAME_IT = "Name the one to take with --member NAME.";

interface Remembered {
  readonly index: number;
  readonly size: number;
  readonly isDisk: boolean;
}

/**
 * The protocol, for a driver:
 *
 * 1. For each Member in archive order call `consider` with the first 64 KiB of its content (less if it is shorter).
 * 2. On `read`, read the whole content (`consider` has checked its length against a limit) and call `learn`.
 * 3. At the end of the archive call `finish`. It throws if no member, or more than one, may be the disk.
 *
 * Random access: walk the whole archive first, ignoring `take`, `maybe` and `skip`; keep the extents of nothing. Then walk
 * again up to member `index` and read it. Where `digest` is set, read it as a stream and hash it with that algorithm.
 *
 * Stream: on `take` and `maybe` write the member to the target, after undoing whatever was written of one before it (the
 * file truncated, the device's written ranges zeroed); hash it with `digestsWanted`. Nothing may become bootable before
 * `finish`. Read the archive to its end, and after it the source. If `finish` throws, undo and report. If it answers
 * `stands: false`, undo; begin again with `member: name` if the source can be read again, else throw `tooLate`.
 *
 * Both: check every member with `checkMemberEnd` once the file's end is known, and call `checkDigest` last. Digests of
 * other members are not checked, but for the descriptor's; with `member` it is not read, so its faults do not matter.
 */
export class MemberChoice {
  readonly #options: MemberChoiceOptions;
  readonly #ova = new OvaPackage();
  readonly #members = new Map<string, Remembered>();
  readonly #others: string[] = []; // the first names that are not the one asked for, for the message
  #namesLength = 0;
  #sawDescriptor = false;
  #count = 0;
  #taken: { readonly name: string; readonly index: number } | undefined;

  constructor(options: MemberChoiceOptions) {
    this.#options = options;
  }

  /**
   * @param head the first 64 KiB of the content, holes as zeros
   * @throws FormatError FORMAT_OUT_OF_BOUNDS for a descriptor or manifest beyond its limit, or too many names
   */
  consider(member: { readonly name: string; readonly size: number }, head: Uint8Array): Verdict {
    const { name, size } = member;
    const index = this.#count++;
    const isDisk = this.#options.startsAsDisk(head);
    this.#sawDescriptor ||= isDescriptor(name);
    this.#remember(name, { index, size, isDisk });
    const verdict = this.#options.member === undefined ? this.#judge(name, size, isDisk) : this.#judgeNamed(name, size);
    if (verdict === "take" || verdict === "maybe") this.#taken = { name, index };
    return verdict;
  }

  /**
   * @param name of the member for which `consider` answered `read`
   * @param bytes all of its content; copied where it is kept
   * @throws FormatError if it is an OVF descriptor from which no single disk can be read; nothing later changes that
   */
  learn(name: string, bytes: Uint8Array): void {
    if (isManifest(name)) {
      this.#ova.addManifest(name, bytes);
    } else {
      this.#ova.addDescriptor(name, bytes);
      this.#ova.onlyDisk();
    }
  }

  /**
   * With what a stream's driver hashes the member that it takes now: what the manifest asks for, or nothing, if the
   * manifest has come by; else SHA-1 and SHA-256, which a manifest that comes later may name. SHA-512, rare there, is not
   * computed on suspicion; `checkDigest` refuses it by name.
   */
  get digestsWanted(): readonly DigestAlgorithm[] {
    if (!this.#sawDescriptor || !this.#ova.hasManifest || this.#taken === undefined) return ["sha1", "sha256"];
    const digest = this.#ova.digestOf(this.#taken.name);
    return digest === undefined ? [] : [digest.algorithm];
  }

  /**
   * @throws FormatError FORMAT_UNSUPPORTED naming the candidates, FORMAT_UNRECOGNISED (none is called so),
   *         FORMAT_INVALID (the archive is empty, or the OVA's disk is missing), FORMAT_CORRUPT (the descriptor's digest)
   */
  finish(): ChosenMember {
    const name = this.#options.member === undefined ? this.#decide() : this.#decideNamed(this.#options.member);
    const { index, size } = this.#members.get(name) ?? { index: 0, size: 0 };
    const stands = this.#taken?.index === index;
    if (!this.#sawDescriptor) return { name, index, stands, digest: undefined, warnings: [] };
    this.#ova.checkDescriptor(this.#options.hash);
    const digest = this.#ova.digestOf(name);
    return { name, index, stands, digest, warnings: this.#warnings(name, size, digest) };
  }

  /** What a stream's driver throws where the choice does not stand and the source cannot be read again. */
  tooLate(chosen: ChosenMember): FormatError {
    const message = `the disk is ${quoted(chosen.name)}, which had gone by before the archive said so`;
    return new FormatError("FORMAT_UNSUPPORTED", message, {
      remedy: `Ask for it with --member ${quoted(chosen.name)}.`,
    });
  }

  #remember(name: string, member: Remembered): void {
    const { member: wanted } = this.#options;
    if (wanted !== undefined && !isCalled(name, wanted)) {
      if (this.#others.length < MAX_OTHERS) this.#others.push(name);
      return;
    }
    if (!this.#members.has(name)) this.#namesLength += name.length;
    if (this.#namesLength > MAX_NAMES_LENGTH) {
      const message = `the names in the archive have more than ${MAX_NAMES_LENGTH} characters`;
      throw new FormatError("FORMAT_OUT_OF_BOUNDS", message, { remedy: NAME_IT });
    }
    this.#members.set(name, member);
  }

  #judge(name: string, size: number, isDisk: boolean): Verdict {
    if (isDescriptor(name)) {
      if (size > MAX_OVF_LENGTH) throw tooLong(size);
      return "read";
    }
    if (isManifest(name)) return readManifest(size);
    if (this.#ova.hasDescriptor) return this.#ova.refersTo(this.#ova.onlyDisk().href, name) ? "take" : "skip";
    const taken = this.#taken;
    if (taken === undefined || taken.name === name) return isDisk ? "take" : "maybe";
    return isDisk && this.#members.get(taken.name)?.isDisk !== true ? "take" : "skip";
  }

  #judgeNamed(name: string, size: number): Verdict {
    const wanted = cleaned(this.#options.member ?? "");
    if (name === wanted) return "take";
    if (isManifest(name)) return readManifest(size);
    const isFirst = this.#taken === undefined || this.#taken.name === name;
    return isCalled(name, wanted) && isFirst ? "maybe" : "skip";
  }

  #decide(): string {
    const names = [...this.#members.keys()];
    if (this.#ova.hasDescriptor) {
      const { href } = this.#ova.onlyDisk();
      const found = names.find((name) => this.#ova.refersTo(href, name));
      if (found !== undefined) return found;
      throw new FormatError("FORMAT_INVALID", `the OVA's disk ${quoted(href)} is not in the archive`, {
        remedy: "Get the OVA again; its descriptor names a file that is missing.",
      });
    }
    const [first, ...others] = names;
    if (first === undefined) throw new FormatError("FORMAT_INVALID", "the archive holds no regular file");
    if (others.length === 0) return first;
    const disks = names.filter((name) => this.#members.get(name)?.isDisk === true);
    if (disks.length > 1) throw ambiguous(`the archive holds ${disks.length} disks`, disks);
    const [disk] = disks;
    if (disk === undefined) throw ambiguous(`none of the ${names.length} files in the archive starts as a disk`, names);
    return disk;
  }

  #decideNamed(member: string): string {
    const wanted = cleaned(member);
    if (this.#members.has(wanted)) return wanted;
    const [first, ...others] = this.#members.keys();
    if (first === undefined) {
      const more = this.#count > this.#others.length ? " and more" : "";
      const message = `the archive holds no file ${quoted(member)}, but ${listed(this.#others) || "none"}${more}`;
      throw new FormatError("FORMAT_UNRECOGNISED", message, { context: { members: this.#others } });
    }
    if (others.length > 0)
      throw ambiguous(`${others.length + 1} files are called ${quoted(member)}`, [first, ...others]);
    return first;
  }

  #warnings(name: string, size: number, digest: ManifestDigest | undefined): Warning[] {
    const warnings: Warning[] = [];
    if (this.#ova.hasManifest && digest === undefined) {
      const message = `the OVA's manifest does not name ${quoted(name)}, so its content is not checked`;
      warnings.push({ code: "OVA_DISK_NOT_IN_MANIFEST", message });
    }
    const declared = this.#options.member === undefined ? this.#ova.onlyDisk().fileSize : undefined;
    if (declared !== undefined && declared !== size) {
      const message = `${quoted(name)} has ${size} bytes, the OVF descriptor says ${declared}`;
      warnings.push({ code: "OVA_SIZE_DIFFERS", message });
    }
    return warnings;
  }
}

/**
 * Compares the digests of the chosen member's content with the manifest's.
 * @param digests lower-case hex
 * @throws FormatError FORMAT_CORRUPT if it differs, FORMAT_UNSUPPORTED if that digest was not computed in time
 */
export function checkDigest(chosen: ChosenMember, digests: ReadonlyMap<DigestAlgorithm, string>): void {
  if (chosen.digest === undefined) return;
  const { algorithm, hex } = chosen.digest;
  const actual = digests.get(algorithm);
  if (actual === undefined) {
    const message = `the OVA's manifest comes after the disk and has a ${algorithm}, which was not computed in passing`;
    throw new FormatError("FORMAT_UNSUPPORTED", message, { remedy: "Download the OVA and convert the file." });
  }
  if (actual !== hex) throw digestDiffers(chosen.name, algorithm);
}

/** The most names that are kept for the message about a member that is not there. */
const MAX_OTHERS = 20;

function ambiguous(what: string, names: readonly string[]): FormatError {
  return new FormatError("FORMAT_UNSUPPORTED", `${what}: ${listed(names)}`, {
    remedy: NAME_IT,
    context: { members: names.slice(0, MAX_OTHERS) },
  });
}

function readManifest(size: number): Verdict {
  if (size > MAX_MANIFEST_LENGTH) throw manifestTooLong(size);
  return "read";
}

function isDescriptor(name: string): boolean {
  return /\.ovf$/i.test(name);
}

function isManifest(name: string): boolean {
  return /\.mf$/i.test(name);
}

/** True if `wanted` is the name or its last part. */
function isCalled(name: string, wanted: string): boolean {
  return name === cleaned(wanted) || name.slice(name.lastIndexOf("/") + 1) === cleaned(wanted);
}

function cleaned(name: string): string {
  return name.replace(/^(?:\.?\/)+/, "");
}
