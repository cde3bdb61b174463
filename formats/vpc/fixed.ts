/**
 * A fixed VHD: the disk as it is, and a footer after it.
 */
import { hex } from "../bytes.ts";
import type { DiskImage, Extent, Need, Parsing } from "../disk-format.ts";
import { FormatError } from "../errors.ts";
import { plainExtent } from "../extent-list.ts";
import { FOOTER_LENGTH } from "./footer.ts";
import type { VhdFooter } from "./footer.ts";

export class FixedImage implements DiskImage {
  readonly format = "vpc";
  /** What lies before the footer, whoever made the image: the same that a stream of it gives. */
  readonly virtualSize: number;
  readonly features: readonly string[];
  readonly warnings = [];

  /** @throws FormatError FORMAT_INVALID unless the footer speaks of exactly the bytes before it */
  constructor(footer: VhdFooter, hostSize: number) {
    const before = hostSize - FOOTER_LENGTH;
    if (footer.currentSize !== before) {
      throw new FormatError(
        "FORMAT_INVALID",
        `the footer of a fixed VHD says ${footer.currentSize} bytes (${hex(footer.currentSize)}), but ${before} lie before it`,
        { remedy: "If the file is not cut short, and those last 512 bytes belong to the disk, convert it as raw." },
      );
    }
    this.virtualSize = before;
    this.features = ["fixed", `creator ${printable(footer.creatorApplication)}`];
  }

  // oxlint-disable-next-line require-yield -- where everything lies is known
  *extents(offset: number, length: number): Parsing<readonly Extent[]> {
    return [plainExtent(offset, length, offset)];
  }

  *scan(): Generator<Need | readonly Extent[], { readonly virtualSize: number }, Uint8Array | undefined> {
    if (this.virtualSize > 0) yield [plainExtent(0, this.virtualSize, 0)];
    return { virtualSize: this.virtualSize };
  }
}

/** A creator's four bytes as `inspect` shows them. */
export function printable(creatorApplication: string): string {
  return creatorApplication.replace(/[\0 ]+$/, "").replace(/[^\x21-\x7e]/g, "?") || "unknown";
}
