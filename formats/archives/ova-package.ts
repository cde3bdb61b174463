/**
 * What the descriptor and the manifest of an OVA say together: which member is the disk, and what its digest must be.
 *
 * Both may come by in any order, before or after the disk. References are relative to the descriptor's folder in the
 * archive, and may be percent-encoded. A manifest counts only beside a descriptor, so that another program's `.mf` in a
 * plain tar is no error.
 */
import { FormatError } from "../errors.ts";
import { parseManifest } from "./manifest.ts";
import type { DigestAlgorithm, ManifestDigest } from "./manifest.ts";
import { parseOvf } from "./ova.ts";
import type { OvfDisk } from "./ova.ts";
import { listed, quoted } from "./shown-names.ts";

/** The digest of bytes in lower-case hex: formats/ does not compute it, as it imports zlib and nothing else of Node. */
export type HashBytes = (algorithm: DigestAlgorithm, bytes: Uint8Array) => string;

const NAME_IT = "Name the one to take with --member NAME.";

/** Manifests that are kept until the descriptor tells which one counts; 1 MiB each. */
const MAX_MANIFESTS = 4;

export class OvaPackage {
  #descriptor: { readonly name: string; readonly bytes: Uint8Array; readonly disks: readonly OvfDisk[] } | undefined;
  readonly #manifests = new Map<string, Uint8Array>();

  get hasDescriptor(): boolean {
    return this.#descriptor !== undefined;
  }

  /** @throws FormatError as `parseOvf`, FORMAT_UNSUPPORTED for a second descriptor */
  addDescriptor(name: string, bytes: Uint8Array): void {
    if (this.#descriptor !== undefined && this.#descriptor.name !== name) {
      const names = listed([this.#descriptor.name, name]);
      throw new FormatError("FORMAT_UNSUPPORTED", `the archive has two OVF descriptors: ${names}`, { remedy: NAME_IT });
    }
    this.#descriptor = { name, bytes: Uint8Array.from(bytes), disks: parseOvf(bytes) };
  }

  addManifest(name: string, bytes: Uint8Array): void {
    if (this.#manifests.size < MAX_MANIFESTS) this.#manifests.set(name, Uint8Array.from(bytes));
  }

  /**
   * The one disk that has a file. Only with a descriptor.
   * @throws FormatError FORMAT_UNSUPPORTED if there are several or none, or if it cannot be read on its own
   */
  onlyDisk(): OvfDisk & { readonly href: string } {
    const disks = (this.#descriptor?.disks ?? []).filter(hasFile);
    const [disk, ...others] = disks;
    if (disk === undefined) {
      throw new FormatError("FORMAT_UNSUPPORTED", "the OVF descriptor has no disk with a file", { remedy: NAME_IT });
    }
    if (others.some((other) => other.href !== disk.href)) {
      const names = [...new Set(disks.map((each) => each.href))];
      throw new FormatError("FORMAT_UNSUPPORTED", `the OVA has ${names.length} disks: ${listed(names)}`, {
        remedy: NAME_IT,
        context: { members: names.slice(0, 20) },
      });
    }
    if (disk.chunkSize !== undefined) {
      const message = `the OVA's disk ${quoted(disk.href)} is stored in pieces of ${disk.chunkSize} bytes (ovf:chunkSize)`;
      throw new FormatError("FORMAT_UNSUPPORTED", message, { remedy: "Unpack the OVA and join the pieces first." });
    }
    if (disk.parent !== undefined) {
      const message = `the OVA's disk ${quoted(disk.href)} holds only the differences from ${quoted(disk.parent)}`;
      throw new FormatError("FORMAT_UNSUPPORTED", message, { remedy: "Export the virtual machine without snapshots." });
    }
    return disk;
  }

  /** True if the descriptor's `href` means the member `name`. */
  refersTo(href: string, name: string): boolean {
    const folder = folderOf(this.#descriptor?.name ?? "");
    return [href, decoded(href)].some((path) => folder + path.replace(/^(?:\.\/)+/, "") === name);
  }

  /** True if a manifest that counts, or one that may count once the descriptor is there, has come by. */
  get hasManifest(): boolean {
    return this.#manifestBytes() !== undefined;
  }

  /**
   * What the manifest says of a member; undefined if it does not name it, or there is none that counts.
   * @throws FormatError as `parseManifest`
   */
  digestOf(name: string): ManifestDigest | undefined {
    const manifest = this.#manifestBytes();
    if (manifest === undefined) return undefined;
    const digests = parseManifest(manifest.bytes);
    const folder = folderOf(manifest.name);
    return digests.get(name) ?? (name.startsWith(folder) ? digests.get(name.slice(folder.length)) : undefined);
  }

  /** @throws FormatError FORMAT_CORRUPT if the descriptor's digest is not the manifest's */
  checkDescriptor(hash: HashBytes): void {
    if (this.#descriptor === undefined) return;
    const { name, bytes } = this.#descriptor;
    const digest = this.digestOf(name);
    if (digest !== undefined && hash(digest.algorithm, bytes) !== digest.hex)
      throw digestDiffers(name, digest.algorithm);
  }

  /** The only one, or the one that is named like the descriptor. */
  #manifestBytes(): { readonly name: string; readonly bytes: Uint8Array } | undefined {
    const [first, ...others] = [...this.#manifests].map(([name, bytes]) => ({ name, bytes }));
    if (first === undefined || others.length === 0) return first;
    const stem = this.#descriptor?.name.replace(/\.ovf$/i, "");
    return [first, ...others].find(({ name }) => name.replace(/\.mf$/i, "") === stem);
  }
}

export function digestDiffers(name: string, algorithm: DigestAlgorithm): FormatError {
  return new FormatError("FORMAT_CORRUPT", `the ${algorithm} of ${quoted(name)} is not the one in the OVA's manifest`, {
    remedy: "Get the OVA again; it was changed or damaged after its export.",
  });
}

function hasFile(disk: OvfDisk): disk is OvfDisk & { readonly href: string } {
  return disk.href !== undefined;
}

function folderOf(name: string): string {
  return name.slice(0, name.lastIndexOf("/") + 1);
}

/** Percent-decoded; as it is where it is not percent-encoded. */
function decoded(href: string): string {
  try {
    return decodeURIComponent(href);
  } catch {
    return href;
  }
}
