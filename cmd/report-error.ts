/**
 * Tells a person, or a program (`--json`), how a command failed, and gives its exit status.
 */
import { consequences, errorCode, errorText } from "../importer/outcome.ts";
import type { CommandIo } from "./command-io.ts";

/** @returns the exit status that the error's code stands for */
export function report(error: unknown, io: CommandIo, json: boolean): number {
  const code = errorCode(error);
  const { exit, retry } = consequences[code];
  if (json) {
    io.stdout.write(`${JSON.stringify({ error: { code, message: errorText(error), retry } })}\n`);
  } else {
    io.stderr.write(`decant: ${errorText(error)} [${code}]\n`);
  }
  if (code === "INTERNAL" && error instanceof Error) {
    io.stderr.write(`This is a bug in decant; please report it with the lines below.\n${error.stack ?? ""}\n`);
  }
  return exit;
}
