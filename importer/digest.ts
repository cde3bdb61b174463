/**
 * SHA-256 of a whole disk.
 */
import { createHash } from "node:crypto";
import { setImmediate as nextTurn } from "node:timers/promises";
import { readPieces } from "./disk-reader.ts";
import type { DiskPiece } from "./disk-reader.ts";
import { must, stopIfInterrupted } from "./run.ts";
import type { Run } from "./run.ts";
import { readTarget } from "./targets/target-reader.ts";

const zeros = Buffer.alloc(1024 * 1024);

/**
 * Of what is on the target, read again; of the source's contents where the target is `null:`.
 * @param size bytes of the disk
 */
export async function digestTarget(run: Run, size: number): Promise<string> {
  const pieces = run.target.kind === "null" ? sourcePieces(run) : readTarget(run.target, size);
  return await sha256Of(pieces, size, async () => {
    await nextTurn();
    stopIfInterrupted(run);
  });
}

/** @param pause called after a MiB or so, that signals are served */
async function sha256Of(
  pieces: Iterable<DiskPiece> | AsyncIterable<DiskPiece>,
  size: number,
  pause: () => Promise<void>,
): Promise<string> {
  const hash = createHash("sha256");
  let hashed = 0;
  for await (const { length, bytes } of pieces) {
    if (bytes === undefined) await hashZeros(length);
    else hash.update(bytes);
    hashed += length;
    await pause();
  }
  await hashZeros(size - hashed);
  return hash.digest("hex");

  async function hashZeros(count: number): Promise<void> {
    for (let left = count; left > 0; left -= zeros.length) {
      hash.update(left < zeros.length ? zeros.subarray(0, left) : zeros);
      await pause();
    }
  }
}

function sourcePieces(run: Run): AsyncIterable<DiskPiece> {
  const { image, file } = must(run.secondReading, "the second reading");
  return readPieces(image, file, run.options.decoders);
}
