/**
 * Whole deflate blocks through libdeflate, for clusters and grains.
 * @see libdeflate.h
 */
import { bindOr, openLibrary } from "./koffi.ts";

export const LIBDEFLATE_SONAMES = ["libdeflate.so.0"] as const;

const LIBDEFLATE_SUCCESS = 0;

type Decompress = (
  context: bigint,
  input: Uint8Array,
  inputLength: number,
  output: Uint8Array,
  outputLength: number,
  actualLength: Uint8Array | null,
) => number;

export interface Libdeflate {
  /**
   * Decodes raw deflate; bytes behind its end are not looked at.
   * @returns true if it gave exactly output.length bytes; anything else is up to a decoder that says what is wrong
   */
  inflateRaw(input: Uint8Array, output: Uint8Array): boolean;
  /**
   * Decodes zlib, with its checksum verified; bytes behind its end are not looked at.
   * @returns how many bytes it gave, or undefined if it does not decode or does not fit
   */
  inflateZlib(input: Uint8Array, output: Uint8Array): number | undefined;
  close(): void;
}

/** Undefined where the library or koffi is not installed. */
export function openLibdeflate(): Libdeflate | undefined {
  const library = openLibrary(LIBDEFLATE_SONAMES);
  if (library === undefined) return undefined;
  const { handle } = library;
  const decompress = ["void *", "void *", "size_t", "void *", "size_t", "void *"];
  const functions = bindOr(() => ({
    create: handle.func("libdeflate_alloc_decompressor", "void *", []) as () => bigint | null,
    free: handle.func("libdeflate_free_decompressor", "void", ["void *"]) as (context: bigint) => void,
    inflateRaw: handle.func("libdeflate_deflate_decompress", "int", decompress) as Decompress,
    inflateZlib: handle.func("libdeflate_zlib_decompress", "int", decompress) as Decompress,
  }));
  const created = functions?.create();
  if (functions === undefined || created === undefined || created === null) return undefined;
  let context: bigint | undefined = created;
  const actual = new Uint8Array(new ArrayBuffer(8)); // a size_t
  const actualView = new DataView(actual.buffer);
  const use = (): bigint => {
    if (context === undefined) throw new Error("a libdeflate decompressor was used after it was freed");
    return context;
  };
  return {
    inflateRaw: (input, output) =>
      // Without a place for the actual length, a shorter output is not a success.
      functions.inflateRaw(use(), input, input.length, output, output.length, null) === LIBDEFLATE_SUCCESS,
    inflateZlib(input, output) {
      const status = functions.inflateZlib(use(), input, input.length, output, output.length, actual);
      return status === LIBDEFLATE_SUCCESS ? Number(actualView.getBigUint64(0, true)) : undefined;
    },
    close() {
      if (context !== undefined) functions.free(context);
      context = undefined;
    },
  };
}
