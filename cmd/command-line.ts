/**
 * Options of a command through commander, without its exits: what is wrong becomes a UsageError.
 */
import { Command, CommanderError } from "commander";
import { UsageError } from "../importer/errors.ts";
import type { CommandIo } from "./command-io.ts";

/** Help was asked for and shown. */
export const HELP_SHOWN = Symbol("help shown");

/**
 * @param name   of the subcommand
 * @param example shown under the options
 */
export function newCommand(name: string, description: string, example: string, io: CommandIo): Command {
  return new Command(`decant ${name}`)
    .description(description)
    .helpOption("-h, --help", "show this text")
    .addHelpText("after", `\n${example}`)
    .configureOutput({ writeOut: (text) => io.stdout.write(text), writeErr: () => undefined })
    .allowExcessArguments(false)
    .exitOverride();
}

/**
 * Parses `args`. @returns HELP_SHOWN if `--help` was among them
 * @throws UsageError in commander's words
 */
export function parseCommand(command: Command, args: readonly string[]): typeof HELP_SHOWN | undefined {
  try {
    command.parse(args, { from: "user" });
    return undefined;
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.code === "commander.helpDisplayed") return HELP_SHOWN;
    const sentence = error.message.replace(/^error: /, "").replace(/\.$/, "");
    throw new UsageError(sentence, { remedy: `${command.name()} --help shows what there is.`, cause: undefined });
  }
}
