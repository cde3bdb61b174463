/**
 * A list of extents in the making: cut to a range of the disk, neighbours merged.
 *
 * Neighbours merge if they are of one kind and adjoin on the disk, and either both have a place in the host file and
 * adjoin there, or neither has one. An encoded extent stays alone. Until it ends, an extent is four numbers, not an object.
 */
import { MAX_ANNOUNCED } from "../disk-format.ts";
import type { EncodedStored, Extent } from "../disk-format.ts";
import { SUBCLUSTERS } from "./geometry.ts";
import { NOWHERE } from "./host-cluster.ts";

export interface ExtentListOptions {
  /** Virtual offsets: what lies outside [start, end) is left out. */
  readonly start: number;
  readonly end: number;
  /** False to leave holes out. */
  readonly holes: boolean;
}

export class ExtentList {
  readonly #start: number;
  readonly #end: number;
  readonly #holes: boolean;
  readonly #extents: Extent[] = [];
  #kind: Extent["kind"] = "hole";
  #offset = 0;
  #length = 0; // 0: none in the making
  #host = NOWHERE;

  constructor(options: ExtentListOptions) {
    this.#start = options.start;
    this.#end = options.end;
    this.#holes = options.holes;
  }

  /** Whether the extents of one more cluster fit in an announcement. */
  get hasRoom(): boolean {
    return this.#extents.length < MAX_ANNOUNCED - SUBCLUSTERS - 1;
  }

  get isEmpty(): boolean {
    return this.#extents.length === 0 && this.#length === 0;
  }

  /** @param host host offset of the first byte, or NOWHERE */
  add(kind: Extent["kind"], offset: number, length: number, host: number): void {
    if (kind === "hole" && !this.#holes) return;
    const from = Math.max(offset, this.#start);
    const size = Math.min(offset + length, this.#end) - from;
    if (size <= 0) return;
    const hostFrom = host === NOWHERE ? NOWHERE : host + (from - offset);
    if (this.#length > 0) {
      const hostNext = this.#host === NOWHERE ? NOWHERE : this.#host + this.#length;
      if (kind === this.#kind && from === this.#offset + this.#length && hostFrom === hostNext) {
        this.#length += size;
        return;
      }
      this.#close();
    }
    this.#kind = kind;
    this.#offset = from;
    this.#length = size;
    this.#host = hostFrom;
  }

  /** @param stored of the whole cluster, nothing skipped */
  addEncoded(offset: number, stored: EncodedStored): void {
    this.#close();
    const from = Math.max(offset, this.#start);
    const length = Math.min(offset + stored.decodedLength, this.#end) - from;
    if (length <= 0) return;
    const cut = from === offset ? stored : { ...stored, skip: from - offset };
    this.#extents.push({ kind: "data", offset: from, length, stored: cut });
  }

  /** The finished list; nothing is added after it. */
  finish(): readonly Extent[] {
    this.#close();
    return this.#extents;
  }

  #close(): void {
    const length = this.#length;
    if (length === 0) return;
    const kind = this.#kind;
    const offset = this.#offset;
    const host = this.#host;
    this.#length = 0;
    if (kind === "data")
      this.#extents.push({ kind, offset, length, stored: { encoding: "plain", offset: host, length } });
    else this.#extents.push(host === NOWHERE ? { kind, offset, length } : { kind, offset, length, hostOffset: host });
  }
}
