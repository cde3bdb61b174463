#!/usr/bin/env node
/**
 * decant: the command line. Finds the subcommand and runs it; each is one file, loaded only when it is asked for, so that
 * `decant --version` does not pay for all of them.
 */
import { readFileSync } from "node:fs";
import { processIo } from "./command-io.ts";
import type { CommandIo } from "./command-io.ts";
import { report } from "./report-error.ts";

interface Subcommand {
  readonly summary: string;
  readonly load: () => Promise<{ run(args: readonly string[], io: CommandIo): Promise<number> }>;
}

const subcommands: Readonly<Record<string, Subcommand>> = {
  convert: {
    summary: "pour an image into a raw disk: a file, a block device, or null:",
    load: () => import("./convert.ts"),
  },
  inspect: { summary: "say what an image is, and what would be refused and why", load: () => import("./inspect.ts") },
  map: { summary: "show where on the disk its data lies", load: () => import("./map.ts") },
  compare: { summary: "compare the contents of two images of any format", load: () => import("./compare.ts") },
  bench: { summary: "race decant with what else pours images", load: () => import("./bench.ts") },
  import: {
    summary: "be the importer of a pod: everything comes from the environment",
    load: () => import("./import.ts"),
  },
  controller: {
    summary: "fill the claims of a Kubernetes cluster, as its DataVolumes say",
    load: () => import("./controller.ts"),
  },
  doctor: { summary: "say which decoders and kernel abilities are in use", load: () => import("./doctor.ts") },
};

function help(): string {
  const rows = Object.entries(subcommands).map(([name, { summary }]) => `  ${name.padEnd(10)} ${summary}`);
  return `decant pours a virtual-machine image into a raw disk: in one pass, sparsely, without scratch space.

Usage: decant <command> [options]

${rows.join("\n")}

  decant <command> --help   options, examples and exit codes of a command
  decant --version

Example: decant convert disk.qcow2 disk.raw
`;
}

function version(): string {
  // As deep from dist/ as from here.
  const file = readFileSync(new URL("../package.json", import.meta.url), "utf8");
  return (JSON.parse(file) as { version: string }).version;
}

async function main(args: readonly string[], io: CommandIo): Promise<number> {
  const [name, ...rest] = args;
  if (name === undefined || name === "--help" || name === "-h" || name === "help") {
    const topic = name === "help" ? rest[0] : undefined;
    if (topic !== undefined && Object.hasOwn(subcommands, topic)) return await main([topic, "--help"], io);
    (name === undefined ? io.stderr : io.stdout).write(help());
    return name === undefined ? 2 : 0;
  }
  if (name === "--version" || name === "-V") {
    io.stdout.write(`decant ${version()}\n`);
    return 0;
  }
  const subcommand = Object.hasOwn(subcommands, name) ? subcommands[name] : undefined;
  if (subcommand === undefined) {
    io.stderr.write(`decant: there is no command "${name}"; decant --help lists them\n`);
    return 2;
  }
  const command = await subcommand.load();
  try {
    return await command.run(rest, io);
  } catch (error) {
    return report(error, io, rest.includes("--json"));
  }
}

const io = processIo();
const status = await main(process.argv.slice(2), io);
// A read that waits on standard input would keep the process alive for ever.
io.exit(status);
