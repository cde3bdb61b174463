/**
 * Decimal numbers as pax headers and sparse maps write them: ASCII digits and nothing else.
 */
import { FormatError } from "../../errors.ts";

/** 2^53 - 1 has 16 digits. */
const MAX_DIGITS = 16;

/**
 * @param digits the whole number, without a terminator
 * @param what names it in messages
 * @throws FormatError FORMAT_CORRUPT if it is not a number, FORMAT_OUT_OF_BOUNDS above 2^53 - 1
 */
export function parseDecimal(digits: Uint8Array, what: string): number {
  let value = 0;
  let significant = 0;
  if (digits.length === 0) throw notANumber(what);
  for (const byte of digits) {
    if (byte < 0x30 || byte > 0x39) throw notANumber(what);
    if (significant > 0 || byte !== 0x30) significant++;
    if (significant <= MAX_DIGITS) value = value * 10 + (byte - 0x30);
  }
  if (significant > MAX_DIGITS || !Number.isSafeInteger(value)) {
    throw new FormatError("FORMAT_OUT_OF_BOUNDS", `${what} is above the limit of 2^53 - 1`);
  }
  return value;
}

/** The same for a value that was kept as text. */
export function parseDecimalText(text: string, what: string): number {
  return parseDecimal(new TextEncoder().encode(text), what);
}

function notANumber(what: string): FormatError {
  return new FormatError("FORMAT_CORRUPT", `${what} is not a decimal number`);
}
