/**
 * Sizes of structures as people read them.
 */
import { GIB, KIB, MIB } from "./bytes.ts";

/** `64 KiB`, `1 MiB`, `700 bytes`: in the largest unit, up to GiB, of which it is a whole number. */
export function sizeText(bytes: number): string {
  for (const [unit, name] of [
    [GIB, "GiB"],
    [MIB, "MiB"],
    [KIB, "KiB"],
  ] as const) {
    if (bytes >= unit && bytes % unit === 0) return `${bytes / unit} ${name}`;
  }
  return `${bytes} bytes`;
}
