/**
 * Aligned memory for O_DIRECT, over @ronomon/direct-io.
 *
 * The package is native and optional. It is loaded when it is first asked for; without it O_DIRECT is not used and
 * everything is written through the page cache. Works from worker threads too.
 */
import { createRequire } from "node:module";

interface DirectIo {
  getAlignedBuffer(size: number, alignment: number): Buffer;
}

let loaded: { readonly directIo: DirectIo | undefined } | undefined;

function load(): DirectIo | undefined {
  if (loaded === undefined) {
    let directIo: DirectIo | undefined;
    try {
      directIo = createRequire(import.meta.url)("@ronomon/direct-io") as DirectIo;
    } catch {
      directIo = undefined; // not installed, or not compiled for this machine
    }
    loaded = { directIo };
  }
  return loaded.directIo;
}

/** True if memory can be aligned, so that O_DIRECT can be used at all. */
export function canAlignBuffers(): boolean {
  return load() !== undefined;
}

/**
 * Zeroed memory at an address that is a multiple of `alignment`.
 * @param length    a multiple of `alignment`, or of a device's sector
 * @param alignment a power of two
 */
export function alignedBuffer(length: number, alignment: number): Buffer {
  const directIo = load();
  if (directIo === undefined) throw new Error("alignedBuffer without canAlignBuffers");
  return directIo.getAlignedBuffer(length, alignment);
}
