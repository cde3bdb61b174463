/**
 * A worker thread that writes every other piece of a range through a PositionedWriter, for tests of threads that share
 * sectors.
 */
import { workerData } from "node:worker_threads";
import { PositionedWriter } from "../../importer/targets/positioned-writer.ts";
import type { WriterSpec } from "../../importer/targets/positioned-writer.ts";

export interface WriteWork {
  readonly spec: WriterSpec;
  readonly offset: number;
  readonly pieces: number;
  readonly pieceLength: number;
  /** Writes piece `first`, `first + step`, … each filled with its index. */
  readonly first: number;
  readonly step: number;
  /** One Int32: how many threads have yet to come; nobody starts before that. */
  readonly toCome: SharedArrayBuffer;
}

const { spec, offset, pieces, pieceLength, first, step, toCome } = workerData as WriteWork;
const barrier = new Int32Array(toCome);
if (Atomics.sub(barrier, 0, 1) === 1) Atomics.notify(barrier, 0);
for (let left = Atomics.load(barrier, 0); left > 0; left = Atomics.load(barrier, 0)) Atomics.wait(barrier, 0, left);
const writer = new PositionedWriter(spec);
for (let i = first; i < pieces; i += step) {
  writer.write(new Uint8Array(pieceLength).fill(i), offset + i * pieceLength);
}
