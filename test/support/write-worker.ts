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
}

const { spec, offset, pieces, pieceLength, first, step } = workerData as WriteWork;
const writer = new PositionedWriter(spec);
for (let i = first; i < pieces; i += step) {
  writer.write(new Uint8Array(pieceLength).fill(i), offset + i * pieceLength);
}
