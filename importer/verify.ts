/**
 * Compares the target, read again, with the source, decoded a second time.
 */
import { setImmediate as nextTurn } from "node:timers/promises";
import { hex } from "../formats/bytes.ts";
import { TargetError } from "./errors.ts";
import { readPieces } from "./disk-reader.ts";
import { isZero } from "./engine/zero-search.ts";
import { must, stopIfInterrupted } from "./run.ts";
import type { Run } from "./run.ts";
import type { Target } from "./targets/target.ts";

const COMPARE_LENGTH = 1024 * 1024;

/** @throws TargetError TARGET_IO at the first byte that differs */
export async function verifyTarget(run: Run): Promise<void> {
  const { image, file } = must(run.secondReading, "the second reading");
  const buffer = Buffer.alloc(COMPARE_LENGTH);
  for await (const piece of readPieces(image, file, run.options.decoders)) {
    let at = 0;
    while (at < piece.length) {
      // Zeros that are a hole of the target need no reading: a disk of many TiB is mostly that.
      if (piece.bytes === undefined) at = Math.max(at, run.target.nextData(piece.offset + at) - piece.offset);
      const length = Math.min(COMPARE_LENGTH, piece.length - at);
      const expected = piece.bytes?.subarray(at, at + length);
      if (length > 0) compare(run.target, piece.offset + at, buffer.subarray(0, length), expected);
      at += COMPARE_LENGTH;
      await nextTurn();
      stopIfInterrupted(run);
    }
  }
}

function compare(target: Target, offset: number, buffer: Buffer, expected: Uint8Array | undefined): void {
  const count = target.readAt(buffer, offset);
  const equal = count === buffer.length && (expected === undefined ? isZero(buffer) : buffer.equals(expected));
  if (equal) return;
  let at = 0;
  while (at < count && buffer[at] === (expected?.[at] ?? 0)) at += 1;
  throw new TargetError(
    "TARGET_IO",
    `${target.name} does not hold what was written to it: it differs at ${hex(offset + at)}`,
    {
      context: { offset: offset + at },
    },
  );
}
