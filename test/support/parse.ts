/**
 * Drives parsers from bytes in memory: whole, or as a stream that passes once.
 *
 * `readDisk` is the reference that every test compares with: it asks a DiskImage for its extents and decodes them with
 * nothing but node:zlib.
 */
import assert from "node:assert/strict";
import zlib from "node:zlib";
import { MAX_ANNOUNCED, MAX_NEED_LENGTH } from "../../formats/disk-format.ts";
import type { DiskFormat, DiskImage, Extent, Need, Parsing } from "../../formats/disk-format.ts";
import { FormatError } from "../../formats/errors.ts";

/** Answers one Need from `file`; throws what a driver throws where the file ends too early. */
export function answer(file: Uint8Array, need: Need): Uint8Array {
  assert.ok(Number.isSafeInteger(need.offset) && need.offset >= 0, `need at ${need.offset}`);
  assert.ok(need.length >= 1 && need.length <= MAX_NEED_LENGTH, `need of ${need.length} bytes`);
  const bytes = file.subarray(need.offset, need.offset + need.length);
  if (bytes.length < need.length && need.shortAtEnd !== true) {
    throw new FormatError("FORMAT_INVALID", `the file ends at ${file.length}, inside a structure at ${need.offset}`);
  }
  // A copy that is wiped afterwards would show a parser that keeps what is only lent.
  return Uint8Array.from(bytes);
}

/** Runs a parsing to its end on a file in memory. Bytes sent are overwritten after the next yield. */
export function parse<T>(file: Uint8Array, parsing: Parsing<T>, needs?: Need[]): T {
  let step = parsing.next();
  while (step.done !== true) {
    needs?.push(step.value);
    const bytes = answer(file, step.value);
    step = parsing.next(bytes);
    bytes.fill(0xa5);
  }
  return step.value;
}

export function openImage(format: DiskFormat, file: Uint8Array): DiskImage {
  return parse(file, format.open(file.length));
}

/** All extents of the disk, asked for in steps of `step` bytes. */
export function allExtents(image: DiskImage, file: Uint8Array, step = Number.MAX_SAFE_INTEGER): Extent[] {
  const size = image.virtualSize ?? 0;
  const extents: Extent[] = [];
  let offset = 0;
  while (offset < size) {
    const asked = Math.min(step, size - offset);
    const part = parse(file, image.extents(offset, asked));
    assert.ok(part.length > 0 && part.length <= MAX_ANNOUNCED, `${part.length} extents at ${offset}`);
    for (const extent of part) {
      assert.equal(extent.offset, offset, "extents are contiguous");
      assert.ok(extent.length > 0);
      offset += extent.length;
      extents.push(extent);
    }
    assert.ok(offset <= size);
  }
  return extents;
}

/** The bytes of one extent, decoded from `file`. */
export function extentBytes(extent: Extent, file: Uint8Array): Uint8Array {
  if (extent.kind !== "data") return new Uint8Array(extent.length);
  const { stored } = extent;
  if (stored.encoding === "inline") return stored.bytes;
  const bytes = file.subarray(stored.offset, stored.offset + stored.length);
  if (stored.encoding === "plain") {
    const whole = new Uint8Array(extent.length); // the last cluster may be cut short by the end of the file
    whole.set(bytes);
    return whole;
  }
  const decoded = new Uint8Array(stored.decodedLength);
  decoded.set(decode(stored.encoding, bytes).subarray(0, stored.decodedLength));
  return decoded.subarray(stored.skip, stored.skip + extent.length);
}

function decode(encoding: "deflate" | "zlib" | "zstd" | "vmdk-grain", bytes: Uint8Array): Uint8Array {
  if (encoding === "deflate") return zlib.inflateRawSync(bytes, { finishFlush: zlib.constants.Z_SYNC_FLUSH });
  if (encoding === "zlib") return zlib.inflateSync(bytes, { finishFlush: zlib.constants.Z_SYNC_FLUSH });
  if (encoding === "zstd") {
    // What follows the frame in its last sector is not ours.
    return zlib.zstdDecompressSync(bytes, { finishFlush: zlib.constants.ZSTD_e_continue });
  }
  const length = new DataView(bytes.buffer, bytes.byteOffset).getUint32(8, true);
  return zlib.inflateSync(bytes.subarray(12, 12 + length));
}

/** The whole disk through random access. For small disks. */
export function readDisk(format: DiskFormat, file: Uint8Array, step?: number): Uint8Array {
  const image = openImage(format, file);
  const disk = new Uint8Array(image.virtualSize ?? 0);
  for (const extent of allExtents(image, file, step)) disk.set(extentBytes(extent, file), extent.offset);
  return disk;
}

export interface Scanned {
  readonly disk: Uint8Array;
  readonly needs: readonly Need[];
  /** Host offsets below the highest one delivered so far that were asked for, or announced, later: what a stream would have to hold. */
  readonly lateBytes: number;
}

/** The whole disk through a single pass, with the bytes that a stream's driver would have had to hold counted. */
export function scanDisk(format: DiskFormat, file: Uint8Array, ...hostSize: [number | undefined] | []): Scanned {
  const image = parse(file, format.open(hostSize.length === 0 ? file.length : hostSize[0]));
  const scan = image.scan();
  const pieces: Extent[] = [];
  const needs: Need[] = [];
  let passed = 0;
  let lateBytes = 0;
  let step = scan.next();
  while (step.done !== true) {
    const value = step.value;
    if (!("length" in value) || Array.isArray(value)) {
      const announced = value as readonly Extent[];
      assert.ok(announced.length > 0 && announced.length <= MAX_ANNOUNCED);
      for (const extent of announced) {
        pieces.push(extent);
        if (extent.kind !== "data" || extent.stored.encoding === "inline") continue;
        lateBytes += Math.max(0, Math.min(passed, extent.stored.offset + extent.stored.length) - extent.stored.offset);
      }
      step = scan.next();
      continue;
    }
    const need = value as Need;
    needs.push(need);
    if (need.peek !== true) lateBytes += Math.max(0, Math.min(passed, need.offset + need.length) - need.offset);
    passed = Math.max(passed, need.offset + (need.peek === true ? 0 : need.length));
    const bytes = answer(file, need);
    step = scan.next(bytes);
    bytes.fill(0xa5);
  }
  const disk = new Uint8Array(step.value.virtualSize);
  for (const extent of pieces) disk.set(extentBytes(extent, file), extent.offset);
  return { disk, needs, lateBytes };
}
