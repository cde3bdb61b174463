/**
 * How a run ended, as the outside sees it: the one table from error codes to exit status, and whether trying again can help.
 */
import { FormatError } from "../formats/errors.ts";
import type { FormatErrorCode } from "../formats/errors.ts";
import { errnoName, Interrupted, SourceError, TargetError, UsageError } from "./errors.ts";
import type { SourceErrorCode, TargetErrorCode } from "./errors.ts";

export type ErrorCode = FormatErrorCode | SourceErrorCode | TargetErrorCode | "USAGE" | "INTERRUPTED" | "INTERNAL";

export interface Consequence {
  /** Exit status of the command line. */
  readonly exit: number;
  /** `transient`: the same run may succeed later without anybody changing it. */
  readonly retry: "transient" | "terminal";
}

export const EXIT_OK = 0;

export const consequences: Readonly<Record<ErrorCode, Consequence>> = {
  USAGE: { exit: 2, retry: "terminal" },
  FORMAT_UNRECOGNISED: { exit: 3, retry: "terminal" },
  FORMAT_INVALID: { exit: 3, retry: "terminal" },
  FORMAT_UNSUPPORTED: { exit: 3, retry: "terminal" },
  FORMAT_CORRUPT: { exit: 3, retry: "terminal" },
  FORMAT_OUT_OF_BOUNDS: { exit: 3, retry: "terminal" },
  TARGET_TOO_SMALL: { exit: 4, retry: "terminal" },
  TARGET_NO_SPACE: { exit: 4, retry: "transient" },
  TARGET_DENIED: { exit: 1, retry: "transient" },
  TARGET_BUSY: { exit: 1, retry: "transient" },
  TARGET_IO: { exit: 1, retry: "transient" },
  SOURCE_NOT_FOUND: { exit: 5, retry: "transient" },
  SOURCE_DENIED: { exit: 5, retry: "transient" },
  SOURCE_TLS: { exit: 5, retry: "transient" },
  SOURCE_CHANGED: { exit: 5, retry: "transient" },
  SOURCE_TRUNCATED: { exit: 5, retry: "transient" },
  SOURCE_UNAVAILABLE: { exit: 5, retry: "transient" },
  SOURCE_CHECKSUM: { exit: 6, retry: "terminal" },
  INTERNAL: { exit: 70, retry: "transient" },
  INTERRUPTED: { exit: 130, retry: "transient" },
};

/** What the exit statuses mean, for the help text and the README. */
export const exitMeanings: readonly (readonly [exit: number, meaning: string])[] = [
  [0, "done"],
  [1, "failed: the target refused, lost or does not allow a write"],
  [2, "wrong usage"],
  [3, "input refused: damaged, unsafe or not supported"],
  [4, "target too small or full"],
  [5, "source missing, denied or out of reach"],
  [6, "checksum differs"],
  [70, "internal error: a bug in decant"],
  [130, "interrupted; cleaned up"],
];

/** Of the worker: every failure that a restart may mend, or that nobody but our own controller would tell apart from one. */
const WORKER_FAILED = 1;

/** What a shell reports of a process that SIGTERM ended; the worker cleans up first. */
const WORKER_TERMINATED = 143;

/**
 * Exit status of the worker. Its restart policy is "on failure", so 0 stands for "over": the termination message says how.
 * A wrong checksum is over for every controller; what else is terminal, for our own.
 */
export function workerExit(code: ErrorCode, ownController: boolean): number {
  if (code === "INTERRUPTED") return WORKER_TERMINATED;
  if (code === "SOURCE_CHECKSUM") return EXIT_OK;
  return ownController && consequences[code].retry === "terminal" ? EXIT_OK : WORKER_FAILED;
}

/** The code of any error; one without a family of ours is a bug. */
export function errorCode(error: unknown): ErrorCode {
  if (error instanceof FormatError || error instanceof SourceError || error instanceof TargetError) return error.code;
  if (error instanceof UsageError) return "USAGE";
  if (error instanceof Interrupted) return "INTERRUPTED";
  return "INTERNAL";
}

/** Of these the kernel knows more than the sentence says. */
const EXPLAINED_BY_KERNEL: readonly ErrorCode[] = ["TARGET_IO", "SOURCE_UNAVAILABLE", "INTERNAL"];

/** What a person is told: the sentence, its causes, and what to do about it. */
export function errorText(error: unknown): string {
  const parts = [messageOf(error)];
  const showsKernel = EXPLAINED_BY_KERNEL.includes(errorCode(error));
  let cause = error instanceof Error ? error.cause : undefined;
  for (let depth = 0; cause instanceof Error && depth < 8; depth++) {
    const isNews = showsKernel || errnoName(cause) === undefined;
    if (isNews && cause.message !== "" && !parts.includes(cause.message)) parts.push(cause.message);
    cause = cause.cause;
  }
  const remedy = remedyOf(error);
  return remedy === undefined ? parts.join(": ") : `${parts.join(": ")}. ${remedy}`;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function remedyOf(error: unknown): string | undefined {
  const known =
    error instanceof FormatError ||
    error instanceof SourceError ||
    error instanceof TargetError ||
    error instanceof UsageError;
  return known ? error.remedy : undefined;
}
