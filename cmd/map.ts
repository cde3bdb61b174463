/**
 * decant map: where on the disk data lies, as `qemu-img map` prints it, or as a picture.
 */
import fs from "node:fs";
import type { DiskImage, Extent } from "../formats/disk-format.ts";
import { dataRanges } from "../importer/data-ranges.ts";
import { extentsAhead } from "../importer/extents-ahead.ts";
import { UsageError } from "../importer/errors.ts";
import { EXIT_OK } from "../importer/outcome.ts";
import type { RandomAccess } from "../importer/random-access.ts";
import type { CommandIo } from "./command-io.ts";
import { HELP_SHOWN, newCommand, parseCommand } from "./command-line.ts";
import { addConnectionOptions } from "./connection-options.ts";
import type { ConnectionOptions } from "./connection-options.ts";
import { drawMap } from "./draw-map.ts";
import { exitCodesHelp, formatOption, memberOption } from "./image-options.ts";
import { openImage } from "./open-image.ts";
import type { OpenedImage } from "./open-image.ts";

/** A row of the map, in qemu-img's words. Bytes. */
export interface MapRow {
  readonly start: number;
  readonly length: number;
  /** 0: decant reads no backing chains. */
  readonly depth: 0;
  /** Allocated in the image. */
  readonly present: boolean;
  /** Reads as zeros. */
  readonly zero: boolean;
  /** Takes space in the image file. */
  readonly data: boolean;
  /** Where the bytes lie in the image file, if they lie there as they are. */
  readonly offset?: number;
}

/** Formats without backing files: qemu-img calls their holes present. */
const ALWAYS_PRESENT: readonly string[] = ["vdi", "vpc"];

/** What stat counts space in, bytes. */
const STAT_BLOCK = 512;

/** Where a qcow2 header says how long a cluster is: a power of two, big-endian. */
const QCOW2_CLUSTER_BITS = 20;

const HELP = `Without --json or --svg a table of the ranges that hold data. A compressed image, or one in an archive behind a
compression, is unwrapped into a temporary file first; offsets are then in the unwrapped image.

Examples:
  decant map --json disk.qcow2
  decant map --svg disk.svg disk.qcow2

${exitCodesHelp()}`;

export async function run(args: readonly string[], io: CommandIo): Promise<number> {
  const command = newCommand("map", "Shows where on the disk its data lies.", HELP, io)
    .argument("<source>", "image to look at, or - for standard input")
    .option("--json", "print what `qemu-img map --output=json` prints")
    .option("--svg <file>", "draw the disk as a picture")
    .addOption(formatOption())
    .addOption(memberOption());
  addConnectionOptions(command);
  if (parseCommand(command, args) === HELP_SHOWN) return EXIT_OK;
  const options = command.opts<ConnectionOptions & { json?: true; svg?: string }>();
  if (options.json === true && options.svg !== undefined) throw new UsageError("choose one of --json and --svg");
  const opened = await openImage(command.args[0] ?? "", options, io);
  try {
    if (options.svg !== undefined)
      fs.writeFileSync(options.svg, await drawMap(opened.name, opened.image, mapRows(opened)));
    else if (options.json === true) await writeJson(mapRows(opened), io);
    else await writeTable(mapRows(opened), io);
    return EXIT_OK;
  } finally {
    opened.close();
  }
}

/** Rows in virtual order, neighbours of one kind merged. Lazy: a map of a large disk is never held. */
export async function* mapRows({ image, file }: Pick<OpenedImage, "image" | "file">): AsyncGenerator<MapRow> {
  const ranges = dataRanges(file);
  const hostHoles = await showsHostHoles(image, file);
  let last: MapRow | undefined;
  for await (const extents of extentsAhead(image, file)) {
    for (const extent of extents) {
      const parts = hostHoles ? ranges.split(extent) : [extent];
      for (const part of parts) {
        const row = toRow(part, extent, image);
        if (last !== undefined && continues(last, row)) {
          last = { ...last, length: last.length + row.length };
          continue;
        }
        if (last !== undefined) yield last;
        last = row;
      }
    }
  }
  if (last !== undefined) yield last;
}

/** Whether qemu-img looks for the image file's own holes under the format's plain data. */
async function showsHostHoles(image: DiskImage, file: RandomAccess): Promise<boolean> {
  if (image.format === "raw") return true;
  if (image.format === "qcow2") return await isMostlyUnwritten(file);
  return (
    (image.format === "vpc" || image.format === "vdi") && image.features.some((f) => f === "fixed" || f === "static")
  );
}

/**
 * A qcow2 with preallocated metadata: its file takes less space than its clusters would, by a tenth and by two clusters at
 * least. qemu-img counts the clusters by their refcounts; here the file's length stands for them, and freed ones count too.
 */
async function isMostlyUnwritten(file: RandomAccess): Promise<boolean> {
  if (file.spec.segments !== undefined) return true;
  if (file.spec.fd === undefined) return false;
  const allocated = fs.fstatSync(file.spec.fd).blocks * STAT_BLOCK;
  const clusterBits = Buffer.alloc(4);
  await file.readAt(clusterBits, QCOW2_CLUSTER_BITS);
  return file.size >= Math.max((allocated * 10) / 9, allocated + 2 * 2 ** clusterBits.readUInt32BE());
}

function toRow(part: Extent, whole: Extent, image: DiskImage): MapRow {
  const base = { start: part.offset, length: part.length, depth: 0 } as const;
  if (part.kind === "data") {
    const plain = part.stored.encoding === "plain";
    return { ...base, present: true, zero: false, data: true, ...(plain ? { offset: part.stored.offset } : {}) };
  }
  const offset = part.hostOffset === undefined ? {} : { offset: part.hostOffset };
  // A hole of the file under an allocated cluster still counts as data there; a raw disk's is just a hole.
  const data = whole.kind === "data" && image.format !== "raw";
  const present = part.kind === "zero" || ALWAYS_PRESENT.includes(image.format);
  return { ...base, present, zero: true, data, ...offset };
}

function continues(a: MapRow, b: MapRow): boolean {
  if (a.present !== b.present || a.zero !== b.zero || a.data !== b.data) return false;
  return a.offset === undefined ? b.offset === undefined : b.offset === a.offset + a.length;
}

async function writeJson(rows: AsyncIterable<MapRow>, io: CommandIo): Promise<void> {
  let separator = "[";
  for await (const { start, length, depth, present, zero, data, offset } of rows) {
    const place = offset === undefined ? "" : `, "offset": ${offset}`;
    io.stdout.write(
      `${separator}{ "start": ${start}, "length": ${length}, "depth": ${depth}, "present": ${present}, "zero": ${zero}, "data": ${data}${place}}`,
    );
    separator = ",\n";
  }
  io.stdout.write(separator === "[" ? "[]\n" : "]\n");
}

async function writeTable(rows: AsyncIterable<MapRow>, io: CommandIo): Promise<void> {
  const line = (...cells: string[]): string =>
    `${cells
      .map((cell) => cell.padEnd(18))
      .join("")
      .trimEnd()}\n`;
  io.stdout.write(line("Offset", "Length", "Host offset"));
  for await (const row of rows) {
    if (row.zero) continue;
    io.stdout.write(line(`0x${row.start.toString(16)}`, `0x${row.length.toString(16)}`, place(row)));
  }
}

function place(row: MapRow): string {
  return row.offset === undefined ? "encoded" : `0x${row.offset.toString(16)}`;
}
