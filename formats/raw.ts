/**
 * Raw: the file is the disk. Everything that no other format claims is raw, an ISO image too.
 *
 * The virtual size is the file's length rounded up to a sector of 512. In a stream the end decides what it was: the last
 * 512 bytes are held back, and dropped if they are the footer of a fixed VHD.
 */
import { alignUp, MIB } from "./bytes.ts";
import type { DiskFormat, DiskImage, Extent, Need, Parsing } from "./disk-format.ts";
import { FOOTER_LENGTH, isFixedVhdFooter } from "./vpc/footer.ts";

const SECTOR = 512;

// How much of a stream is announced at once: the length of a slot of the stream's driver, so that no slot waits for two.
const STEP = MIB;

export const raw: DiskFormat = {
  name: "raw",
  probe: () => true,
  // oxlint-disable-next-line require-yield -- a raw file has no header to ask for
  *open(hostSize) {
    return new RawImage(hostSize);
  },
};

class RawImage implements DiskImage {
  /** "vpc" once the end of a stream has shown that it was a fixed VHD. */
  format: "raw" | "vpc" = "raw";
  readonly virtualSize: number | undefined;
  readonly features: readonly string[] = [];
  readonly warnings = [];
  readonly #hostSize: number | undefined;

  constructor(hostSize: number | undefined) {
    this.#hostSize = hostSize;
    this.virtualSize = hostSize === undefined ? undefined : alignUp(hostSize, SECTOR);
  }

  // oxlint-disable-next-line require-yield -- where everything lies is known
  *extents(offset: number, length: number): Parsing<readonly Extent[]> {
    const end = this.#hostSize ?? offset + length;
    const extents: Extent[] = [];
    if (offset < end) extents.push(plainExtent(offset, Math.min(length, end - offset)));
    const paddingStart = Math.max(offset, end);
    if (paddingStart < offset + length) {
      extents.push({
        kind: "zero",
        offset: paddingStart,
        length: offset + length - paddingStart,
        hostOffset: paddingStart,
      });
    }
    return extents;
  }

  *scan(): Generator<Need | readonly Extent[], { readonly virtualSize: number }, Uint8Array | undefined> {
    let announced = 0;
    for (;;) {
      // A whole footer's worth of bytes after the step proves that no footer lies in it.
      const ahead = yield { offset: announced + STEP, length: FOOTER_LENGTH, shortAtEnd: true, peek: true };
      if (ahead?.length !== FOOTER_LENGTH) break;
      yield [plainExtent(announced, STEP)];
      announced += STEP;
    }
    const rest = yield { offset: announced, length: STEP + FOOTER_LENGTH, shortAtEnd: true, peek: true };
    const size = announced + (rest?.length ?? 0);
    let end = size;
    if (size >= FOOTER_LENGTH) {
      const footer = yield { offset: size - FOOTER_LENGTH, length: FOOTER_LENGTH, peek: true };
      if (footer !== undefined && isFixedVhdFooter(footer, size - FOOTER_LENGTH)) {
        end -= FOOTER_LENGTH;
        this.format = "vpc";
      }
    }
    if (end > announced) yield [plainExtent(announced, end - announced)];
    return { virtualSize: alignUp(end, SECTOR) };
  }
}

function plainExtent(offset: number, length: number): Extent {
  return { kind: "data", offset, length, stored: { encoding: "plain", offset, length } };
}
