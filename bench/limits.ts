/**
 * What a work cannot be faster than on this machine, each measured by itself in the same race: the disk that takes the bytes,
 * the decoder that makes them, the network that brings them. And decant with its portable decoders, for whom no system library
 * is there.
 *
 * The lines refer to $DISK, the disk that the image holds, to $FILE, the image as a file here, and to $ALONE, an image.
 */
import { decantWith } from "../cmd/bench/decant-contender.ts";
import type { Contender } from "../cmd/bench/peers.ts";
import { DATA_ALONE } from "./goals.ts";
import type { Row } from "./goals.ts";

/** As `peer` of an entry. */
export const LIMIT = "limit";

/** What decodes a wrapped image, by the end of its name. */
const DECODERS: Readonly<Record<string, string>> = {
  "raw.gz": "igzip -dc",
  "raw.zst": "zstd -dc",
  "blocks.qcow2.xz": "xz -T0 -dc",
  "qcow2.xz": "xz -dc",
};

export interface BesideOptions {
  /** decant's. */
  readonly threads: number;
  /** False: there is no $DISK. */
  readonly isDiskKept: boolean;
  /** False: only those that a goal is about. */
  readonly withLimits: boolean;
}

/** Who takes part beside decant and its peers, into a file. */
export function contendersBeside(row: Row, options: BesideOptions): Contender[] {
  const { threads, isDiskKept, withLimits } = options;
  const found: Contender[] = [];
  if (isCompressed(row.image)) found.push(decantWith(threads, "file", "portable"));
  if (row.line === DATA_ALONE) found.push(limit(DATA_ALONE, poured(`"$ALONE" "$TARGET"`, threads)));
  return withLimits ? [...found, ...limits(row, threads, isDiskKept)] : found;
}

function limits({ image, place }: Row, threads: number, isDiskKept: boolean): Contender[] {
  const found: Contender[] = [];
  if (isCompressed(image)) {
    const decoder = Object.entries(DECODERS).find(([end]) => image.endsWith(end))?.[1];
    const decode = decoder === undefined ? poured(`"$FILE" null:`, threads) : `${decoder} "$FILE" > /dev/null`;
    found.push(limit(decoder === undefined ? "decoder alone: decant to null:" : `decoder alone: ${decoder}`, decode));
  }
  if (isDiskKept) {
    const copy = limit("disk alone: cp", `cp --reflink=never "$DISK" "$TARGET" && sync "$TARGET"`);
    found.push({ ...copy, writesDisk: true });
  }
  if (place === "registry") {
    const copy = `skopeo copy -q --src-tls-verify=false "$SOURCE" "dir:$SCRATCH/image"`;
    found.push(limit("network alone: skopeo", copy));
  } else if (place !== "local") {
    found.push(limit("network alone: curl", `curl -sSfg --url "$SOURCE" > /dev/null`));
  }
  return found;
}

/** Something must be decoded, by libraries of the system or without. */
function isCompressed(image: string): boolean {
  return /zlib|zstd|optimized|\.gz$|\.zst$|\.xz$/.test(image);
}

function poured(names: string, threads: number): string {
  return `"$DECANT" convert --json --threads ${threads} ${names}`;
}

function limit(name: string, line: string): Contender {
  return { peer: LIMIT, name, line, fileLine: line, writesDisk: false };
}
