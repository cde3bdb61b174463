/**
 * Writes VHD images that qemu-img cannot: any creator and geometry, block size, partial bitmaps, blocks out of order.
 *
 * Offsets are those of Microsoft's Virtual Hard Disk Image Format Specification 1.0; all numbers are big-endian.
 */

export interface FooterFields {
  /** 2 fixed, 3 dynamic, 4 differencing. */
  readonly type: number;
  readonly currentSize: number;
  readonly creator?: string;
  /** Cylinders, heads, sectors per track. */
  readonly geometry?: readonly [number, number, number];
}

export function buildFooter({ type, currentSize, creator = "win ", geometry = [1, 1, 1] }: FooterFields): Buffer {
  const footer = Buffer.alloc(512);
  footer.write("conectix", 0, "latin1");
  footer.writeUInt32BE(2, 8); // features: reserved, always set
  footer.writeUInt32BE(0x00010000, 12); // version of the format
  footer.writeBigUInt64BE(type === 2 ? 0xffff_ffff_ffff_ffffn : 512n, 16); // data offset
  footer.write(creator, 28, "latin1");
  footer.write("Wi2k", 36, "latin1"); // creator's host
  footer.writeBigUInt64BE(BigInt(currentSize), 40); // original size
  footer.writeBigUInt64BE(BigInt(currentSize), 48);
  footer.writeUInt16BE(geometry[0], 56);
  footer.writeUInt8(geometry[1], 58);
  footer.writeUInt8(geometry[2], 59);
  footer.writeUInt32BE(type, 60);
  footer.fill(0x33, 68, 84); // unique id
  return sealed(footer, 64);
}

/** `structure` with the right checksum at `at`. */
export function sealed(structure: Buffer, at: number): Buffer {
  structure.writeUInt32BE(0, at);
  let sum = 0;
  for (const byte of structure) sum += byte;
  structure.writeUInt32BE(~sum >>> 0, at);
  return structure;
}

export interface VhdParts extends Omit<FooterFields, "type"> {
  readonly type?: number;
  readonly blockSize: number;
  /** For each block of the disk the place of its block in `blocks`, or undefined. */
  readonly table: readonly (number | undefined)[];
  readonly blocks: readonly Uint8Array[];
  /** The bitmap of each block; all ones without it. */
  readonly bitmap?: number;
}

export const HEADER_AT = 512;
export const TABLE_AT = 1536;

export function buildDynamicVhd(parts: VhdParts): Buffer {
  const { blockSize, table, blocks } = parts;
  const footer = buildFooter({ ...parts, type: parts.type ?? 3 });
  const header = Buffer.alloc(1024);
  header.write("cxsparse", 0, "latin1");
  header.fill(0xff, 8, 16); // data offset: unused
  header.writeBigUInt64BE(BigInt(TABLE_AT), 16);
  header.writeUInt32BE(0x00010000, 24);
  header.writeUInt32BE(table.length, 28);
  header.writeUInt32BE(blockSize, 32);
  sealed(header, 36);

  const bitmapLength = Math.ceil(blockSize / 512 / 8 / 512) * 512;
  const dataAt = TABLE_AT + Math.ceil((table.length * 4) / 512) * 512;
  const stride = bitmapLength + blockSize;
  const bat = Buffer.alloc(dataAt - TABLE_AT, 0xff);
  table.forEach((block, i) => {
    if (block !== undefined) bat.writeUInt32BE((dataAt + block * stride) / 512, i * 4);
  });
  const body = Buffer.alloc(blocks.length * stride);
  blocks.forEach((block, i) => {
    body.fill(parts.bitmap ?? 0xff, i * stride, i * stride + bitmapLength);
    body.set(block, i * stride + bitmapLength);
  });
  return Buffer.concat([footer, header, bat, body, footer]);
}
