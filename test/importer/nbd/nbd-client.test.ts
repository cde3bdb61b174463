import assert from "node:assert/strict";
import net from "node:net";
import path from "node:path";
import { describe, it } from "node:test";
import { Interrupted, SourceError } from "../../../importer/errors.ts";
import { NbdClient } from "../../../importer/nbd/nbd-client.ts";
import { withTemporaryFolder } from "../../support/temporary-folder.ts";

const GREETING = Buffer.from("NBDMAGICIHAVEOPT\0\x03", "latin1");
const DISK_SIZE = 4096;
/** What the client begins with. */
const FLAGS_LENGTH = 4;

function numbers(...parts: (readonly [bits: 16 | 32 | 64, value: number])[]): Buffer {
  return Buffer.concat(
    parts.map(([bits, value]) => {
      const bytes = Buffer.alloc(8);
      bytes.writeBigUInt64BE(BigInt(value));
      return bytes.subarray(8 - bits / 8);
    }),
  );
}

/** An answer to an option. */
function reply(option: number, type: number, data: Uint8Array = Buffer.alloc(0)): Buffer {
  return Buffer.concat([
    Buffer.from("0003e889045565a9", "hex"),
    numbers([32, option], [32, type], [32, data.length]),
    data,
  ]);
}

const STRUCTURED = reply(8, 1);
const ALLOCATION = Buffer.concat([reply(10, 4, Buffer.from("\0\0\0\x09base:allocation", "latin1")), reply(10, 1)]);
const EXPORT = Buffer.concat([reply(7, 3, numbers([16, 0], [64, DISK_SIZE], [16, 1])), reply(7, 1)]);

/** A chunk of a structured reply to the first request. */
function chunk(type: number, payload: Buffer, flags = 1): Buffer {
  const head = numbers([32, 0x668e33ef], [16, flags], [16, type], [64, 1], [32, payload.length]);
  return Buffer.concat([head, payload]);
}

/** A server that answers what it is asked with the next of `answers`, whatever that is. */
async function withAnswers<T>(
  answers: readonly Buffer[],
  use: (connect: (signal?: AbortSignal) => Promise<NbdClient>) => Promise<T>,
): Promise<T> {
  return await withTemporaryFolder(async (folder) => {
    const socket = path.join(folder, "nbd.sock");
    const connections = new Set<net.Socket>();
    const server = net.createServer((connection) => {
      connections.add(connection);
      const left = [...answers];
      let asked: Buffer = Buffer.alloc(0);
      let at = FLAGS_LENGTH;
      connection.on("error", () => undefined);
      connection.write(left.shift() ?? "");
      connection.on("data", (piece: Buffer) => {
        asked = Buffer.concat([asked, piece]);
        for (let end = endOfRequest(asked, at); end <= asked.length; end = endOfRequest(asked, at)) {
          at = end;
          const next = left.shift();
          if (next === undefined) connection.end();
          else connection.write(next);
        }
      });
    });
    await new Promise<void>((resolve) => server.listen(socket, resolve));
    const clients: NbdClient[] = [];
    try {
      return await use(async (signal = new AbortController().signal) => {
        const client = await NbdClient.connect(socket, 300, signal);
        clients.push(client);
        return client;
      });
    } finally {
      for (const client of clients) client.close();
      for (const connection of connections) connection.destroy();
      await new Promise((resolve) => server.close(resolve));
    }
  });
}

/** Where the option or the command that begins at `at` ends; Infinity if nobody can tell yet. */
function endOfRequest(bytes: Buffer, at: number): number {
  if (bytes.length < at + 16) return Infinity;
  return bytes.toString("latin1", at, at + 8) === "IHAVEOPT" ? at + 16 + bytes.readUInt32BE(at + 12) : at + 28;
}

function handshake(...rest: readonly Buffer[]): Buffer[] {
  return [GREETING, STRUCTURED, ALLOCATION, EXPORT, ...rest];
}

function fails(code: string, words: RegExp) {
  return (error: unknown): boolean => {
    assert.ok(error instanceof SourceError, String(error));
    assert.equal(error.code, code, error.message);
    assert.match(error.message, words);
    return true;
  };
}

