/**
 * Collects the answer of `extents`: neighbours that may be one extent become one, and the length stays bounded.
 */
import { MAX_ANNOUNCED } from "./disk-format.ts";
import type { EncodedStored, Extent } from "./disk-format.ts";

interface Run {
  readonly kind: "hole" | "zero" | "plain";
  readonly offset: number;
  length: number;
  /** Of `plain` only. */
  readonly hostOffset: number;
}

export class ExtentList {
  readonly #done: Extent[] = [];
  #run: Run | undefined;

  /** True once nothing more may be added: the next extent could be one too many. */
  get full(): boolean {
    return this.#done.length >= MAX_ANNOUNCED - 1;
  }

  /** A range that reads as zeros; merged with the one before it if that is of the same kind. */
  blank(kind: "hole" | "zero", offset: number, length: number): void {
    if (this.#run?.kind === kind) this.#run.length += length;
    else this.#start({ kind, offset, length, hostOffset: 0 });
  }

  /** Plain bytes at `hostOffset`; merged with the extent before it if they follow it in the image file too. */
  plain(offset: number, length: number, hostOffset: number): void {
    const run = this.#run;
    if (run?.kind === "plain" && run.hostOffset + run.length === hostOffset) run.length += length;
    else this.#start({ kind: "plain", offset, length, hostOffset });
  }

  /** Encoded bytes, never merged. */
  encoded(offset: number, length: number, stored: EncodedStored): void {
    this.#start(undefined);
    this.#done.push({ kind: "data", offset, length, stored });
  }

  /** All that was added. The list must not be used afterwards. */
  finish(): readonly Extent[] {
    this.#start(undefined);
    return this.#done;
  }

  #start(next: Run | undefined): void {
    const run = this.#run;
    this.#run = next;
    if (run === undefined) return;
    const { kind, offset, length } = run;
    if (kind === "plain") this.#done.push(plainExtent(offset, length, run.hostOffset));
    else this.#done.push({ kind, offset, length });
  }
}

export function plainExtent(offset: number, length: number, hostOffset: number): Extent {
  return { kind: "data", offset, length, stored: { encoding: "plain", offset: hostOffset, length } };
}
