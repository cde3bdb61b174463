/**
 * Errors of moving bytes: where they come from, where they go, and how that was asked for.
 *
 * The same shape as FormatError: match on `code`, never on the text. The message is one sentence that names the thing and
 * the value and does not repeat the cause; `remedy` is a second sentence that says what a person can do about it. A broken
 * invariant of our own is a plain `Error`, never one of these. No message carries credentials or a query string.
 */
import type { ErrorDetails, ErrorContext } from "../formats/errors.ts";

/**
 * - `SOURCE_NOT_FOUND`: no such file, object, image or key
 * - `SOURCE_DENIED`: credentials are missing, wrong or not enough
 * - `SOURCE_TLS`: the certificate or the handshake was refused
 * - `SOURCE_CHANGED`: the validator differs on a resume, or between two ranges
 * - `SOURCE_TRUNCATED`: fewer bytes came than were promised
 * - `SOURCE_UNAVAILABLE`: cannot be reached, stalls, or answers with a failure of its own
 * - `SOURCE_CHECKSUM`: all bytes came and their digest is not the one asked for
 */
export type SourceErrorCode =
  | "SOURCE_NOT_FOUND"
  | "SOURCE_DENIED"
  | "SOURCE_TLS"
  | "SOURCE_CHANGED"
  | "SOURCE_TRUNCATED"
  | "SOURCE_UNAVAILABLE"
  | "SOURCE_CHECKSUM";

/**
 * - `TARGET_TOO_SMALL`: it can never hold the disk (a device's capacity, a filesystem's largest file)
 * - `TARGET_NO_SPACE`: the filesystem, the quota or the thin pool has no room now
 * - `TARGET_DENIED`: no permission, or read-only
 * - `TARGET_BUSY`: mounted, or in use by another process
 * - `TARGET_IO`: the kernel refused or lost a read or a write
 */
export type TargetErrorCode = "TARGET_TOO_SMALL" | "TARGET_NO_SPACE" | "TARGET_DENIED" | "TARGET_BUSY" | "TARGET_IO";

export class SourceError extends Error {
  readonly code: SourceErrorCode;
  readonly remedy: string | undefined;
  readonly context: ErrorContext;

  constructor(code: SourceErrorCode, message: string, details: ErrorDetails = {}) {
    super(message, causeOf(details));
    this.name = "SourceError";
    this.code = code;
    this.remedy = details.remedy;
    this.context = details.context ?? {};
  }
}

export class TargetError extends Error {
  readonly code: TargetErrorCode;
  readonly remedy: string | undefined;
  readonly context: ErrorContext;

  constructor(code: TargetErrorCode, message: string, details: ErrorDetails = {}) {
    super(message, causeOf(details));
    this.name = "TargetError";
    this.code = code;
    this.remedy = details.remedy;
    this.context = details.context ?? {};
  }
}

/** What was asked for cannot be meant: a wrong flag, a missing variable, a target that exists, a source that is the target. */
export class UsageError extends Error {
  readonly code = "USAGE";
  readonly remedy: string | undefined;
  readonly context: ErrorContext;

  constructor(message: string, details: ErrorDetails = {}) {
    super(message, causeOf(details));
    this.name = "UsageError";
    this.remedy = details.remedy;
    this.context = details.context ?? {};
  }
}

/** A signal asked to stop; what was half done has been cleaned up. */
export class Interrupted extends Error {
  readonly code = "INTERRUPTED";
  readonly remedy: string | undefined = undefined;
  readonly context: ErrorContext;

  constructor(message = "interrupted", details: ErrorDetails = {}) {
    super(message, causeOf(details));
    this.name = "Interrupted";
    this.context = details.context ?? {};
  }
}

function causeOf(details: ErrorDetails): ErrorOptions | undefined {
  return details.cause === undefined ? undefined : { cause: details.cause };
}

/** What was caught, where somebody may have thrown anything. */
export function asError(caught: unknown): Error {
  return caught instanceof Error ? caught : new Error(String(caught));
}

/** The kernel's name of what went wrong, `ENOSPC` for instance; undefined for anything that is no system error. */
export function errnoName(error: unknown): string | undefined {
  if (!(error instanceof Error) || !("code" in error) || typeof error.code !== "string") return undefined;
  return /^E[A-Z0-9]+$/.test(error.code) ? error.code : undefined;
}

interface Translation {
  readonly code: TargetErrorCode;
  readonly because: string;
  readonly remedy: string;
}

const NO_SPACE = "Free space, or choose a target on a larger filesystem.";
const PERMISSION = "Run as a user who may write there, or have its owner or group changed.";

const TRANSLATIONS: Readonly<Record<string, Translation>> = {
  ENOSPC: { code: "TARGET_NO_SPACE", because: "no space is left", remedy: NO_SPACE },
  EDQUOT: { code: "TARGET_NO_SPACE", because: "the quota is used up", remedy: NO_SPACE },
  EFBIG: {
    code: "TARGET_TOO_SMALL",
    because: "that is more than the largest file of its filesystem",
    remedy:
      "Choose a filesystem with larger files (XFS), or a block device; ext4 with 4 KiB blocks holds files below 16 TiB.",
  },
  EACCES: { code: "TARGET_DENIED", because: "permission is denied", remedy: PERMISSION },
  EPERM: { code: "TARGET_DENIED", because: "the operation is not permitted", remedy: PERMISSION },
  EROFS: { code: "TARGET_DENIED", because: "it is read-only", remedy: "Mount or attach it writable." },
  EBUSY: {
    code: "TARGET_BUSY",
    because: "it is in use",
    remedy: "Unmount it, and stop what holds it (lsblk and fuser show what).",
  },
};

/**
 * A TargetError for what `fs` or the kernel threw; one that already is of our families comes back as it is.
 * @param doing what was tried, to follow "cannot": `write at 1048576`, `create`
 * @param path  safe to show
 */
export function toTargetError(error: unknown, doing: string, path: string): TargetError {
  if (error instanceof TargetError) return error;
  const errno = errnoName(error);
  const context = { path, errno };
  const known = errno === undefined ? undefined : TRANSLATIONS[errno];
  if (known === undefined) {
    return new TargetError("TARGET_IO", `cannot ${doing} ${path}${errno === undefined ? "" : ` (${errno})`}`, {
      context,
      cause: error,
    });
  }
  return new TargetError(known.code, `cannot ${doing} ${path}: ${known.because}`, {
    remedy: known.remedy,
    context,
    cause: error,
  });
}
