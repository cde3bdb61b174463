/**
 * decant inspect: what an image is, and what would be refused and why. Reads no more than the headers.
 */
import { driveParser } from "../importer/drive-parser.ts";
import { StreamPour } from "../importer/engine/pour-stream.ts";
import { Slab } from "../importer/engine/slab.ts";
import { consequences, errorCode, errorText, EXIT_OK } from "../importer/outcome.ts";
import type { Source } from "../importer/sources/source.ts";
import { openSource } from "../importer/sources/open-source.ts";
import { spillInto } from "../importer/spill-file.ts";
import type { Unwrapped } from "../importer/unwrap.ts";
import type { RandomAccess } from "../importer/random-access.ts";
import { unwrapSource } from "../importer/unwrap-source.ts";
import type { DiskImage, Warning } from "../formats/disk-format.ts";
import { FormatError } from "../formats/errors.ts";
import type { CommandIo } from "./command-io.ts";
import { HELP_SHOWN, newCommand, parseCommand } from "./command-line.ts";
import { addConnectionOptions, connect } from "./connection-options.ts";
import type { ConnectionOptions } from "./connection-options.ts";
import { exitCodesHelp, formatOption, memberOption } from "./image-options.ts";
import { unwrapOptions } from "./open-image.ts";
import { showBytes } from "./quantity.ts";

/** What `--json` prints. Sizes in bytes; what is not known is null. */
export interface Inspection {
  readonly source: string;
  readonly wrappers: readonly string[];
  readonly format: string | null;
  readonly virtualSize: number | null;
  /** Length of the source as it is stored. */
  readonly storedSize: number | null;
  readonly features: readonly string[];
  readonly warnings: readonly Warning[];
  /** Why \`convert\` would refuse it; null if it would not. */
  readonly refused: { readonly code: string; readonly message: string } | null;
}

const HELP = `Example:
  decant inspect appliance.ova

An image that convert would refuse is described as far as possible, with the reason, and the exit code is 3.

${exitCodesHelp()}`;

// The headers of a stream fit in a few slots, even a region table behind a megabyte of log.
const SLOTS = 12;

export async function run(args: readonly string[], io: CommandIo): Promise<number> {
  const command = newCommand("inspect", "Says what an image is.", HELP, io)
    .argument("<source>", "image to look at, or - for standard input")
    .addOption(formatOption())
    .addOption(memberOption())
    .option("--json", "print one JSON object");
  addConnectionOptions(command);
  if (parseCommand(command, args) === HELP_SHOWN) return EXIT_OK;
  const options = command.opts<ConnectionOptions & { json?: true }>();
  const inspection = await inspect(command.args[0] ?? "", options, io);
  io.stdout.write(options.json === true ? `${JSON.stringify(inspection, undefined, 2)}\n` : text(inspection));
  return inspection.refused === null ? EXIT_OK : consequences.FORMAT_UNSUPPORTED.exit;
}

/** @throws SourceError */
export async function inspect(name: string, options: ConnectionOptions, io: CommandIo): Promise<Inspection> {
  const connection = connect(name, options, io, { isForStart: true });
  const source = await openSource(name, connection.source);
  let unwrapped: Unwrapped | undefined;
  let remote: RandomAccess | undefined;
  try {
    const opened = (file: RandomAccess | undefined): void => void (remote = file);
    unwrapped = await unwrapSource(source, { ...unwrapOptions(options, io), opened });
    const image = await open(unwrapped);
    return describe(source, unwrapped, image, null, connection.warnings);
  } catch (error) {
    if (!(error instanceof FormatError)) throw error;
    const refused = { code: errorCode(error), message: errorText(error) };
    return describe(source, unwrapped, undefined, refused, connection.warnings);
  } finally {
    await unwrapped?.stream?.close();
    remote?.close();
    source.close();
  }
}

async function open(unwrapped: Unwrapped): Promise<DiskImage> {
  const { file, stream, format } = unwrapped;
  if (file !== undefined) return await driveParser(format.open(file.size), file);
  if (stream === undefined) throw new Error("neither a file nor a stream");
  return await new StreamPour(stream, new Slab(SLOTS), () => spillInto(undefined)).drive(format.open(undefined));
}

function describe(
  source: Source,
  unwrapped: Unwrapped | undefined,
  image: DiskImage | undefined,
  refused: Inspection["refused"],
  connectionWarnings: readonly Warning[],
): Inspection {
  return {
    source: source.name,
    wrappers: unwrapped?.wrappers ?? [],
    format: unwrapped?.format.name ?? null,
    virtualSize: image?.virtualSize ?? null,
    storedSize: source.size ?? null,
    features: image?.features ?? [],
    warnings: [...connectionWarnings, ...(source.warnings?.() ?? []), ...(image?.warnings ?? [])],
    refused,
  };
}

function text(inspection: Inspection): string {
  const rows: [string, string][] = [
    ["source", inspection.source],
    ["wrappers", inspection.wrappers.join(" → ") || "none"],
    ["format", inspection.format ?? "not known"],
    ["virtual size", inspection.virtualSize === null ? unknownSize(inspection) : bytes(inspection.virtualSize)],
    ["stored size", inspection.storedSize === null ? "not known" : bytes(inspection.storedSize)],
    ...inspection.features.map((feature, i): [string, string] => [i === 0 ? "features" : "", feature]),
    ...inspection.warnings.map(({ code, message }): [string, string] => ["warning", `${message} [${code}]`]),
  ];
  if (inspection.refused !== null) rows.push(["refused", `${inspection.refused.message} [${inspection.refused.code}]`]);
  return rows.map(([name, value]) => `${name.padEnd(14)}${value}\n`).join("");
}

/** Only of a stream that may be read to its end. */
function unknownSize(inspection: Inspection): string {
  return inspection.refused === null ? "known only at its end" : "not known";
}

function bytes(value: number): string {
  return `${showBytes(value)} (${value} bytes)`;
}
