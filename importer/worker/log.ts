/**
 * The worker's log: one JSON object a line on standard error, written at once, so that the last line before an exit is there.
 *
 * Messages are constant and values are fields, but for the lines of `contractLines`, which others look for as text.
 * Information is always shown; details from the verbosity (`-v=N`) on that they are given. Whatever a line says, and in
 * whichever field, secrets are blotted out of it. Logging never throws: an import does not fail because nobody listens.
 */
import { writeSync } from "node:fs";
import { pino } from "pino";
import { errorCode, errorText } from "../outcome.ts";
import { withoutSecrets } from "../without-secrets.ts";

/** What a line says besides its message. Plain data. */
export type LogFields = Readonly<Record<string, unknown>>;

export interface Log {
  info(message: string, fields?: LogFields): void;
  /** Shown where the verbosity is `level` or above. */
  detail(level: number, message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  /** @param error shown with its code and causes; a bug of our own with its stack too */
  error(message: string, error: unknown, fields?: LogFields): void;
  /** From now on these texts appear in no line, besides those named before. */
  hide(secrets: readonly string[]): void;
}

export interface LogOptions {
  /** N of `-v=N`; 0 shows no details. */
  readonly verbosity: number;
  /** Takes one line with its end. */
  readonly write: (line: string) => void;
  readonly now: () => Date;
}

/** Lines whose text is part of the worker's contract: tests of its users look for them in a pod's log. */
export const contractLines = {
  /** Given as a detail of verbosity `syncedLevel`. */
  synced: (path: string) => `Successfully completed fsync(${path}) syscall, committed to disk`,
  syncedLevel: 3,
  contentType: (type: string) => `Unexpected content type '${type}'. Content might not be a KubeVirt image.`,
  checksumPassed: (algorithm: string, hex: string) => `Checksum verification passed: ${algorithm}:${hex}`,
} as const;

export function openLog({ verbosity, write, now }: LogOptions): Log {
  const secrets: string[] = [];
  const destination = {
    write(line: string): void {
      try {
        write(`${blotted(line, secrets)}\n`);
      } catch {
        // There is nobody to tell.
      }
    },
  };
  const logger = pino(
    {
      base: null,
      timestamp: () => `,"time":"${now().toISOString()}"`,
      formatters: { level: (label) => ({ level: label }) },
    },
    destination,
  );
  return {
    info: (message, fields = {}) => logger.info(fields, message),
    detail(level, message, fields = {}) {
      if (level <= verbosity) logger.info({ ...fields, v: level }, message);
    },
    warn: (message, fields = {}) => logger.warn(fields, message),
    error: (message, error, fields = {}) => logger.error({ ...fields, ...describe(error) }, message),
    hide: (more) => void secrets.push(...more),
  };
}

/** Standard error, whole lines, also where it is a pipe that is full. */
export function writeToStandardError(line: string): void {
  const bytes = Buffer.from(line);
  let done = 0;
  while (done < bytes.length) {
    try {
      done += writeSync(2, bytes, done);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EAGAIN") throw error;
    }
  }
}

/** Text by text, not the line as a whole: a secret may be spelled otherwise in JSON, or be part of its punctuation. */
function blotted(line: string, secrets: readonly string[]): string {
  return JSON.stringify(JSON.parse(line), (_, value: unknown) => {
    return typeof value === "string" ? withoutSecrets(value, secrets) : value;
  });
}

function describe(error: unknown): LogFields {
  const code = errorCode(error);
  const stack = code === "INTERNAL" && error instanceof Error ? error.stack : undefined;
  return { error: errorText(error), code, stack };
}
