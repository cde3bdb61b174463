/**
 * decant compare: do two images, of whatever formats, hold the same disk?
 */
import { readPieces } from "../importer/disk-reader.ts";
import type { DiskPiece } from "../importer/disk-reader.ts";
import { isZero } from "../importer/engine/zero-search.ts";
import type { CommandIo } from "./command-io.ts";
import { HELP_SHOWN, newCommand, parseCommand } from "./command-line.ts";
import { addConnectionOptions } from "./connection-options.ts";
import type { ConnectionOptions } from "./connection-options.ts";
import { decoderChoice } from "./image-options.ts";
import { openImage } from "./open-image.ts";
import { report } from "./report-error.ts";

const SAME = 0;
const DIFFERENT = 1;
const CANNOT_TELL = 2;

interface CompareOptions extends ConnectionOptions {
  readonly strict?: true;
}

const HELP = `Two images of the same content but different size are the same if what the longer one has more is zeros; --strict
asks for equal sizes too.

Exit codes:
  0    the disks are the same
  1    they differ; the first differing offset is printed
  2    cannot tell: an image is missing, damaged or refused, or wrong usage
`;

export async function run(args: readonly string[], io: CommandIo): Promise<number> {
  try {
    const command = newCommand("compare", "Compares the decoded contents of two images.", HELP, io)
      .argument("<a>", "an image, or - for standard input")
      .argument("<b>", "another")
      .option("--strict", "different sizes are a difference, even where the rest is zeros");
    addConnectionOptions(command);
    if (parseCommand(command, args) === HELP_SHOWN) return SAME;
    const [a = "", b = ""] = command.args;
    return await compare(a, b, command.opts<CompareOptions>(), io);
  } catch (error) {
    report(error, io, false);
    return CANNOT_TELL;
  }
}

async function compare(nameA: string, nameB: string, options: CompareOptions, io: CommandIo): Promise<number> {
  const a = await openImage(nameA, options, io);
  try {
    const b = await openImage(nameB, options, io);
    try {
      const [sizeA, sizeB] = [a.image.virtualSize ?? 0, b.image.virtualSize ?? 0];
      if (options.strict === true && sizeA !== sizeB) {
        io.stdout.write(`sizes differ: ${sizeA} and ${sizeB} bytes\n`);
        return DIFFERENT;
      }
      const decoders = decoderChoice(io);
      const at = await firstDifference(readPieces(a.image, a.file, decoders), readPieces(b.image, b.file, decoders));
      if (at !== undefined) {
        io.stdout.write(`disks differ at offset ${at}\n`);
        return DIFFERENT;
      }
      io.stdout.write(
        sizeA === sizeB
          ? "disks are the same\n"
          : `disks are the same; the longer one (${Math.max(sizeA, sizeB)} bytes) ends in zeros\n`,
      );
      return SAME;
    } finally {
      b.close();
    }
  } finally {
    a.close();
  }
}

/** Offset of the first byte that differs; a disk that ends counts on as zeros. */
export async function firstDifference(
  a: AsyncIterable<DiskPiece>,
  b: AsyncIterable<DiskPiece>,
): Promise<number | undefined> {
  const left = new PieceCursor(a);
  const right = new PieceCursor(b);
  let offset = 0;
  for (;;) {
    const length = Math.min(await left.available(), await right.available());
    if (length === Infinity) return undefined;
    const at = differenceIn(left.take(length), right.take(length), length);
    if (at !== undefined) return offset + at;
    offset += length;
  }
}

function differenceIn(a: Uint8Array | undefined, b: Uint8Array | undefined, length: number): number | undefined {
  if (a === undefined && b === undefined) return undefined;
  if (a === undefined || b === undefined) {
    const data = a ?? b ?? new Uint8Array(0);
    return isZero(data) ? undefined : data.findIndex((byte) => byte !== 0);
  }
  if (Buffer.compare(a, b) === 0) return undefined;
  for (let i = 0; i < length; i++) if (a[i] !== b[i]) return i;
  return undefined;
}

/** Pieces taken in whatever lengths the other side has. After the end: zeros without end. */
class PieceCursor {
  readonly #pieces: AsyncIterator<DiskPiece>;
  #piece: DiskPiece | undefined;
  #used = 0;
  #hasEnded = false;

  constructor(pieces: AsyncIterable<DiskPiece>) {
    this.#pieces = pieces[Symbol.asyncIterator]();
  }

  /** Bytes of the piece that are left; Infinity after the end. Its memory is the iterator's until this is asked again. */
  async available(): Promise<number> {
    while (!this.#hasEnded && (this.#piece === undefined || this.#used === this.#piece.length)) {
      const step = await this.#pieces.next();
      this.#hasEnded = step.done === true;
      this.#piece = step.done === true ? undefined : step.value;
      this.#used = 0;
    }
    return this.#piece === undefined ? Infinity : this.#piece.length - this.#used;
  }

  take(length: number): Uint8Array | undefined {
    const bytes = this.#piece?.bytes?.subarray(this.#used, this.#used + length);
    this.#used += length;
    return bytes;
  }
}
