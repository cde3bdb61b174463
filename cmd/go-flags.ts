/**
 * The worker's flags, as the Go program takes them whose place it takes: `-name=value`, `--name value`, `-switch`. The pod's
 * arguments come from another controller, so its logging flags are accepted and, but for the verbosity, without effect.
 */
import { UsageError } from "../importer/errors.ts";

export interface WorkerFlags {
  readonly verbosity: number;
  readonly explain: boolean;
  readonly help: boolean;
}

const SWITCHES = [
  "add_dir_header",
  "alsologtostderr",
  "explain",
  "h",
  "help",
  "logtostderr",
  "one_output",
  "skip_headers",
  "skip_log_headers",
];
const WITH_VALUE = ["log_backtrace_at", "log_dir", "log_file", "log_file_max_size", "stderrthreshold", "v", "vmodule"];

const TRUE = ["", "1", "t", "T", "true", "TRUE", "True"];

/** @throws UsageError for an unknown flag, or a value that is none: exit 2 */
export function parseGoFlags(args: readonly string[]): WorkerFlags {
  const given = new Map<string, string>();
  const rest = [...args];
  for (let arg = rest.shift(); arg !== undefined; arg = rest.shift()) {
    const [, name = "", , value] = /^--?([a-z][a-z_]*)(=(.*))?$/is.exec(arg) ?? [];
    if (SWITCHES.includes(name)) given.set(name, value ?? "");
    else if (WITH_VALUE.includes(name)) given.set(name, value ?? rest.shift() ?? missing(name));
    else throw new UsageError(`flag provided but not defined: ${arg.slice(0, 100)}`);
  }
  const isOn = (name: string): boolean => TRUE.includes(given.get(name) ?? "false");
  return { verbosity: readVerbosity(given.get("v")), explain: isOn("explain"), help: isOn("help") || isOn("h") };
}

function readVerbosity(text: string | undefined): number {
  if (text === undefined) return 0;
  if (!/^\d{1,6}$/.test(text)) throw new UsageError(`-v=${text.slice(0, 100)} is no verbosity: it is a whole number`);
  return Number(text);
}

function missing(name: string): never {
  throw new UsageError(`flag needs an argument: -${name}`);
}
