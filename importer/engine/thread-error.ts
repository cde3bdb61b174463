/**
 * Errors as plain data, so that what went wrong in a worker thread keeps its code, its context and its chain of causes.
 */
import { FormatError } from "../../formats/errors.ts";
import type { FormatErrorCode } from "../../formats/errors.ts";
import { asError, SourceError, TargetError } from "../errors.ts";
import type { SourceErrorCode, TargetErrorCode } from "../errors.ts";
import type { ErrorContext } from "../../formats/errors.ts";

export interface ThreadError {
  readonly name: string;
  readonly message: string;
  readonly stack: string | undefined;
  readonly code: string | undefined;
  readonly remedy: string | undefined;
  readonly context: ErrorContext;
  readonly cause: ThreadError | undefined;
}

const MAX_CAUSES = 8;

export function describeError(error: unknown, depth = 0): ThreadError {
  const known = error instanceof FormatError || error instanceof SourceError || error instanceof TargetError;
  const shown = asError(error);
  return {
    name: shown.name,
    message: shown.message,
    stack: shown.stack,
    code: "code" in shown && typeof shown.code === "string" ? shown.code : undefined,
    remedy: known ? error.remedy : undefined,
    context: known ? error.context : {},
    cause: shown.cause === undefined || depth === MAX_CAUSES ? undefined : describeError(shown.cause, depth + 1),
  };
}

export function reviveError(plain: ThreadError): Error {
  const details = {
    context: plain.context,
    ...(plain.remedy === undefined ? {} : { remedy: plain.remedy }),
    ...(plain.cause === undefined ? {} : { cause: reviveError(plain.cause) }),
  };
  switch (plain.name) {
    case "FormatError":
      return new FormatError(plain.code as FormatErrorCode, plain.message, details);
    case "SourceError":
      return new SourceError(plain.code as SourceErrorCode, plain.message, details);
    case "TargetError":
      return new TargetError(plain.code as TargetErrorCode, plain.message, details);
    default: {
      const error = new Error(plain.message, details.cause === undefined ? undefined : { cause: details.cause });
      error.name = plain.name;
      if (plain.stack !== undefined) error.stack = plain.stack;
      return plain.code === undefined ? error : Object.assign(error, { code: plain.code });
    }
  }
}
