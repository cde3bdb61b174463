/** What `decant doctor` says about decoders: which libraries are in use, and what installing the others would bring. */
import { ISAL_SONAMES, openIsalInflater } from "./isal.ts";
import { LIBDEFLATE_SONAMES, openLibdeflate } from "./libdeflate.ts";
import { openLiblzma } from "./liblzma.ts";
import { openLibzstd } from "./libzstd.ts";

export interface DecoderEntry {
  /** What it decodes. */
  readonly job: string;
  /** The Debian package. */
  readonly library: string;
  /** Undefined where the library, or koffi, is not there. Its soname where the library does not tell its version. */
  readonly version: string | undefined;
  /** What is used without it. */
  readonly fallback: string;
  /** What it brings over the fallback. */
  readonly gain: string;
}

/** Opens each library once. The gains are the CPU times that the bindings and the block decoder state. */
export function listDecoders(): readonly DecoderEntry[] {
  return [
    {
      job: "gzip streams",
      library: "libisal2",
      version: versionOf(openIsalInflater(), () => ISAL_SONAMES[0]),
      fallback: "node:zlib",
      gain: "2.3 times as fast",
    },
    {
      job: "deflate clusters of qcow2 and vmdk",
      library: "libdeflate0",
      version: versionOf(openLibdeflate(), () => LIBDEFLATE_SONAMES[0]),
      fallback: "node:zlib",
      gain: "twice as fast",
    },
    {
      job: "zstd streams, and zstd clusters of qcow2",
      library: "libzstd1",
      version: versionOf(openLibzstd(), (libzstd) => libzstd.version),
      fallback: "node:zlib",
      gain: "1.8 times as fast",
    },
    {
      job: "xz streams",
      library: "liblzma5",
      version: versionOf(openLiblzma(), (liblzma) => liblzma.version),
      fallback: "xz-decompress (WebAssembly)",
      gain: "1.5 times as fast, more with several blocks; SHA-256, BCJ and delta filters, dictionaries above 64 MiB",
    },
  ];
}

/** Opens a library, asks it who it is, and frees what was opened. */
function versionOf<T extends object>(opened: T | undefined, version: (opened: T) => string): string | undefined {
  if (opened === undefined) return undefined;
  const answer = version(opened);
  if ("close" in opened && typeof opened.close === "function") opened.close();
  return answer;
}
