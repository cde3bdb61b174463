/**
 * What a worker said when it ended, as far as it can be believed (contract 5.8, importer/termination.ts). The text passed
 * through an image that a user may have chosen: each field is taken by its type, and whatever else is there is left out.
 */
import { consequences } from "../../../importer/outcome.ts";
import type { ErrorCode } from "../../../importer/outcome.ts";
import { MAX_MESSAGE_LENGTH } from "../../../importer/termination.ts";
import type { TerminationMessage } from "../../../importer/termination.ts";
import { GROUP } from "../../api/names.ts";
import { isMap } from "../draft.ts";

/** Labels that describe what is on a disk. */
const DISK_LABEL = /^(?:[\w.-]{1,200}\.)?kubevirt\.io\/[A-Za-z0-9](?:[\w.-]{0,61}[A-Za-z0-9])?$/;
/** What the API lets in as a label's value. */
const LABEL_VALUE = /^(?:[A-Za-z0-9](?:[\w.-]{0,61}[A-Za-z0-9])?)?$/;
/** These steer controllers, and no image may. */
const STEERING_LABEL = new RegExp(String.raw`^(?:.*\.)?${GROUP.replaceAll(".", String.raw`\.`)}/`);

/** Undefined: it is not the JSON form. */
export function parseTermination(text: string | undefined): TerminationMessage | undefined {
  if (text === undefined || Buffer.byteLength(text) > MAX_MESSAGE_LENGTH) return undefined;
  const parsed = parseObject(text);
  if (parsed === undefined) return undefined;
  const { scratchSpaceRequired, preallocationApplied, labels, message, code, terminal } = parsed;
  return {
    scratchSpaceRequired: scratchSpaceRequired === true,
    preallocationApplied: preallocationApplied === true,
    labels: readLabels(labels),
    message: typeof message === "string" ? message : undefined,
    code: isCode(code) ? code : undefined,
    ...(terminal === true ? { terminal } : {}),
  };
}

/**
 * It begins as the JSON form does, and is no JSON: the kubelet keeps 12 KiB of all containers of a pod together, and somebody may
 * have put more of them beside the worker. What was cut off may be that it failed.
 */
export function isCutOff(text: string | undefined): boolean {
  return text?.startsWith("{") === true && parseTermination(text) === undefined;
}

function parseObject(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isMap(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function readLabels(value: unknown): Readonly<Record<string, string>> {
  if (!isMap(value)) return {};
  const entries = Object.entries(value).filter((entry): entry is [string, string] => {
    const [key, label]: [string, unknown] = entry;
    if (!DISK_LABEL.test(key) || STEERING_LABEL.test(key)) return false;
    return typeof label === "string" && LABEL_VALUE.test(label);
  });
  return Object.fromEntries(entries);
}

function isCode(value: unknown): value is ErrorCode {
  return typeof value === "string" && Object.hasOwn(consequences, value);
}
