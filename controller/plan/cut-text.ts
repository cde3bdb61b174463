/**
 * Texts of strangers - workers, provisioners, schedulers - in fields with a limit. A sentence that is too long loses its end,
 * never half a character, and shows that it did.
 */

const ELLIPSIS = "…";

/** @param maxLength in bytes of UTF-8 */
export function cutText(text: string, maxLength: number): string {
  // No UTF-16 unit takes less than a byte.
  if (text.length <= maxLength && Buffer.byteLength(text) <= maxLength) return text;
  const bytes = Buffer.from(text.slice(0, maxLength));
  let end = Math.max(0, maxLength - Buffer.byteLength(ELLIPSIS));
  // A byte 10xxxxxx continues a character.
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end--;
  return bytes.toString("utf8", 0, end) + ELLIPSIS;
}
