/**
 * JSON from strangers: whatever it holds, it is read field by field, and a field of another type is as good as none.
 */
import { FormatError } from "../../formats/errors.ts";

export type JsonObject = Readonly<Record<string, unknown>>;

/**
 * @param bytes bounded by the caller
 * @param what  names the document in the message
 * @throws FormatError FORMAT_INVALID if it is no JSON object
 */
export function parseObject(bytes: Uint8Array, what: string): JsonObject {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    // Without the cause: its message quotes the document.
    throw new FormatError("FORMAT_INVALID", `${what} is not JSON`);
  }
  const object = asObject(value);
  if (object === undefined) throw new FormatError("FORMAT_INVALID", `${what} is not a JSON object`);
  return object;
}

export function asObject(value: unknown): JsonObject | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonObject) : undefined;
}

export function objectAt(object: JsonObject, key: string): JsonObject | undefined {
  return asObject(object[key]);
}

export function textAt(object: JsonObject, key: string): string | undefined {
  const value = object[key];
  return typeof value === "string" ? value : undefined;
}

export function arrayAt(object: JsonObject, key: string): readonly unknown[] | undefined {
  const value = object[key];
  return Array.isArray(value) ? (value as unknown[]) : undefined;
}

/** The members that are texts. */
export function textsOf(object: JsonObject | undefined): Readonly<Record<string, string>> {
  if (object === undefined) return {};
  return Object.fromEntries(
    Object.entries(object).filter((entry): entry is [string, string] => typeof entry[1] === "string"),
  );
}
