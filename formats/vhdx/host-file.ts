/**
 * Reads structures of the image file as they are after the log's replay.
 */
import { hex } from "../bytes.ts";
import { MAX_NEED_LENGTH } from "../disk-format.ts";
import type { Parsing } from "../disk-format.ts";
import { FormatError } from "../errors.ts";
import type { LogOverlay } from "./overlay.ts";

export class HostFile {
  /** Length of the stored file; undefined if it is not known. */
  readonly storedSize: number | undefined;
  /** Length after replay, which may be more; undefined if it is not known. */
  readonly size: number | undefined;
  /** Undefined if there was no log to replay. */
  readonly overlay: LogOverlay | undefined;

  constructor(storedSize: number | undefined, overlay: LogOverlay | undefined) {
    this.storedSize = storedSize;
    this.overlay = overlay;
    this.size = storedSize === undefined ? undefined : Math.max(storedSize, overlay?.fileSize ?? 0);
  }

  /**
   * Reads `length` bytes, which the caller has bounded; the result belongs to the caller.
   * @throws FormatError FORMAT_INVALID past the end of the file
   */
  *read(offset: number, length: number): Parsing<Uint8Array> {
    const end = offset + length;
    if (this.size !== undefined && end > this.size) {
      throw new FormatError(
        "FORMAT_INVALID",
        `the file ends at ${hex(this.size)}, inside a structure of ${length} bytes at ${hex(offset)}`,
      );
    }
    const bytes = new Uint8Array(length);
    const storedEnd = Math.min(end, this.storedSize ?? end);
    const mayEnd = this.storedSize === undefined && end <= (this.overlay?.fileSize ?? 0);
    for (let at = offset; at < storedEnd;) {
      const asked = Math.min(MAX_NEED_LENGTH, storedEnd - at);
      bytes.set(
        yield mayEnd ? { offset: at, length: asked, shortAtEnd: true } : { offset: at, length: asked },
        at - offset,
      );
      at += asked;
    }
    this.overlay?.patch(bytes, offset);
    return bytes;
  }
}
