/**
 * Makes the images that dimensions.ts describes, with qemu-img and qemu-io, and asks qemu-img what they hold.
 *
 * All images of one folder hold one base disk of 8 MiB; in those that a guest wrote parts of it were written over, zeroed
 * or discarded afterwards, so what an image holds is only known from qemu-img.
 */
import { execFileSync } from "node:child_process";
import {
  closeSync,
  fstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  readSync,
  rmSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import path from "node:path";
import { baseDisk, randomBytes } from "../support/base-disk.ts";
import { BAT, PAYLOAD, writeLog } from "../support/build-vhdx.ts";
import { memoryFolder } from "../support/temporary-folder.ts";
import type { Choice } from "./dimensions.ts";

const KIB = 1024;
const SECTOR = 512;

/** The longest write of a guest, if its clusters are not larger. */
const MAX_WRITE = 256 * KIB;

/** What all files of some folders may take at once, with a wide margin. */
const MEMORY_NEEDED = 2 * KIB * KIB * KIB;

/** Arguments of one qemu-io; the command line has a limit. */
const COMMANDS_AT_ONCE = 500;

/** The quickest setting: what is compared is the decoder. */
const COMPRESSORS: Readonly<Record<string, readonly string[]>> = {
  gzip: ["gzip", "-1"],
  zstd: ["zstd", "-q", "-1"],
  xz: ["xz", "-0"],
};

export class ImageFolder {
  readonly path: string;
  readonly disk: Buffer;
  readonly #base: string;

  /** @param place the folder that it is made in */
  constructor(disk = baseDisk(), place = memoryFolder(MEMORY_NEEDED)) {
    this.path = mkdtempSync(path.join(place, "decant-oracle-"));
    this.disk = disk;
    this.#base = path.join(this.path, "base.raw");
    writeFileSync(this.#base, disk);
    mkdirSync(path.join(this.path, "pieces"));
  }

  /**
   * The name of a new image file.
   * @throws Error where qemu-img or qemu-io refuses
   */
  make(format: string, choice: Choice): string {
    const image = path.join(this.path, "image");
    rmSync(image, { force: true });
    if (format === "raw") {
      execFileSync("cp", [`--sparse=${choice["holes"] === "kept" ? "always" : "never"}`, this.#base, image]);
      return image;
    }
    const options = creationOptions(format, choice);
    const flags = options.length === 0 ? [] : ["-o", options.join(",")];
    if (choice["written"] === "guest") {
      quietly("qemu-img", ["create", "-q", "-f", format, ...flags, image, String(this.disk.length)]);
      this.#writeAsGuest(format, choice, image);
    } else {
      if (isCompressed(choice)) flags.push("-c");
      if (choice["written"] === "out of order") flags.push("-W", "-m", "16");
      quietly("qemu-img", ["convert", "-f", "raw", "-O", format, ...flags, this.#base, image]);
    }
    if (choice["log"] === "holds the table") moveTableIntoLog(image);
    return image;
  }

  /** What qemu-img reads from an image of `make`. */
  contentOf(format: string, choice: Choice, image: string): Buffer {
    const content = path.join(this.path, "expected.raw");
    let readable = image;
    if (choice["log"] === "holds the table") {
      // qemu-img replays a log only into the file itself.
      readable = path.join(this.path, "replayed");
      execFileSync("cp", ["--sparse=always", image, readable]);
      quietly("qemu-img", ["check", "-q", "-r", "all", "-f", format, readable]);
    }
    quietly("qemu-img", ["convert", "-f", format, "-O", "raw", readable, content]);
    return readFileSync(content);
  }

  /** The image compressed, or itself. */
  wrap(wrapper: string, image: string): string {
    const [tool, ...args] = COMPRESSORS[wrapper] ?? [];
    if (tool === undefined) return image;
    const wrapped = path.join(this.path, `wrapped-${wrapper}`);
    const output = openSync(wrapped, "w");
    try {
      execFileSync(tool, [...args, "-c", image], { stdio: ["ignore", output, "pipe"] });
    } finally {
      closeSync(output);
    }
    return wrapped;
  }

  remove(): void {
    rmSync(this.path, { recursive: true, force: true });
  }

  #writeAsGuest(format: string, choice: Choice, image: string): void {
    const commands = this.guestCommands({
      unit: isCompressed(choice) ? Math.max(64 * KIB, clusterSize(choice)) : SECTOR,
      compressed: isCompressed(choice),
      discards: format === "qcow2",
    });
    runQemuIo(format, image, commands);
  }

  /**
   * Commands of qemu-io that write the disk in pieces of any length in any order, and then change some of it. Pieces are
   * multiples of `unit`; with `compressed` each is written so, before it is changed.
   */
  guestCommands(how: { readonly unit: number; readonly compressed: boolean; readonly discards: boolean }): string[] {
    const { disk } = this;
    const random = randomBytes(11);
    const pick = (below: number): number => ((random() << 16) | (random() << 8) | random()) % below;
    const most = Math.max(1, MAX_WRITE / how.unit);
    const zeros = Buffer.alloc(most * how.unit);
    const writes: string[] = [];
    for (let at = 0; at < disk.length;) {
      const length = Math.min(disk.length - at, (1 + pick(most)) * how.unit);
      const isZero = disk.subarray(at, at + length).equals(zeros.subarray(0, length));
      if (!isZero) writes.push(`write -q ${how.compressed ? "-c " : ""}${this.#piece(at, length)}`);
      else if (pick(2) === 0) writes.push(`write -q -z ${at} ${length}`);
      at += length;
    }
    for (let i = writes.length - 1; i > 0; i--) {
      const other = pick(i + 1);
      [writes[i], writes[other]] = [writes[other] ?? "", writes[i] ?? ""];
    }
    for (const at of [3, 97, 130, 5003, 9000].map((sector) => sector * SECTOR)) {
      writes.push(`write -q ${this.#piece((at * 3) % disk.length, 9 * SECTOR)}`.replace(/ \d+ (\d+)$/, ` ${at} $1`));
    }
    writes.push(`write -q -z ${700 * SECTOR} ${50 * SECTOR}`, `write -q -P 0 ${640 * SECTOR} ${128 * SECTOR}`);
    if (how.discards) writes.push(`discard -q ${disk.length / 2} ${256 * KIB}`);
    return writes;
  }

  /** Operands of `write`: a part of the disk, from a file of its own. */
  #piece(at: number, length: number): string {
    const file = path.join(this.path, "pieces", `${at}-${length}`);
    writeFileSync(file, this.disk.subarray(at, at + length));
    return `-s ${file} ${at} ${length}`;
  }
}

/** @throws Error if a command fails */
function runQemuIo(format: string, image: string, commands: readonly string[]): void {
  for (let i = 0; i < commands.length; i += COMMANDS_AT_ONCE) {
    const args = commands.slice(i, i + COMMANDS_AT_ONCE).flatMap((command) => ["-c", command]);
    quietly("qemu-io", ["-t", "unsafe", "-d", "unmap", "-f", format, ...args, image]);
  }
}

function creationOptions(format: string, choice: Choice): string[] {
  const set = (option: string, name: string): string[] =>
    choice[name] === undefined ? [] : [`${option}=${choice[name]}`];
  const options = [
    ...set("cluster_size", "cluster"),
    ...set("extended_l2", "extendedL2"),
    ...set("refcount_bits", "refcountBits"),
    ...set("preallocation", "preallocation"),
    ...set("subformat", "subformat"),
    ...set("zeroed_grain", "zeroedGrain"),
    ...set("force_size", "forceSize"),
    ...set("block_size", "blockSize"),
    ...set("static", "static"),
  ];
  if (format === "qcow2") options.push(`compat=${choice["version"] === "2" ? "0.10" : "1.1"}`);
  if (choice["compression"] === "zstd") options.push("compression_type=zstd");
  return options;
}

function isCompressed(choice: Choice): boolean {
  return (choice["compression"] ?? "none") !== "none";
}

function clusterSize(choice: Choice): number {
  const [, digits = "", unit = ""] = /^(\d+)([kM]?)$/.exec(choice["cluster"] ?? "") ?? [];
  return Number(digits) * ({ k: KIB, M: KIB * KIB }[unit] ?? 1);
}

/** As after a crash: the first page of a VHDX's block table is written nowhere but into its log. */
function moveTableIntoLog(image: string): void {
  const fd = openSync(image, "r+");
  try {
    // All that changes lies before the blocks; a whole image of blocks of 256 MiB would be read for nothing.
    const { size } = fstatSync(fd);
    const front = Buffer.alloc(PAYLOAD);
    readSync(fd, front, 0, front.length, 0);
    const page = Buffer.from(front.subarray(BAT, BAT + 4 * KIB));
    front.fill(0, BAT, BAT + 4 * KIB);
    const changes = [{ offset: BAT, bytes: page }];
    writeLog(front, [{ position: 0, sequenceNumber: 1n, changes, flushedFileOffset: size, lastFileOffset: size }]);
    writeSync(fd, front, 0, front.length, 0);
  } finally {
    closeSync(fd);
  }
}

function quietly(tool: string, args: readonly string[]): void {
  execFileSync(tool, args, { stdio: ["ignore", "pipe", "pipe"] });
}
