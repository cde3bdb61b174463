/**
 * GUIDs in their binary form: the first three fields are little-endian ([MS-DTYP] 2.3.4.2).
 */
import { viewOf } from "../bytes.ts";

/** The length of a GUID in a file. */
export const GUID_LENGTH = 16;

/** A GUID as text, upper case and without braces: `2DC27766-F623-4200-9D64-115E9BFD4A08`. */
export function guidAt(bytes: Uint8Array, at: number): string {
  const view = viewOf(bytes);
  const tail = Array.from(bytes.subarray(at + 8, at + GUID_LENGTH), (b) => digits(b, 2)).join("");
  const fields = [digits(view.getUint32(at, true), 8), digits(view.getUint16(at + 4, true), 4)];
  return [...fields, digits(view.getUint16(at + 6, true), 4), tail.slice(0, 4), tail.slice(4)].join("-");
}

function digits(value: number, width: number): string {
  return value.toString(16).toUpperCase().padStart(width, "0");
}

/** True if both places hold the same GUID. */
export function sameGuid(a: Uint8Array, aAt: number, b: Uint8Array, bAt: number): boolean {
  for (let i = 0; i < GUID_LENGTH; i++) if (a[aAt + i] !== b[bAt + i]) return false;
  return true;
}

/** True for the GUID of all zeros. */
export function isNilGuid(bytes: Uint8Array, at: number): boolean {
  for (let i = 0; i < GUID_LENGTH; i++) if (bytes[at + i] !== 0) return false;
  return true;
}
