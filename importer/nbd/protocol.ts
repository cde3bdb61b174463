/**
 * Numbers of the NBD protocol, under its own names, and the parts of both directions that have a fixed shape.
 * <https://github.com/NetworkBlockDevice/nbd/blob/master/doc/proto.md>
 */

export const NBDMAGIC = "NBDMAGIC";
export const IHAVEOPT = "IHAVEOPT";

export const FLAG_FIXED_NEWSTYLE = 1;
export const FLAG_NO_ZEROES = 2;

export const OPT_GO = 7;
export const OPT_STRUCTURED_REPLY = 8;
export const OPT_SET_META_CONTEXT = 10;

export const OPT_REPLY_MAGIC = 0x0003_e889_0455_65a9n;
export const REP_ACK = 1;
export const REP_INFO = 3;
export const REP_META_CONTEXT = 4;
export const REP_ERR_UNKNOWN = 0x8000_0006;
/** This bit makes a reply an error. */
export const REP_FLAG_ERROR = 0x8000_0000;

export const INFO_EXPORT = 0;

const REQUEST_MAGIC = 0x2560_9513;
export const CMD_READ = 0;
export const CMD_DISC = 2;
export const CMD_BLOCK_STATUS = 7;

export const SIMPLE_REPLY_MAGIC = 0x6744_6698;
export const STRUCTURED_REPLY_MAGIC = 0x668e_33ef;
export const REPLY_FLAG_DONE = 1;
export const REPLY_TYPE_NONE = 0;
export const REPLY_TYPE_OFFSET_DATA = 1;
export const REPLY_TYPE_OFFSET_HOLE = 2;
export const REPLY_TYPE_BLOCK_STATUS = 5;
/** This bit makes a chunk an error. */
export const REPLY_TYPE_ERROR = 0x8000;

export const STATE_ZERO = 2;

/** An option of the handshake. */
export function optionRequest(option: number, data: Buffer): Buffer {
  const head = Buffer.alloc(16);
  head.write(IHAVEOPT, "latin1");
  head.writeUInt32BE(option, 8);
  head.writeUInt32BE(data.length, 12);
  return Buffer.concat([head, data]);
}

/** A string with its length before it. */
export function lengthAnd(text: string): Buffer {
  const bytes = Buffer.from(text);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes.length);
  return Buffer.concat([length, bytes]);
}

export function commandRequest(command: number, cookie: number, offset: number, length: number): Buffer {
  const request = Buffer.alloc(28);
  request.writeUInt32BE(REQUEST_MAGIC, 0);
  request.writeUInt16BE(command, 6);
  request.writeUInt32BE(cookie, 12);
  request.writeBigUInt64BE(BigInt(offset), 16);
  request.writeUInt32BE(length, 24);
  return request;
}
