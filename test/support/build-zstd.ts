/**
 * Builds zstd frames of blocks that are stored as they are, so that any header can be set and any block have any length.
 * @see RFC 8878, 3.1.1
 */

const MAGIC = 0xfd2fb528;
const SKIPPABLE_MAGIC = 0x184d2a5e;
const MAX_BLOCK_LENGTH = 128 * 1024;

export interface ZstdFrameFields {
  /** The window descriptor: exponent * 8 + mantissa. 0x58 is 2 MiB. */
  readonly windowDescriptor?: number;
  /** Length of the first block; of all others it is the largest allowed. */
  readonly firstBlock?: number;
}

/** One frame, without content size and checksum, that holds `content`. */
export function rawZstdFrame(content: Uint8Array, fields: ZstdFrameFields = {}): Buffer {
  const header = Buffer.alloc(6);
  header.writeUInt32LE(MAGIC, 0);
  header[5] = fields.windowDescriptor ?? 0x58;
  const parts: Uint8Array[] = [header];
  for (let at = 0; at < content.length;) {
    const most = at === 0 ? (fields.firstBlock ?? MAX_BLOCK_LENGTH) : MAX_BLOCK_LENGTH;
    const block = content.subarray(at, at + most);
    at += block.length;
    const blockHeader = Buffer.alloc(3);
    blockHeader.writeUIntLE((at === content.length ? 1 : 0) | (block.length << 3), 0, 3);
    parts.push(blockHeader, block);
  }
  return Buffer.concat(parts);
}

export function skippableFrame(content: Uint8Array): Buffer {
  const header = Buffer.alloc(8);
  header.writeUInt32LE(SKIPPABLE_MAGIC, 0);
  header.writeUInt32LE(content.length, 4);
  return Buffer.concat([header, content]);
}
