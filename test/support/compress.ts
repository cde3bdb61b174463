/** Compresses with the real tools, through their standard input and output. */
import { execFileSync } from "node:child_process";

/** @param command the tool and its arguments, for instance `["xz", "-T1"]`; `-c` is added */
export function compressWith(...command: readonly string[]): (plain: Uint8Array) => Buffer {
  const [tool = "", ...args] = command;
  return (plain) =>
    execFileSync(tool, [...args, "-c"], {
      input: plain,
      maxBuffer: 256 * 1024 * 1024,
      stdio: ["pipe", "pipe", "ignore"],
    });
}
