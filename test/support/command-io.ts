/**
 * Runs a command of cmd/ inside the test's own process: some milliseconds instead of a process's start.
 *
 * Standard input is the real descriptor 0, opened anew for each run, so what reads it cannot tell. Runs with standard
 * input must not overlap. `runDecant` (run-decant.ts) is the same with a process, and with a pipe.
 */
import assert from "node:assert/strict";
import { closeSync, openSync } from "node:fs";
import type { CommandIo, TextOutput } from "../../cmd/command-io.ts";
import { report } from "../../cmd/report-error.ts";

/** A module of cmd/. */
export interface Command {
  run(args: readonly string[], io: CommandIo): Promise<number>;
}

export interface CommandOptions {
  /** The whole environment. */
  readonly env?: Readonly<Record<string, string>>;
  /** A file that is standard input. */
  readonly standardInput?: string;
  readonly signal?: AbortSignal;
}

export interface CommandResult {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
}

export function runCommand(
  command: Command,
  args: readonly string[],
  options: CommandOptions = {},
): Promise<CommandResult> {
  const { standardInput } = options;
  if (standardInput === undefined) return runHere(command, args, options);
  return withStandardInput(standardInput, () => runHere(command, args, options));
}

async function runHere(command: Command, args: readonly string[], options: CommandOptions): Promise<CommandResult> {
  const stdout = new TextBuffer();
  const stderr = new TextBuffer();
  const io: CommandIo = {
    stdout,
    stderr,
    env: options.env ?? {},
    signal: options.signal ?? new AbortController().signal,
    maxRss: () => process.resourceUsage().maxRSS * 1024,
    exit(status) {
      throw new Error(`a command ended the process with ${status}`);
    },
  };
  let status: number;
  try {
    status = await command.run(args, io);
  } catch (error) {
    status = report(error, io, args.includes("--json"));
  }
  return { status, stdout: stdout.text, stderr: stderr.text };
}

async function withStandardInput<T>(file: string, use: () => Promise<T>): Promise<T> {
  reopenStandardInput(file);
  try {
    return await use();
  } finally {
    reopenStandardInput("/dev/null");
  }
}

/** The lowest free descriptor is what open gives. */
function reopenStandardInput(file: string): void {
  closeSync(0);
  assert.equal(openSync(file, "r"), 0);
}

class TextBuffer implements TextOutput {
  text = "";
  readonly isTTY = false;
  readonly columns = 80;

  write(text: string): void {
    this.text += text;
  }
}
