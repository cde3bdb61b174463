/**
 * Names as text, and back to the same bytes.
 *
 * They are UTF-8 by convention only. Each byte that is not part of it becomes a lone low surrogate, U+DC80 to U+DCFF: two
 * names that differ in such bytes stay different, and a file can be made under the very name that was packed.
 */

/** What stands for a byte is this and the byte, which is 0x80 at least. */
const LONE = 0xdc00;
const LONE_SURROGATE = /[\udc80-\udcff]/u;

const utf8 = new TextDecoder("utf-8", { ignoreBOM: true });

export function decodeText(bytes: Uint8Array): string {
  const text = utf8.decode(bytes);
  return text.includes("\ufffd") ? decodeBytewise(bytes) : text;
}

/** The bytes that `decodeText` was given. */
export function encodeText(text: string): Uint8Array {
  if (!LONE_SURROGATE.test(text)) return Buffer.from(text);
  const parts = Array.from(text, (character) => {
    return LONE_SURROGATE.test(character) ? Buffer.of(character.charCodeAt(0) - LONE) : Buffer.from(character);
  });
  return Buffer.concat(parts);
}

function decodeBytewise(bytes: Uint8Array): string {
  const parts: string[] = [];
  for (let at = 0; at < bytes.length;) {
    const length = sequenceLength(bytes, at);
    if (length === 0) parts.push(String.fromCharCode(LONE + (bytes[at] ?? 0)));
    else parts.push(utf8.decode(bytes.subarray(at, at + length)));
    at += Math.max(1, length);
  }
  return parts.join("");
}

/** Bytes of the well-formed sequence that starts at `at` (Unicode 15, table 3-7); 0: none does. */
function sequenceLength(bytes: Uint8Array, at: number): number {
  const first = bytes[at] ?? 0;
  if (first < 0x80) return 1;
  const length = first >= 0xc2 && first <= 0xdf ? 2 : first >> 4 === 0xe ? 3 : first >= 0xf0 && first <= 0xf4 ? 4 : 0;
  const lowest = first === 0xe0 ? 0xa0 : first === 0xf0 ? 0x90 : 0x80;
  const highest = first === 0xed ? 0x9f : first === 0xf4 ? 0x8f : 0xbf;
  const second = bytes[at + 1] ?? 0;
  if (length === 0 || second < lowest || second > highest) return 0;
  for (let next = at + 2; next < at + length; next++) if ((bytes[next] ?? 0) >> 6 !== 0b10) return 0;
  return length;
}
