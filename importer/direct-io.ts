/**
 * Aligned memory for O_DIRECT, over @ronomon/direct-io.
 *
 * The package is native and optional. It is loaded when it is first asked for; without it O_DIRECT is not used and
 * everything is written through the page cache. Works from worker threads too.
 */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";

interface DirectIo {
  getAlignedBuffer(size: number, alignment: number): Buffer;
}

const PACKAGE = "@ronomon/direct-io";

let loaded: { readonly directIo: DirectIo | undefined } | undefined;

function load(): DirectIo | undefined {
  if (loaded === undefined) {
    let directIo: DirectIo | undefined;
    try {
      const require = createRequire(import.meta.url);
      const addon = path.join(path.dirname(require.resolve(PACKAGE)), "binding.node");
      if (!needsAnotherNode(addon)) directIo = require(PACKAGE) as DirectIo;
    } catch {
      directIo = undefined; // not installed, or not compiled for this machine
    }
    loaded = { directIo };
  }
  return loaded.directIo;
}

/**
 * Debian's node-gyp links an addon to Debian's own Node.js, as a library. Loaded in this one, it brings that one with it, and
 * the process ends with a segmentation fault.
 * @param addon path of a shared library
 */
export function needsAnotherNode(addon: string): boolean {
  return readFileSync(addon).includes("libnode.so");
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
