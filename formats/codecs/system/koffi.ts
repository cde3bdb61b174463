/**
 * Opens shared libraries of the system, if koffi is installed and they are on the machine.
 *
 * Nothing is opened before it is asked for, and nothing here fails: what cannot be had is undefined, and the portable
 * decoder does the job.
 */
import { createRequire } from "node:module";
import type { LibraryHandle } from "koffi";

type Koffi = typeof import("koffi");

export interface SystemLibrary {
  /** The name that it was found under. */
  readonly soname: string;
  readonly handle: LibraryHandle;
  /** The address of a buffer's first byte. It stays while the buffer is referenced: V8 does not move array buffers. */
  address(bytes: Uint8Array): bigint;
}

/** @returns the first of `sonames` that opens */
export function openLibrary(sonames: readonly string[]): SystemLibrary | undefined {
  const koffi = loadKoffi();
  if (koffi === undefined) return undefined;
  for (const soname of sonames) {
    try {
      return { soname, handle: koffi.load(soname), address: (bytes) => koffi.address(bytes) };
    } catch {
      // not on this machine, or not for its architecture
    }
  }
  return undefined;
}

/** Calls `bind` and answers undefined where the library is older than what it binds. */
export function bindOr<T>(bind: () => T): T | undefined {
  try {
    return bind();
  } catch {
    return undefined;
  }
}

function loadKoffi(): Koffi | undefined {
  try {
    return createRequire(import.meta.url)("koffi") as Koffi;
  } catch {
    return undefined; // an optional dependency: left out, or built for another machine
  }
}
