/**
 * decant as one of those that race, and what it says of itself: its own figures, how far it is, why it failed.
 */
import type { DecoderChoice } from "../../formats/codecs/codec.ts";
import type { ConvertResult } from "../convert.ts";
import type { Run } from "./bench-report.ts";
import type { Contender } from "./peers.ts";
import type { Samples } from "./samples.ts";
import type { SinkKind } from "./sink.ts";

/**
 * Where nothing is kept, nobody sees from outside how far it is, so it has to say so.
 * @param decoders `portable`: without the system's libraries
 */
export function decantWith(threads: number, sink: SinkKind, decoders: DecoderChoice = "auto"): Contender {
  const choice = decoders === "portable" ? "DECANT_DECODERS=portable " : "";
  const line = (options: string): string =>
    `${choice}"$DECANT" convert --json${options} --threads ${threads} "$SOURCE" "$TARGET"`;
  const name = `decant, ${threads === 1 ? "1 thread" : `${threads} threads`}${choice === "" ? "" : ", portable"}`;
  const ownLine = line(sink === "null" ? " --progress json" : "");
  return { peer: "decant", name, line: ownLine, fileLine: line(""), writesDisk: true };
}

/** @param stdout of a run that succeeded */
export function ownFigures(stdout: string): NonNullable<Run["own"]> {
  const { virtualSize, bytesRead, bytesWritten, stages } = JSON.parse(stdout) as ConvertResult;
  return { virtualSize, bytesRead, bytesWritten, stages };
}

/** @param stdout of a run that failed; undefined: it says nothing */
export function ownFailure(stdout: string): string | undefined {
  try {
    const { error } = JSON.parse(stdout) as { readonly error?: { readonly message: string; readonly code: string } };
    return error === undefined ? undefined : `${error.message} [${error.code}]`;
  } catch {
    return undefined;
  }
}

/**
 * Takes the last of some lines of `--progress json`.
 * @param seconds since the line began, its start included
 */
export function readProgress(text: string, seconds: number, into: Samples): void {
  const done = /"done":(\d+)/.exec(text.trimEnd().split("\n").at(-1) ?? "")?.[1];
  if (done !== undefined) into.add(seconds, () => Number(done));
}
