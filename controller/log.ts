/**
 * The controller's log: one JSON object a line, constant messages with fields. Errors are shown by their name and message;
 * one of our own making (a bug) with its stack too.
 */
import { pino } from "pino";
import { ApiError } from "./api-error.ts";

export type LogFields = Readonly<Record<string, unknown>>;

export interface Log {
  /** Shown where the verbosity is 1 or above: each unit that was planned. */
  detail(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
}

export interface LogOptions {
  readonly verbosity: number;
  /** Takes one line with its end. */
  readonly write: (line: string) => void;
  readonly now: () => Date;
}

export function openLog({ verbosity, write, now }: LogOptions): Log {
  const logger = pino(
    {
      base: null,
      level: verbosity > 0 ? "debug" : "info",
      timestamp: () => `,"time":"${now().toISOString()}"`,
      formatters: { level: (label) => ({ level: label }) },
    },
    { write },
  );
  return {
    detail: (message, fields) => logger.debug(shown(fields), message),
    info: (message, fields) => logger.info(shown(fields), message),
    warn: (message, fields) => logger.warn(shown(fields), message),
    error: (message, fields) => logger.error(shown(fields), message),
  };
}

function shown(fields: LogFields = {}): LogFields {
  if (!("error" in fields)) return fields;
  const { error, ...rest } = fields;
  if (error instanceof ApiError) return { ...rest, status: error.status, reason: error.reason, error: error.message };
  if (!(error instanceof Error)) return { ...rest, error: String(error) };
  // Those of the network and of the operating system have a code; the others are bugs.
  const isPlain = error.constructor === Error && !("code" in error);
  const isBug = error instanceof TypeError || error instanceof RangeError || isPlain;
  return { ...rest, error: `${error.name}: ${error.message}`, ...(isBug ? { stack: error.stack } : {}) };
}
