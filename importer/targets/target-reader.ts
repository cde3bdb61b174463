/**
 * Reads a finished target again, in order, and passes over what its file has as holes.
 */
import { MIB } from "../../formats/bytes.ts";
import { TargetError } from "../errors.ts";
import type { Target } from "./target.ts";

/** A piece of the disk; without bytes it is zeros. The bytes are valid until the next piece is asked for. */
export interface TargetPiece {
  readonly offset: number;
  readonly length: number;
  readonly bytes: Uint8Array | undefined;
}

const PIECE_LENGTH = MIB;

/**
 * Ascending, contiguous pieces of [0, size).
 * @throws TargetError TARGET_IO where the target ends before `size`, or cannot be read
 */
export function* readTarget(target: Target, size: number): Generator<TargetPiece> {
  const buffer = Buffer.alloc(Math.min(PIECE_LENGTH, size));
  let offset = 0;
  while (offset < size) {
    const dataStart = Math.min(size, target.nextData(offset));
    if (dataStart > offset) {
      yield { offset, length: dataStart - offset, bytes: undefined };
      offset = dataStart;
      continue;
    }
    const piece = buffer.subarray(0, Math.min(buffer.length, size - offset));
    if (target.readAt(piece, offset) < piece.length) {
      throw new TargetError("TARGET_IO", `${target.name} ends before ${offset + piece.length}`, {
        context: { offset, size },
      });
    }
    yield { offset, length: piece.length, bytes: piece };
    offset += piece.length;
  }
}
