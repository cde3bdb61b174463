/**
 * The content of an archive member, read from a stream in passing; what its extents leave out comes as zeros.
 */
import type { Member } from "../formats/archives/archive.ts";
import { FormatError } from "../formats/errors.ts";
import type { StreamWindow } from "./stream-window.ts";

export class MemberContent {
  readonly #member: Member;
  readonly #window: StreamWindow;
  #position = 0;
  #extent = 0;

  /** @param window of the archive; not yet behind the member's first byte */
  constructor(member: Member, window: StreamWindow) {
    this.#member = member;
    this.#window = window;
  }

  /**
   * The next bytes; 0 at the member's end.
   * @throws FormatError FORMAT_CORRUPT if the archive ends before
   */
  async read(into: Uint8Array): Promise<number> {
    const count = await this.#read(into);
    this.#position += count;
    return count;
  }

  async #read(into: Uint8Array): Promise<number> {
    const { size, extents } = this.#member;
    const left = size - this.#position;
    if (left === 0 || into.length === 0) return 0;
    let extent = extents[this.#extent];
    if (extent !== undefined && extent.offset + extent.length <= this.#position) {
      this.#extent += 1;
      extent = extents[this.#extent];
    }
    if (extent === undefined || extent.offset > this.#position) {
      const zeros = Math.min(into.length, left, (extent?.offset ?? Infinity) - this.#position);
      into.fill(0, 0, zeros);
      return zeros;
    }
    const within = this.#position - extent.offset;
    await this.#window.skipTo(extent.hostOffset + within);
    const count = await this.#window.read(into.subarray(0, Math.min(into.length, extent.length - within)));
    if (count === 0) throw truncated(this.#member);
    return count;
  }
}

export function truncated(member: Member): FormatError {
  return new FormatError("FORMAT_CORRUPT", `the archive ends inside its member "${member.name.slice(0, 200)}"`, {
    remedy: "It is probably truncated; fetch it again.",
  });
}
