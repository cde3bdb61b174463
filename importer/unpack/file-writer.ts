/**
 * Writes an archive member's content into a new file as it passes; zeros are left out and become holes.
 */
import fs from "node:fs";
import type { Member } from "../../formats/archives/archive.ts";
import { MIB } from "../../formats/bytes.ts";
import { splitZeros } from "../engine/zero-search.ts";
import { truncated } from "../member-content.ts";
import type { StreamWindow } from "../stream-window.ts";
import { WRITE_BEHIND_WINDOW, WriteBehind, writeBehindSpec } from "../targets/write-behind.ts";

const PIECE_LENGTH = MIB;

export class FileWriter {
  /** Of all files. */
  bytesWritten = 0;
  /** Of the file: behind the last byte that was written. */
  #end = 0;
  readonly #window: StreamWindow;
  readonly #kernelCalls: boolean;
  readonly #piece = new Uint8Array(PIECE_LENGTH);

  constructor(window: StreamWindow, kernelCalls: boolean) {
    this.#window = window;
    this.#kernelCalls = kernelCalls;
  }

  /**
   * @param fd of a new, empty file
   * @returns bytes written
   * @throws FormatError FORMAT_CORRUPT if the archive ends before the member; what node:fs and the stream throw
   */
  async write(fd: number, member: Member): Promise<number> {
    const before = this.bytesWritten;
    this.#end = 0;
    const isLarge = member.size >= WRITE_BEHIND_WINDOW;
    const behind = isLarge ? new WriteBehind(writeBehindSpec(fd, this.#kernelCalls)) : undefined;
    for (const { offset, length, hostOffset } of member.extents) {
      await this.#window.skipTo(hostOffset);
      for (let at = 0; at < length;) {
        const bytes = await this.#read(Math.min(PIECE_LENGTH, length - at));
        if (bytes.length === 0) throw truncated(member);
        this.#writeData(fd, bytes, offset + at, behind);
        at += bytes.length;
      }
    }
    if (this.#end < member.size) fs.ftruncateSync(fd, member.size);
    return this.bytesWritten - before;
  }

  /** As many as were asked for, but at the end of the stream: a zero is seen in whole blocks only. */
  async #read(length: number): Promise<Uint8Array> {
    let count = 0;
    while (count < length) {
      const came = await this.#window.read(this.#piece.subarray(count, length));
      if (came === 0) break;
      count += came;
    }
    return this.#piece.subarray(0, count);
  }

  #writeData(fd: number, bytes: Uint8Array, offset: number, behind: WriteBehind | undefined): void {
    splitZeros(bytes, offset, (start, end, zero) => {
      if (zero) return;
      for (let at = start; at < end;) at += fs.writeSync(fd, bytes, at, end - at, offset + at);
      this.bytesWritten += end - start;
      this.#end = offset + end;
      behind?.wrote(end - start);
    });
  }
}
