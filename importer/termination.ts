/**
 * How the worker ends: exit status and termination message, for every result and failure. Pure; writing is its caller's.
 *
 * The message is one line of at most 4096 bytes, because the kubelet cuts longer ones, and half a JSON is none. A result is
 * a JSON object whose keys have a fixed order and are left out when they are empty; a failure is plain text with its code in
 * brackets at the end. Two kinds of failure are JSON with exit 0, so that nothing restarts them: a wrong checksum, and under
 * our own controller whatever no restart can mend.
 */
import { failureText } from "./failure-text.ts";
import type { FailureSite } from "./failure-text.ts";
import { consequences, errorCode, EXIT_OK, workerExit } from "./outcome.ts";
import type { ErrorCode } from "./outcome.ts";
import { withoutSecrets } from "./without-secrets.ts";

export interface Ending {
  readonly exit: number;
  /** Undefined: nothing is written. */
  readonly message: string | undefined;
  /** Keys of the labels that the message has no room for, for the log. */
  readonly droppedLabels: readonly string[];
}

/** The contract's keys, in its order, then ours. */
export interface TerminationMessage {
  readonly scratchSpaceRequired?: boolean | undefined;
  readonly preallocationApplied?: boolean | undefined;
  /** Of the upload server. */
  readonly deadlinePassed?: boolean | undefined;
  readonly vddkInfo?: { readonly Version: string; readonly Host: string } | undefined;
  readonly labels?: Readonly<Record<string, string>> | undefined;
  readonly message?: string | undefined;
  readonly code?: ErrorCode | undefined;
  /** No restart will help. */
  readonly terminal?: true | undefined;
}

export interface ImportResult {
  /** Only what was done. */
  readonly preallocationApplied: boolean;
  readonly labels?: Readonly<Record<string, string>>;
  readonly vddkInfo?: TerminationMessage["vddkInfo"];
}

/** Of a termination message, in bytes: the kubelet's. */
export const MAX_MESSAGE_LENGTH = 4096;

const COMPLETE = "Import Complete";

export const ELLIPSIS = "…";

export function successEnding({ preallocationApplied, labels, vddkInfo }: ImportResult): Ending {
  return jsonEnding({ scratchSpaceRequired: false, preallocationApplied, vddkInfo, labels, message: COMPLETE });
}

/** Asks to be started again with a scratch volume. */
export function scratchEnding(): Ending {
  return jsonEnding({ scratchSpaceRequired: true, preallocationApplied: false, message: COMPLETE });
}

/** A blank device that nobody filled is what it was: there is nothing to say. */
export function blankEnding(kind: "block" | "filesystem", preallocationApplied: boolean): Ending {
  if (kind === "block" && !preallocationApplied) return { exit: EXIT_OK, message: undefined, droppedLabels: [] };
  return jsonEnding({ preallocationApplied, message: COMPLETE });
}

export interface FailureOptions {
  readonly ownController: boolean;
  /** Texts that must not appear, whatever an error says. */
  readonly secrets: readonly string[];
}

/** How an error ends the worker. */
export function failureEnding(error: unknown, site: FailureSite, { ownController, secrets }: FailureOptions): Ending {
  const code = errorCode(error);
  const exit = workerExit(code, ownController);
  const isSilent = site.stage === "start-up" && !(ownController && exit === EXIT_OK);
  if (isSilent || code === "INTERRUPTED") return { exit, message: undefined, droppedLabels: [] };
  const text = withoutSecrets(failureText(error, site), secrets);
  const suffix = ` [${code}]`;
  if (exit !== EXIT_OK) {
    return { exit, message: fit(oneLine(text), suffix, (whole) => Buffer.byteLength(whole)), droppedLabels: [] };
  }
  const ours = ownController && consequences[code].retry === "terminal" ? ({ code, terminal: true } as const) : {};
  return jsonEnding({ message: text, ...ours }, suffix);
}

/**
 * The JSON form, which always fits: labels go from the end until it does, and if that is not enough the message is cut.
 * @param suffix of the message, never cut
 */
export function encodeMessage(
  fields: TerminationMessage,
  suffix = "",
): { readonly message: string; readonly droppedLabels: readonly string[] } {
  const bare = { ...fields, labels: undefined };
  const lengthWith = (message: string): number => Buffer.byteLength(serialise(bare, message));
  const message = fit(oneLine(fields.message ?? ""), suffix, lengthWith);
  const entries = Object.entries(fields.labels ?? {});
  const kept = countLabels(entries, MAX_MESSAGE_LENGTH - lengthWith(message));
  const labels = kept === 0 ? undefined : Object.fromEntries(entries.slice(0, kept));
  return { message: serialise({ ...fields, labels }, message), droppedLabels: entries.slice(kept).map(([key]) => key) };
}

function jsonEnding(fields: TerminationMessage, suffix?: string): Ending {
  return { exit: EXIT_OK, ...encodeMessage(fields, suffix) };
}

/** JSON leaves out what is undefined. */
function serialise(fields: TerminationMessage, message: string): string {
  const { scratchSpaceRequired, preallocationApplied, deadlinePassed, vddkInfo, labels, code, terminal } = fields;
  return JSON.stringify({
    scratchSpaceRequired,
    preallocationApplied,
    deadlinePassed,
    vddkInfo,
    labels,
    message: message === "" ? undefined : message,
    code,
    terminal,
  });
}

/** How many of the first labels `room` bytes hold, besides what is around them. */
function countLabels(entries: readonly (readonly [string, string])[], room: number): number {
  let used = Buffer.byteLength(`"labels":{},`);
  for (const [index, [key, value]] of entries.entries()) {
    used += Buffer.byteLength(`${JSON.stringify(key)}:${JSON.stringify(value)}`) + (index === 0 ? 0 : 1);
    if (used > room) return index;
  }
  return entries.length;
}

/**
 * Cuts the text, where it must be cut, between two characters; the suffix stays.
 * @param lengthWith bytes of the whole message with this text in it: JSON takes up to six for one
 */
function fit(text: string, suffix: string, lengthWith: (whole: string) => number): string {
  if (lengthWith(text + suffix) <= MAX_MESSAGE_LENGTH) return text + suffix;
  const bytes = Buffer.from(text).subarray(0, MAX_MESSAGE_LENGTH);
  let fits = 0;
  let tooLong = bytes.length + 1;
  while (tooLong - fits > 1) {
    const middle = Math.floor((fits + tooLong) / 2);
    if (lengthWith(cutBytes(bytes, middle) + suffix) <= MAX_MESSAGE_LENGTH) fits = middle;
    else tooLong = middle;
  }
  return cutBytes(bytes, fits) + suffix;
}

/**
 * The beginning of a text, and an ellipsis that shows that it is no more.
 * @param length of what is kept, in bytes; a character that it cuts through is left out
 */
export function cutBytes(bytes: Buffer, length: number): string {
  let end = length;
  // A byte 10xxxxxx continues a character.
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end--;
  return bytes.toString("utf8", 0, end) + ELLIPSIS;
}

function oneLine(text: string): string {
  return text.replaceAll(/\r\n|\r|\n/g, " ");
}
