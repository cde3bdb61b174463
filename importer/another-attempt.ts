/**
 * Two facts that stand in the context of a source's error, for whoever owns the target. `restart: "from-zero"`: the bytes that
 * came are worthless or cannot be continued, reading all of it again may help, once. `ranges: "unusable"`: this server does not
 * serve the ranges that were asked for, one stream may do.
 *
 * Apart from what sets them: every run asks, and Node.js's HTTP, which those load, is 9 MB and 20 ms of a local conversion.
 */
import { SourceError } from "./errors.ts";

/** Whether reading everything again from the first byte may help. */
export function mayRestart(error: unknown): boolean {
  return error instanceof SourceError && error.context["restart"] === "from-zero";
}

/** Whether the server's ranges are what failed, so that one stream may succeed. */
export function lacksRanges(error: unknown): boolean {
  return error instanceof SourceError && error.context["ranges"] === "unusable";
}
