/**
 * Errors about the bytes of an image: its disk format, its wrappers, its archive.
 *
 * Match on `code`, never on the text. The message is one sentence that names the thing and the value and does not repeat
 * the cause; `remedy` is a second sentence that says what a person can do about it. A broken invariant of our own is a
 * plain `Error`, never one of these.
 */

/**
 * - `FORMAT_UNRECOGNISED`: the bytes are not what they were said to be
 * - `FORMAT_INVALID`: a structure is wrong (bad magic inside, impossible field, truncated)
 * - `FORMAT_UNSUPPORTED`: valid, but refused or not implemented; always named
 * - `FORMAT_CORRUPT`: a checksum differs, a pointer dangles, compressed data does not decode
 * - `FORMAT_OUT_OF_BOUNDS`: a size, count or offset is beyond a named limit
 */
export type FormatErrorCode =
  | "FORMAT_UNRECOGNISED"
  | "FORMAT_INVALID"
  | "FORMAT_UNSUPPORTED"
  | "FORMAT_CORRUPT"
  | "FORMAT_OUT_OF_BOUNDS";

/** Values beside the sentence: format, offsets, limits. Never bytes of the image, never a URL. */
export type ErrorContext = Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>;

export interface ErrorDetails {
  readonly remedy?: string;
  readonly context?: ErrorContext;
  readonly cause?: unknown;
}

export class FormatError extends Error {
  readonly code: FormatErrorCode;
  readonly remedy: string | undefined;
  readonly context: ErrorContext;

  constructor(code: FormatErrorCode, message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = "FormatError";
    this.code = code;
    this.remedy = details.remedy;
    this.context = details.context ?? {};
  }
}
