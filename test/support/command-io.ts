/**
 * Runs a command in this process, with its streams in memory: what `decant <command>` does, without the start of a process.
 */
import { report } from "../../cmd/report-error.ts";
import type { CommandIo } from "../../cmd/command-io.ts";

/** A subcommand's file in cmd/. */
export interface Command {
  run(args: readonly string[], io: CommandIo): Promise<number>;
}

export interface CommandOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

export interface CommandResult {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
  /** What the command threw, before it became text and a status. */
  readonly error: unknown;
}

export async function runCommand(
  command: Command,
  args: readonly string[],
  options: CommandOptions = {},
): Promise<CommandResult> {
  let stdout = "";
  let stderr = "";
  const io: CommandIo = {
    stdout: { write: (text) => void (stdout += text), isTTY: false, columns: 80 },
    stderr: { write: (text) => void (stderr += text), isTTY: false, columns: 80 },
    env: options.env ?? {},
    signal: options.signal ?? new AbortController().signal,
    maxRss: () => process.resourceUsage().maxRSS * 1024,
    exit: (status) => {
      throw new Error(`a command ended the process with ${status}`);
    },
  };
  try {
    const status = await command.run(args, io);
    return { status, stdout, stderr, error: undefined };
  } catch (error) {
    const status = report(error, io, args.includes("--json"));
    return { status, stdout, stderr, error };
  }
}
