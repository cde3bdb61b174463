/**
 * A connection that fills the caller's memory: what counts as an answer, and that nothing is written once a read is over.
 */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import type { Socket } from "node:net";
import { describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import tls from "node:tls";
import { RangeSocket } from "../../../importer/http/range-socket.ts";
import { baseDisk } from "../../support/base-disk.ts";
import { makeAuthority } from "../../support/certificates.ts";
import { withRawServer, write } from "../../support/raw-server.ts";
import type { RawServer, RawServerSettings } from "../../support/raw-server.ts";
import { until } from "../../support/start-decant.ts";
import { withTemporaryFolder } from "../../support/temporary-folder.ts";
import { requireTools } from "../../support/tools.ts";

const needsOpenssl = requireTools("openssl");

const BODY = baseDisk(300_000).subarray(0, 1000);
const REQUEST = "GET /disk HTTP/1.1\r\nHost: x\r\n\r\n";

/** What memory holds that nobody wrote to. */
const UNTOUCHED = 0xa5;

function head(...fields: readonly string[]): string {
  return ["HTTP/1.1 206 Partial Content", ...fields, "", ""].join("\r\n");
}

const HEAD = head("Content-Range: bytes 0-999/300000", `Content-Length: ${BODY.length}`);
const WHOLE = Buffer.concat([Buffer.from(HEAD), BODY]);

interface Setup extends Partial<RawServerSettings> {
  readonly stallMs?: number;
  /** Instead of the server's own. */
  readonly url?: (origin: string) => string;
  readonly security?: tls.ConnectionOptions;
}

/** Runs `use` with a socket to a server that answers everything with `bytes`, unless the setup says how. */
async function withSocket<T>(
  bytes: Uint8Array | string,
  setup: Setup,
  use: (socket: RangeSocket, server: RawServer, again: () => RangeSocket) => Promise<T>,
): Promise<T> {
  const answer = async (socket: Socket): Promise<void> => await write(socket, bytes);
  return await withRawServer({ answer, ...setup }, async (server) => {
    const url = new URL(setup.url?.(server.origin) ?? server.origin);
    const again = (): RangeSocket => new RangeSocket({ url, tls: setup.security, stallMs: setup.stallMs ?? 30_000 });
    const socket = again();
    try {
      return await use(socket, server, again);
    } finally {
      socket.close();
    }
  });
}

interface Filled {
  readonly count: number;
  /** A copy of what was there when the read was over. */
  readonly bytes: Buffer;
  /** Fails if the memory was written to after the read was over. */
  readonly assertLeft: () => void;
}

async function fill(
  socket: RangeSocket,
  length = BODY.length,
  fits: Parameters<RangeSocket["fill"]>[2] = (status) => status === 206,
): Promise<Filled> {
  const into = Buffer.alloc(length, UNTOUCHED);
  const count = await socket.fill(into, REQUEST, fits);
  const bytes = Buffer.from(into);
  into.fill(UNTOUCHED);
  return { count, bytes, assertLeft: () => assert.ok(into.every((byte) => byte === UNTOUCHED)) };
}

async function assertWhole(socket: RangeSocket): Promise<void> {
  const { count, bytes } = await fill(socket);
  assert.equal(count, BODY.length);
  assert.ok(bytes.equals(BODY));
}

/** By one connection, again and again. */
async function assertFillsAgain(socket: RangeSocket, server: RawServer, body: Buffer): Promise<void> {
  for (let i = 0; i < 3; i++) {
    const filled = await fill(socket, body.length);
    assert.equal(filled.count, body.length);
    assert.ok(filled.bytes.equals(body));
    filled.assertLeft();
  }
  assert.equal(server.connections(), 1);
}

/** Sends WHOLE in pieces, with time for each to arrive alone. */
async function inPieces(socket: Socket, ...ends: readonly number[]): Promise<void> {
  let at = 0;
  for (const end of [...ends, WHOLE.length]) {
    await write(socket, WHOLE.subarray(at, end));
    await sleep(1);
    at = end;
  }
}

describe("RangeSocket", () => {
  it("takes a head that is split at any byte, over one connection", async () => {
    const answer = async (socket: Socket, number: number): Promise<void> => await inPieces(socket, number);
    await withSocket("", { answer }, async (socket, server) => {
      for (let i = 0; i < HEAD.length + 2; i++) await assertWhole(socket);
      assert.equal(server.connections(), 1);
      assert.equal(server.requests.length, HEAD.length + 2);
      assert.equal(server.requests[0], REQUEST.trimEnd());
    });
  });

  it("takes an answer byte by byte, or all of it in one packet", async () => {
    const bytewise = async (socket: Socket): Promise<void> => {
      for (const byte of WHOLE) await write(socket, Buffer.of(byte));
    };
    await withSocket("", { answer: bytewise }, async (socket) => await assertWhole(socket));
    await withSocket(WHOLE, {}, async (socket) => {
      for (let i = 0; i < 5; i++) await assertWhole(socket);
    });
  });

  it("writes a long body to where it belongs", async () => {
    const long = baseDisk(3_000_017);
    const bytes = Buffer.concat([Buffer.from(head(`content-length: ${long.length}`)), long]);
    await withSocket(bytes, {}, async (socket, server) => await assertFillsAgain(socket, server, long));
  });

  it("writes to no memory but that of the read under way", async () => {
    await withSocket("", { answer: async (socket) => await inPieces(socket, 40, HEAD.length + 10) }, async (socket) => {
      const before: Filled[] = [];
      for (let i = 0; i < 5; i++) {
        before.push(await fill(socket));
        for (const each of before) each.assertLeft();
      }
      assert.ok(before.every(({ bytes }) => bytes.equals(BODY)));
    });
  });

  for (const [what, field] of [
    ["close", "Connection: close"],
    ["close among others", "connection:  Keep-Alive , CLOSE "],
  ] as const) {
    it(`keeps no connection after ${what}`, async () => {
      const bytes = Buffer.concat([Buffer.from(head(`Content-Length: ${BODY.length}`, field)), BODY]);
      await withSocket(bytes, {}, async (socket, server) => {
        await assertWhole(socket);
        assert.equal(socket.isOpen, false);
        assert.equal((await fill(socket)).count, 0);
        await until(() => server.open() === 0);
        assert.equal(server.requests.length, 1);
      });
    });
  }

  for (const [what, text] of Object.entries({
    "another status": head(`Content-Length: ${BODY.length}`).replace("206", "200"),
    "HTTP/1.0": head(`Content-Length: ${BODY.length}`).replace("1.1", "1.0"),
    "HTTP/2 in words": head(`Content-Length: ${BODY.length}`).replace("HTTP/1.1", "HTTP/2"),
    "an interim answer first": `HTTP/1.1 103 Early Hints\r\n\r\n${HEAD}`,
    "no length": head("Content-Range: bytes 0-999/300000"),
    "a length in words": head("Content-Length: thousand"),
    "a length with a sign": head(`Content-Length: +${BODY.length}`),
    "a list of lengths": head(`Content-Length: ${BODY.length}, ${BODY.length}`),
    "two lengths": head(`Content-Length: ${BODY.length}`, `content-length: ${BODY.length}`),
    "two ranges": head(`Content-Length: ${BODY.length}`, "Content-Range: a", "content-range: b"),
    "two entity tags": head(`Content-Length: ${BODY.length}`, 'ETag: "1"', 'ETag: "2"'),
    chunks: head("Transfer-Encoding: chunked"),
    "chunks and a length": head(`Content-Length: ${BODY.length}`, "Transfer-Encoding: chunked"),
    "a folded field": head(`Content-Length: ${BODY.length}`, "X-Note: a", " b"),
    "a field without a name": head(`Content-Length: ${BODY.length}`, ": x"),
    "a space before the colon": head(`Content-Length : ${BODY.length}`),
    "a line break of its own kind": head(`Content-Length: ${BODY.length}`, "X-Note: a\nb: c"),
    "no status line": `\r\n\r\n`,
    garbage: `\x00\xff\x16\x03 what\r\n\r\n`,
    // A pattern that tries every one of them as the last takes seconds.
    "a field of spaces": head(`Content-Length: 9${" ".repeat(32_000)}9`),
    "a head that is too long": head(`Content-Length: ${BODY.length}`, `X-Note: ${"a".repeat(40_000)}`),
    "a head that never ends": `HTTP/1.1 206 ${"a".repeat(40_000)}`,
  })) {
    it(`leaves ${what} to others`, async () => {
      await withSocket(Buffer.concat([Buffer.from(text, "latin1"), BODY]), {}, async (socket, server) => {
        const filled = await fill(socket);
        assert.equal(filled.count, 0);
        assert.ok(
          filled.bytes.every((byte) => byte === UNTOUCHED),
          "nothing was written",
        );
        assert.equal(socket.isOpen, false);
        await until(() => server.open() === 0);
        filled.assertLeft();
      });
    });
  }

  it("is asked by the fields whether an answer fits", async () => {
    const bytes = Buffer.concat([
      Buffer.from(head(`Content-Length:${BODY.length}`, 'ETag:  \t"a b" \t', "X-Empty:")),
      BODY,
    ]);
    await withSocket(bytes, {}, async (socket) => {
      const seen: unknown[] = [];
      await fill(socket, BODY.length, (status, headers) => {
        seen.push(status, ...["eTAG", "Content-Length", "x-empty", "x-none"].map((name) => headers.get(name)));
        return false;
      });
      assert.deepEqual(seen, [206, '"a b"', "1000", "", null]);
    });
  });

  it("ends with more bytes than were asked for, whether they come with the head or later", async () => {
    const more = Buffer.concat([WHOLE, BODY]);
    await withSocket(more, {}, async (socket, server) => {
      assert.equal((await fill(socket)).count, 0, "within one packet they tell that the answer is none");
      await until(() => server.open() === 0);
    });
    const answer = async (socket: Socket): Promise<void> => {
      await inPieces(socket);
      await sleep(20);
      await write(socket, BODY);
    };
    await withSocket("", { answer }, async (socket, server) => {
      const filled = await fill(socket);
      assert.ok(filled.bytes.equals(BODY));
      await until(() => !socket.isOpen);
      filled.assertLeft();
      assert.equal((await fill(socket)).count, 0);
      assert.equal(server.requests.length, 1);
    });
  });

  it("ends with bytes that come before anything was asked", async () => {
    await withSocket(WHOLE, { greeting: HEAD }, async (socket, server) => {
      await until(() => !socket.isOpen);
      assert.equal((await fill(socket)).count, 0);
      await until(() => server.open() === 0);
      assert.equal(server.requests.length, 0);
    });
  });

  for (const cut of [0, 10, HEAD.length, HEAD.length + 1, WHOLE.length - 1]) {
    it(`counts what came where the server ends after ${cut} bytes`, async () => {
      for (const way of ["end", "reset"] as const) {
        const answer = async (socket: Socket): Promise<void> => {
          await write(socket, WHOLE.subarray(0, cut));
          if (way === "end") socket.end();
          else {
            await sleep(20); // a reset takes with it what was not read yet
            socket.resetAndDestroy();
          }
        };
        await withSocket("", { answer }, async (socket) => {
          const { count, bytes } = await fill(socket);
          assert.equal(count, Math.max(0, cut - HEAD.length));
          assert.ok(bytes.subarray(0, count).equals(BODY.subarray(0, count)));
          assert.ok(bytes.subarray(count).every((byte) => byte === UNTOUCHED));
          assert.equal(socket.isOpen, false);
        });
      }
    });
  }

  for (const came of [0, 10, HEAD.length + 100]) {
    it(`waits for a silent server only so long (${came} bytes came)`, async () => {
      await withSocket(WHOLE.subarray(0, came), { stallMs: 60 }, async (socket, server) => {
        const filled = await fill(socket);
        assert.equal(filled.count, Math.max(0, came - HEAD.length));
        assert.equal(socket.isOpen, false);
        await until(() => server.open() === 0);
      });
    });
  }

  it("is closed while it waits, and by itself when the server leaves or nothing is asked for", async () => {
    let late: Socket | undefined;
    const answer = async (socket: Socket): Promise<void> => {
      late = socket;
      await write(socket, WHOLE.subarray(0, HEAD.length + 7));
    };
    await withSocket("", { answer }, async (socket, server) => {
      const answered = fill(socket);
      await until(() => server.requests.length === 1);
      await sleep(20);
      socket.close();
      const filled = await answered;
      assert.equal(filled.count, 7);
      late?.write(BODY);
      await until(() => server.open() === 0);
      filled.assertLeft();
      socket.close();
    });
    await withSocket("", { answer: (socket) => void socket.end(WHOLE) }, async (socket) => {
      await assertWhole(socket);
      await until(() => !socket.isOpen);
    });
    await withSocket(WHOLE, { stallMs: 60 }, async (socket, server) => {
      await assertWhole(socket);
      await until(() => !socket.isOpen && server.open() === 0);
    });
  });

  it("counts nothing where nobody listens", async () => {
    const { origin } = await withRawServer(
      { answer: () => undefined },
      async (server) => await Promise.resolve(server),
    );
    const socket = new RangeSocket({ url: new URL(origin), tls: undefined, stallMs: 30_000 });
    assert.equal((await fill(socket)).count, 0);
    assert.equal(socket.isOpen, false);
  });

  it("finds its server by an IPv6 address, and by the name of this machine", async () => {
    await withSocket(WHOLE, { host: "::1" }, async (socket) => await assertWhole(socket));
    const url = (origin: string): string => origin.replace("127.0.0.1", "LocalHost");
    await withSocket(WHOLE, { url }, async (socket) => await assertWhole(socket));
  });

  it("keeps no process alive while nothing is asked for", async () => {
    await withRawServer({ answer: async (socket) => await write(socket, WHOLE) }, async ({ origin }) => {
      assert.deepEqual(await runFill(origin, "undefined"), { status: 0, stdout: "1000 true\n" });
    });
  });
});

describe("RangeSocket over TLS", { skip: needsOpenssl }, () => {
  it("fills memory as it does without", async () => {
    const long = baseDisk(1_000_003);
    const bytes = Buffer.concat([Buffer.from(head(`Content-Length: ${long.length}`)), long]);
    await withTls("IP:127.0.0.1", bytes, {}, async (socket, server) => await assertFillsAgain(socket, server, long));
    const answer = async (socket: Socket, number: number): Promise<void> => await inPieces(socket, number);
    await withTls("IP:127.0.0.1", "", { answer }, async (socket) => {
      for (let i = 0; i < HEAD.length; i += 7) await assertWhole(socket);
    });
  });

  it("counts what came before a cut, a silence or a close", async () => {
    const part = WHOLE.subarray(0, HEAD.length + 30);
    await withTls("IP:127.0.0.1", "", { answer: (socket) => void socket.end(part) }, async (socket) => {
      assert.equal((await fill(socket)).count, 30);
    });
    await withTls("IP:127.0.0.1", part, { stallMs: 150 }, async (socket, server) => {
      const filled = await fill(socket);
      assert.equal(filled.count, 30);
      await until(() => server.open() === 0);
      filled.assertLeft();
    });
    await withTls("IP:127.0.0.1", part, {}, async (socket, server) => {
      const answered = fill(socket);
      await until(() => server.requests.length === 1);
      await sleep(20);
      socket.close();
      assert.equal((await answered).count, 30);
    });
  });

  for (const [names, host] of [
    ["DNS:localhost", "localhost"],
    ["IP:127.0.0.1", "127.0.0.1"],
    ["IP:::1", "[::1]"],
  ] as const) {
    it(`believes a certificate for ${host}`, async () => {
      const setup = host === "[::1]" ? { host: "::1" } : { url: (o: string) => o.replace("127.0.0.1", host) };
      await withTls(names, WHOLE, setup, async (socket) => await assertWhole(socket));
    });
  }

  for (const [what, names, security] of [
    ["of another name", "DNS:elsewhere.example", undefined],
    ["of another address", "IP:127.0.0.2", undefined],
    ["of a name for an address", "DNS:127.0.0.1", undefined],
    ["of an unknown authority", "IP:127.0.0.1", {}],
  ] as const) {
    it(`sends nothing to a server with a certificate ${what}`, async () => {
      const setup = security === undefined ? {} : { security };
      await withTls(names, WHOLE, setup, async (socket, server) => {
        assert.equal((await fill(socket)).count, 0);
        assert.equal(socket.isOpen, false);
        await until(() => server.open() === 0);
        assert.deepEqual(server.requests, [], "the request holds credentials");
      });
    });
  }

  it("speaks to any server where nothing is to be verified", async () => {
    const setup = { security: { rejectUnauthorized: false } };
    await withTls("DNS:elsewhere.example", WHOLE, setup, async (socket) => await assertWhole(socket));
  });

  it("keeps no process alive while nothing is asked for", async () => {
    const answer = async (socket: Socket): Promise<void> => await write(socket, WHOLE);
    await withTls("IP:127.0.0.1", "", { answer }, async (_, { origin }) => {
      assert.deepEqual(await runFill(origin, "{ rejectUnauthorized: false }"), { status: 0, stdout: "1000 true\n" });
    });
  });
});

/** As withSocket, with a certificate for `names`, whose authority is believed unless the setup says otherwise. */
async function withTls(
  names: string,
  bytes: Uint8Array | string,
  setup: Setup,
  use: Parameters<typeof withSocket>[2],
): Promise<void> {
  await withTemporaryFolder(async (folder) => {
    const authority = makeAuthority(folder);
    const security = { secureContext: tls.createSecureContext({ ca: [authority.certificate] }) };
    await withSocket(bytes, { tls: authority.issue(names), security, ...setup }, use);
  });
}

/** A process that fills memory once, and then has nothing to do but to hold an open connection. */
async function runFill(origin: string, security: string): Promise<{ status: number | null; stdout: string }> {
  const program = `
    import { RangeSocket } from ${JSON.stringify(new URL("../../../importer/http/range-socket.ts", import.meta.url).href)};
    const socket = new RangeSocket({ url: new URL("${origin}"), tls: ${security}, stallMs: 60_000 });
    const into = new Uint8Array(${BODY.length});
    console.log(await socket.fill(into, "GET / HTTP/1.1\\r\\n\\r\\n", (status) => status === 206), socket.isOpen);
  `;
  const args = ["--unhandled-rejections=strict", "--input-type=module", "-e", program];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"], timeout: 20_000 });
  let stdout = "";
  child.stdout.on("data", (text: Buffer) => (stdout += text.toString()));
  const status = await new Promise<number | null>((resolve) => child.on("close", resolve));
  return { status, stdout };
}
