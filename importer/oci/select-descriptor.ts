/**
 * How one of several manifests or blobs is named: by its digest, by its title, by the value of any annotation.
 */
import type { Descriptor } from "./manifest.ts";

/** Name of the file that a blob was, by the OCI image specification's "Annotations". */
export const TITLE = "org.opencontainers.image.title";

export function isSelected(descriptor: Descriptor, selector: string): boolean {
  const { digest, annotations } = descriptor;
  return digest.text === selector || digest.hex === selector || Object.values(annotations).includes(selector);
}

/** To show: the title, else the digest. */
export function nameOf(descriptor: Descriptor): string {
  return descriptor.annotations[TITLE] ?? descriptor.digest.text;
}
