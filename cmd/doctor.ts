/**
 * decant doctor: versions, decoders in use and missing, the way to the network, and what the kernel and a place can do.
 */
import fs from "node:fs";
import path from "node:path";
import { listDecoders } from "../formats/codecs/system/inventory.ts";
import { canAlignBuffers } from "../importer/direct-io.ts";
import { UsageError } from "../importer/errors.ts";
import { parseProxy, proxySettings } from "../importer/http/proxies.ts";
import { systemBundle } from "../importer/http/tls-trust.ts";
import { deviceGeometry, loadKernel } from "../importer/kernel.ts";
import type { Kernel } from "../importer/kernel.ts";
import { EXIT_OK } from "../importer/outcome.ts";
import { openUnnamed } from "../importer/temporary-file.ts";
import type { CommandIo } from "./command-io.ts";
import { HELP_SHOWN, newCommand, parseCommand } from "./command-line.ts";
import { decoderChoice, exitCodesHelp } from "./image-options.ts";
import { showBytes } from "./quantity.ts";

const HELP = `With a folder or a block device: also what can be done there. A folder is tried with a file without a name; a
device is only asked.

Everything works without what is missing here, only slower.

${exitCodesHelp()}`;

type Row = readonly [name: string, value: string];

export function run(args: readonly string[], io: CommandIo): Promise<number> {
  const command = newCommand("doctor", "Says which decoders and kernel abilities are in use.", HELP, io).argument(
    "[place]",
    "folder or block device that disks will be poured to",
  );
  if (parseCommand(command, args) === HELP_SHOWN) return Promise.resolve(EXIT_OK);
  const kernel = loadKernel();
  const [place] = command.args;
  const sections: [string, Row[]][] = [
    ["Program", programRows(kernel)],
    ["Decoders", decoderRows(io)],
    ["Network", networkRows(io)],
    ...(place === undefined ? [] : ([[place, placeRows(place, kernel)]] as [string, Row[]][])),
  ];
  for (const [title, rows] of sections) {
    io.stdout.write(`${title}\n${rows.map(([name, value]) => `  ${name.padEnd(42)}${value}\n`).join("")}`);
  }
  return Promise.resolve(EXIT_OK);
}

function programRows(kernel: Kernel | undefined): Row[] {
  return [
    ["Node.js", process.versions.node],
    ["kernel calls (koffi)", kernel === undefined ? "no: zeros are written, nothing is reserved or discarded" : "yes"],
    ["O_DIRECT (@ronomon/direct-io)", canAlignBuffers() ? "yes" : "no: --direct writes through the page cache"],
  ];
}

function decoderRows(io: CommandIo): Row[] {
  const portable = decoderChoice(io) === "portable";
  return listDecoders().map(({ job, library, version, fallback, gain }) => {
    if (portable) return [job, `${fallback} (DECANT_DECODERS=portable)`];
    if (version !== undefined) return [job, `${library} (${version})`];
    return [job, `${fallback}; apt-get install ${library} brings: ${gain}`];
  });
}

/** What the environment says. */
function networkRows(io: CommandIo): Row[] {
  const { http, https, except } = proxySettings(io.env);
  return [
    ["proxy for http://", proxyText(http)],
    ["proxy for https://", proxyText(https)],
    ...(except === "" ? [] : ([["without a proxy (no_proxy)", except]] as Row[])),
    ["certificates", systemBundle() ?? `those that Node.js ${process.versions.node} brings: the system has no bundle`],
  ];
}

/** Without its password. */
function proxyText(named: string | undefined): string {
  if (named === undefined) return "none";
  try {
    return parseProxy(named).origin;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function placeRows(place: string, kernel: Kernel | undefined): Row[] {
  const stat = fs.statSync(place, { throwIfNoEntry: false });
  if (stat === undefined) throw new UsageError(`there is no ${place}`);
  if (stat.isBlockDevice()) return deviceRows(place, stat.rdev, kernel);
  return folderRows(stat.isDirectory() ? place : path.dirname(place), kernel);
}

function deviceRows(place: string, rdev: number, kernel: Kernel | undefined): Row[] {
  const fd = fs.openSync(place, "r");
  try {
    const { size, logicalSectorSize, physicalSectorSize } = deviceGeometry(fd, rdev, kernel);
    return [
      ["size", `${showBytes(size)} (${size} bytes)`],
      ["sectors", `${logicalSectorSize} bytes, physically ${physicalSectorSize}`],
    ];
  } finally {
    fs.closeSync(fd);
  }
}

function folderRows(folder: string, kernel: Kernel | undefined): Row[] {
  const { bavail, bsize } = fs.statfsSync(folder);
  const rows: Row[] = [["free space", showBytes(bavail * bsize)]];
  const fd = openUnnamed(folder);
  try {
    const length = 1024 * 1024;
    fs.ftruncateSync(fd, length);
    fs.writeSync(fd, Buffer.alloc(4096, 1), 0, 4096, 0);
    const ability = (errno: string | undefined): string => (errno === undefined ? "yes" : `no (${errno})`);
    rows.push(["sparse files", fs.fstatSync(fd).blocks * 512 < length ? "yes" : "no"]);
    if (kernel === undefined) return rows;
    const data = kernel.seek(fd, "hole", 0);
    rows.push(
      [
        "finding holes (SEEK_HOLE)",
        typeof data === "string" ? `no (${data})` : data < length ? "yes" : "no: all is data",
      ],
      ["reserving space (fallocate)", ability(kernel.fallocate(fd, "allocate", 0, length))],
      ["punching holes", ability(kernel.fallocate(fd, "punch-hole", 0, length))],
      ["O_DIRECT", directRow(folder)],
    );
    return rows;
  } finally {
    fs.closeSync(fd);
  }
}

function directRow(folder: string): string {
  const name = path.join(folder, `.decant-doctor-${process.pid}`);
  const { O_CREAT, O_EXCL, O_WRONLY, O_DIRECT } = fs.constants;
  try {
    fs.closeSync(fs.openSync(name, O_CREAT | O_EXCL | O_WRONLY | O_DIRECT, 0o600));
    return "yes";
  } catch (error) {
    return `no (${(error as NodeJS.ErrnoException).code})`;
  } finally {
    fs.rmSync(name, { force: true });
  }
}
