/**
 * Drives parsers on a random-access file: answers each Need with its bytes.
 */
import { MAX_NEED_LENGTH } from "../formats/disk-format.ts";
import type { Need, Parsing } from "../formats/disk-format.ts";
import { FormatError } from "../formats/errors.ts";
import { hex } from "../formats/bytes.ts";
import type { RandomAccess } from "./random-access.ts";

/**
 * Runs `parsing` to its end. The buffers that it is sent are reused from Need to Need.
 * @throws FormatError; SourceError where the bytes are not to be had
 */
export async function driveParser<T>(parsing: Parsing<T>, file: RandomAccess): Promise<T> {
  let buffer = new Uint8Array(0);
  let step = parsing.next();
  while (step.done !== true) {
    const need = step.value;
    checkNeed(need);
    if (buffer.length < need.length) buffer = new Uint8Array(need.length);
    const into = buffer.subarray(0, need.length);
    const answer = file.readAt(into, need.offset);
    // A local file answers at once, and a pause for each of its thousands of tables would take longer than reading them.
    const count = typeof answer === "number" ? answer : await answer;
    step = parsing.next(into.subarray(0, checkAnswer(need, count)));
  }
  return step.value;
}
/** A Need that breaks its contract is a bug of the parser, not a fault of the file. */
export function checkNeed(need: Need): void {
  if (need.length < 1 || need.length > MAX_NEED_LENGTH || !Number.isSafeInteger(need.offset) || need.offset < 0) {
    throw new Error(`parser asks for ${need.length} bytes at ${need.offset}`);
  }
}

/** @throws FormatError FORMAT_INVALID if the file ended before what a parser must have */
export function checkAnswer(need: Need, count: number): number {
  if (count < need.length && need.shortAtEnd !== true) {
    throw new FormatError(
      "FORMAT_INVALID",
      `the image ends at ${hex(need.offset + count)}, inside a structure of ${need.length} bytes at ${hex(need.offset)}`,
      { remedy: "It is probably truncated; fetch it again." },
    );
  }
  return count;
}