describe("NbdClient", () => {
  it("puts a read together out of data and holes, in any order", async () => {
    const data = Buffer.concat([numbers([64, 1024]), Buffer.alloc(512, 7)]);
    const answer = Buffer.concat([
      chunk(1, data, 0),
      chunk(2, numbers([64, 0], [32, 1024]), 0),
      chunk(2, numbers([64, 1536], [32, 512]), 0),
      chunk(0, Buffer.alloc(0)),
    ]);
    await withAnswers(handshake(answer), async (connect) => {
      const client = await connect();
      assert.equal(client.size, DISK_SIZE);
      assert.ok(
        (await client.read(0, 2048)).equals(
          Buffer.concat([Buffer.alloc(1024), Buffer.alloc(512, 7), Buffer.alloc(512)]),
        ),
      );
    });
  });

  it("takes the allocation map, and no other", async () => {
    const status = chunk(5, numbers([32, 9], [32, 512], [32, 3], [32, 8192], [32, 0]));
    await withAnswers(handshake(status), async (connect) => {
      assert.deepEqual(await (await connect()).blockStatus(0, 4096), [
        { length: 512, isZero: true },
        { length: 8192, isZero: false },
      ]);
    });
    await withAnswers(handshake(chunk(5, numbers([32, 8], [32, 512], [32, 3]))), async (connect) => {
      assert.equal(await (await connect()).blockStatus(0, 4096), undefined);
    });
  });

  it("names a handshake that is none", async () => {
    const cases: [answers: Buffer[], code: string, words: RegExp][] = [
      [[Buffer.from("SSH-2.0-OpenSSH_9.2p1 Debian")], "SOURCE_UNAVAILABLE", /greets otherwise/],
      [[Buffer.from("NBDMAGICIHAVEOPT\0\0", "latin1")], "SOURCE_UNAVAILABLE", /too old/],
      [[Buffer.from("NBDM")], "SOURCE_UNAVAILABLE", /no byte for 0.3 seconds/],
      [handshake().with(1, reply(8, 1, Buffer.alloc(70_000))), "SOURCE_UNAVAILABLE", /answer to an option is none/],
      [handshake().with(1, reply(9, 1)), "SOURCE_UNAVAILABLE", /answer to an option is none/],
      [
        handshake().with(2, Buffer.concat(Array<Buffer>(70).fill(reply(10, 3)))),
        "SOURCE_UNAVAILABLE",
        /no end of answers/,
      ],
      [handshake().with(2, reply(10, 4, Buffer.alloc(3))), "SOURCE_UNAVAILABLE", /without a number/],
      [handshake().with(3, reply(7, 1)), "SOURCE_UNAVAILABLE", /how long its disk is/],
      [
        handshake().with(3, reply(7, 0x80000006, Buffer.from("no\nsuch export"))),
        "SOURCE_NOT_FOUND",
        /does not give its disk: no such export$/,
      ],
      [handshake().with(3, reply(7, 0x80000002)), "SOURCE_UNAVAILABLE", /does not give its disk$/],
      [handshake().slice(0, 3), "SOURCE_TRUNCATED", /hung up/],
      [
        handshake().with(3, Buffer.concat([reply(7, 3, numbers([16, 0], [64, 2 ** 53], [16, 1])), reply(7, 1)])),
        "SOURCE_UNAVAILABLE",
        /its disk has 9007199254740992 bytes/,
      ],
    ];
    for (const [answers, code, words] of cases) {
      await withAnswers(answers, async (connect) => await assert.rejects(connect(), fails(code, words)));
    }
  });

  it("believes no answer that is not one to what was asked", async () => {
    const cases: [answer: Buffer, words: RegExp][] = [
      [Buffer.from("HTTP/1.1 400 Bad Request\r\n"), /an answer is none/],
      [chunk(1, Buffer.concat([numbers([64, 0]), Buffer.alloc(600)])), /more data than was asked for/],
      [chunk(1, numbers([64, 5000])), /nobody asked for/],
      [chunk(1, Buffer.alloc(4)), /without an offset/],
      [chunk(1, Buffer.concat([numbers([64, 0]), Buffer.alloc(100)])), /another number of bytes/],
      [chunk(2, numbers([64, 0], [32, 1000])), /hole outside/],
      [chunk(2, numbers([64, 0])), /hole of another length/],
      [chunk(0, Buffer.alloc(1)), /an answer of type 0/],
      [chunk(77, Buffer.alloc(0)), /an answer of type 77/],
      [chunk(0x8001, numbers([32, 28], [16, 0])), /cannot read at 0: error 28/],
      [chunk(0x8001, Buffer.alloc(5000)), /error of another length/],
      [chunk(5, Buffer.alloc(8)), /block status of another length/],
      [chunk(5, numbers([32, 9], [32, 0], [32, 0])), /without a length/],
      [numbers([32, 0x67446698], [32, 0], [64, 2]), /answer to nothing/],
      [numbers([32, 0x67446698], [32, 5], [64, 1]), /error 5/],
      [chunk(0, Buffer.alloc(0), 0), /no byte for/],
    ];
    for (const [answer, words] of cases) {
      await withAnswers(handshake(answer), async (connect) => {
        const client = await connect();
        await assert.rejects(client.read(0, 512), fails("SOURCE_UNAVAILABLE", words));
      });
    }
  });

  it("ends all that wait with the connection, and what comes later at once", async () => {
    await withAnswers(handshake(), async (connect) => {
      const client = await connect();
      const both = [client.read(0, 512), client.read(512, 512)];
      for (const read of both) await assert.rejects(read, fails("SOURCE_TRUNCATED", /hung up/));
      await assert.rejects(client.read(0, 512), fails("SOURCE_TRUNCATED", /hung up/));
    });
  });

  it("is interrupted while it connects", async () => {
    const stop = new AbortController();
    await withAnswers([GREETING.subarray(0, 4)], async (connect) => {
      setTimeout(() => stop.abort(), 30);
      await assert.rejects(connect(stop.signal), Interrupted);
      await assert.rejects(connect(stop.signal), Interrupted);
    });
  });

  it("says where no server is", async () => {
    await withTemporaryFolder(async (folder) => {
      const socket = path.join(folder, "none.sock");
      await assert.rejects(
        NbdClient.connect(socket, 1000, new AbortController().signal),
        fails("SOURCE_UNAVAILABLE", /^no NBD server answers at .*none\.sock$/),
      );
    });
  });
});
