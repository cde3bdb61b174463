/**
 * Texts of strangers - workers, provisioners, schedulers - in fields with a limit. A sentence that is too long loses its end,
 * never half a character, and shows that it did.
 */
import { cutBytes, ELLIPSIS } from "../../importer/termination.ts";

/** @param maxLength in bytes of UTF-8 */
export function cutText(text: string, maxLength: number): string {
  // No UTF-16 unit takes less than a byte.
  if (text.length <= maxLength && Buffer.byteLength(text) <= maxLength) return text;
  return cutBytes(Buffer.from(text.slice(0, maxLength)), Math.max(0, maxLength - Buffer.byteLength(ELLIPSIS)));
}
