/**
 * Node pull: what the container beside the worker says of its image. GET `/info` is answered with `{"env":["NAME=value"]}`,
 * of which the claim's labels are made. It is a stranger's answer, and of no weight: without it there are no labels.
 */
import { readDocument } from "../http/document.ts";
import type { HttpClient } from "../http/http-client.ts";
import { Place } from "../http/place.ts";
import { labelsFromEnvironment } from "../labels.ts";
import type { ImageLabels } from "../labels.ts";

/** Linux allows a process an environment of 2 MiB by default, and JSON may double it. */
const MAX_ANSWER_LENGTH = 4 * 1024 * 1024;

/** What is looked at of an environment. */
const MAX_VARIABLES = 4096;

/**
 * @param endpoint of the disk; the same server is asked
 * @throws SourceError, UsageError where there is no such answer, Interrupted: for the log
 */
export async function readImageLabels(endpoint: string, client: HttpClient): Promise<ImageLabels> {
  const place = Place.parse(endpoint);
  const info = Place.parse(new URL("/info", place.first).href);
  const { bytes } = await readDocument(client, info, { statuses: [200] }, MAX_ANSWER_LENGTH);
  return labelsFromEnvironment(environmentOf(bytes));
}

/** Nothing where it is not what it should be. */
function environmentOf(bytes: Uint8Array): readonly string[] {
  const answer = parse(new TextDecoder().decode(bytes));
  const env = isRecord(answer) && Object.hasOwn(answer, "env") ? answer["env"] : undefined;
  if (!Array.isArray(env)) return [];
  return env.slice(0, MAX_VARIABLES).filter((variable): variable is string => typeof variable === "string");
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}
