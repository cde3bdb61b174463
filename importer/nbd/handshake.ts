/**
 * The beginning of an NBD connection: fixed newstyle negotiation, structured replies and block status where the server has
 * them, then the default export. TLS and oldstyle servers are not supported: the socket is a Unix socket on this machine.
 */
import { SourceError } from "../errors.ts";
import { plainText } from "../http/redact.ts";
import {
  FLAG_FIXED_NEWSTYLE,
  FLAG_NO_ZEROES,
  IHAVEOPT,
  INFO_EXPORT,
  lengthAnd,
  NBDMAGIC,
  OPT_GO,
  OPT_REPLY_MAGIC,
  OPT_SET_META_CONTEXT,
  OPT_STRUCTURED_REPLY,
  optionRequest,
  REP_ACK,
  REP_ERR_UNKNOWN,
  REP_FLAG_ERROR,
  REP_INFO,
  REP_META_CONTEXT,
} from "./protocol.ts";
import type { Wire } from "./wire.ts";

export interface Export {
  /** Bytes. */
  readonly size: number;
  readonly isStructured: boolean;
  /** Number of the allocation map; undefined: there is none. */
  readonly allocation: number | undefined;
}

/** Longest answer to an option; real ones are below 100 bytes. */
const MAX_REPLY_LENGTH = 64 * 1024;

/** How many answers one option may have; real servers give four. */
const MAX_REPLIES = 64;

const ALLOCATION = "base:allocation";

/** @throws SourceError SOURCE_NOT_FOUND if the server has no default export, SOURCE_UNAVAILABLE */
export async function shakeHands(wire: Wire): Promise<Export> {
  const greeting = await wire.read(18);
  if (greeting.toString("latin1", 0, 16) !== NBDMAGIC + IHAVEOPT) throw wire.violation("it greets otherwise");
  const flags = greeting.readUInt16BE(16);
  if ((flags & FLAG_FIXED_NEWSTYLE) === 0) throw wire.violation("it is too old");
  const answer = Buffer.alloc(4);
  answer.writeUInt32BE(flags & (FLAG_FIXED_NEWSTYLE | FLAG_NO_ZEROES));
  wire.write(answer);
  const isStructured = (await ask(wire, OPT_STRUCTURED_REPLY, Buffer.alloc(0))).refusal === undefined;
  const allocation = isStructured ? await askAllocation(wire) : undefined;
  return { size: await go(wire), isStructured, allocation };
}

async function askAllocation(wire: Wire): Promise<number | undefined> {
  const queries = Buffer.concat([lengthAnd(""), Buffer.from([0, 0, 0, 1]), lengthAnd(ALLOCATION)]);
  const { replies } = await ask(wire, OPT_SET_META_CONTEXT, queries);
  const found = replies.find(
    ({ type, data }) => type === REP_META_CONTEXT && data.toString("latin1", 4) === ALLOCATION,
  );
  return found?.data.readUInt32BE(0);
}

async function go(wire: Wire): Promise<number> {
  const { replies, refusal } = await ask(wire, OPT_GO, Buffer.concat([lengthAnd(""), Buffer.alloc(2)]));
  if (refusal !== undefined) {
    const words = refusal.data.length === 0 ? "" : `: ${plainText(refusal.data.toString())}`;
    const code = refusal.type === REP_ERR_UNKNOWN ? "SOURCE_NOT_FOUND" : "SOURCE_UNAVAILABLE";
    throw new SourceError(code, `${wire.name} does not give its disk${words}`, { context: { reply: refusal.type } });
  }
  const info = replies.find(
    ({ type, data }) => type === REP_INFO && data.length === 12 && data.readUInt16BE(0) === INFO_EXPORT,
  );
  if (info === undefined) throw wire.violation("it does not say how long its disk is");
  const size = info.data.readBigUInt64BE(2);
  if (size > BigInt(Number.MAX_SAFE_INTEGER)) throw wire.violation(`its disk has ${size} bytes`);
  return Number(size);
}

interface Reply {
  readonly type: number;
  readonly data: Buffer;
}

/** Replies up to the acknowledgement, or the one that is an error. */
async function ask(
  wire: Wire,
  option: number,
  data: Buffer,
): Promise<{ readonly replies: readonly Reply[]; readonly refusal: Reply | undefined }> {
  wire.write(optionRequest(option, data));
  const replies: Reply[] = [];
  while (replies.length < MAX_REPLIES) {
    const head = await wire.read(20);
    const length = head.readUInt32BE(16);
    if (head.readBigUInt64BE(0) !== OPT_REPLY_MAGIC || head.readUInt32BE(8) !== option || length > MAX_REPLY_LENGTH) {
      throw wire.violation("an answer to an option is none");
    }
    const reply = { type: head.readUInt32BE(12), data: await wire.read(length) };
    if (reply.type === REP_ACK) return { replies, refusal: undefined };
    if (reply.type >= REP_FLAG_ERROR) return { replies, refusal: reply };
    if (reply.type === REP_META_CONTEXT && length < 4) throw wire.violation("a meta context without a number");
    replies.push(reply);
  }
  throw wire.violation("an option has no end of answers");
}
