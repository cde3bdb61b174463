/**
 * What a job runs between: an image file and a target file, both without names, and rows built by hand.
 */
import fs from "node:fs";
import type { DecoderChoice } from "../../formats/codecs/codec.ts";
import { ITEM_FIELDS, setItem } from "../../importer/engine/job.ts";
import type { Job, JobInput } from "../../importer/engine/job.ts";
import type { PoolSpec } from "../../importer/engine/job-pool.ts";
import type { DataExtent } from "../../importer/engine/planner.ts";
import { openRandomAccess } from "../../importer/random-access.ts";
import type { LocalAccess, RandomAccess } from "../../importer/random-access.ts";
import type { WriterSpec } from "../../importer/targets/positioned-writer.ts";
import { allocateLocks } from "../../importer/targets/shared-locks.ts";
import { openUnnamed } from "../../importer/temporary-file.ts";
import { memoryFolder } from "./temporary-folder.ts";

/** Calls `body` with a file that holds `bytes`. */
export async function withStored<T>(bytes: Uint8Array, body: (file: LocalAccess) => T | Promise<T>): Promise<T> {
  const fd = openUnnamed(memoryFolder());
  try {
    fs.writeSync(fd, bytes, 0, bytes.length, 0);
    return await body(openRandomAccess({ fd, name: "the stored image", size: bytes.length }));
  } finally {
    fs.closeSync(fd);
  }
}

/** What is written with to a file as it is, its dirty pages nobody's. */
export function fileWriter(fd: number): WriterSpec {
  return {
    fd,
    name: "the target",
    sectorSize: 1,
    capacity: undefined,
    direct: false,
    heldHead: undefined,
    locks: allocateLocks(),
    writeBehind: undefined,
  };
}

export interface JobPlaces {
  readonly file: RandomAccess;
  readonly spec: PoolSpec;
  /** What the target holds now. */
  readonly target: () => Buffer;
}

export interface PlacesOptions {
  /** What the target holds before. */
  readonly target?: Uint8Array;
  readonly startsZeroed?: boolean;
  readonly slab?: SharedArrayBuffer;
  readonly decoders?: DecoderChoice;
}

export async function withJobPlaces<T>(
  image: Uint8Array,
  options: PlacesOptions,
  body: (places: JobPlaces) => T | Promise<T>,
): Promise<T> {
  return await withStored(options.target ?? new Uint8Array(0), (target) =>
    withStored(image, (file) => {
      const { fd } = target.spec;
      const writer = fileWriter(fd);
      return body({
        file,
        spec: {
          read: file.spec,
          slab: options.slab,
          writer,
          startsZeroed: options.startsZeroed ?? true,
          decoders: options.decoders ?? "auto",
        },
        target() {
          const bytes = Buffer.alloc(fs.fstatSync(fd).size);
          fs.readSync(fd, bytes, 0, bytes.length, 0);
          return bytes;
        },
      });
    }),
  );
}

/** A job of `extents`; their stored offsets count as `input` counts. */
export function jobOf(input: JobInput, ...extents: readonly DataExtent[]): Job {
  const items = new Float64Array(extents.length * ITEM_FIELDS);
  for (const [row, extent] of extents.entries()) setItem(items, row, extent, extent.stored.offset);
  return { input, items };
}

export function plain(offset: number, length: number, storedAt: number): DataExtent {
  return { offset, length, stored: { encoding: "plain", offset: storedAt, length } };
}
