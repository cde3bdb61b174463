/**
 * Writes VDI images that qemu-img cannot: other block sizes, zero blocks, blocks out of order, other types.
 *
 * Offsets are those of VirtualBox's VDICore.h: a pre-header of text (64), signature and version, then the header.
 */

export interface VdiParts {
  readonly type?: number;
  readonly version?: number;
  readonly blockSize?: number;
  readonly virtualSize: number;
  /** One entry per block of the disk. */
  readonly map: readonly number[];
  /** The content of the blocks in the file, in file order. */
  readonly blocks: readonly Uint8Array[];
}

const MAP_AT = 512;

export function buildVdi(parts: VdiParts): Buffer {
  const blockSize = parts.blockSize ?? 1024 * 1024;
  const dataAt = Math.ceil((MAP_AT + parts.map.length * 4) / 512) * 512;
  const file = Buffer.alloc(dataAt + parts.blocks.length * blockSize);
  file.write("<<< a virtual disk >>>\n", 0, "latin1");
  file.writeUInt32LE(0xbeda107f, 0x40); // signature
  file.writeUInt32LE(parts.version ?? 0x00010001, 0x44);
  file.writeUInt32LE(400, 0x48); // size of the header
  file.writeUInt32LE(parts.type ?? 1, 0x4c);
  file.writeUInt32LE(MAP_AT, 0x154);
  file.writeUInt32LE(dataAt, 0x158);
  file.writeUInt32LE(512, 0x168); // sector size
  file.writeBigUInt64LE(BigInt(parts.virtualSize), 0x170);
  file.writeUInt32LE(blockSize, 0x178);
  file.writeUInt32LE(parts.map.length, 0x180);
  file.writeUInt32LE(parts.blocks.length, 0x184);
  file.fill(0x5a, 0x188, 0x1a8); // UUIDs of the image and of its last change
  parts.map.forEach((entry, i) => file.writeUInt32LE(entry, MAP_AT + i * 4));
  parts.blocks.forEach((block, i) => file.set(block, dataAt + i * blockSize));
  return file;
}
