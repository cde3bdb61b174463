/**
 * A file over HTTP, read at random: by kept sockets as long as those do, by the patient client for the rest.
 */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { describe, it } from "node:test";
import { Interrupted, SourceError, UsageError } from "../../importer/errors.ts";
import type { HttpOptions } from "../../importer/http/http-options.ts";
import { newRateLimit } from "../../importer/http/rate-limit.ts";
import { openRandomAccess } from "../../importer/random-access.ts";
import type { RandomAccess } from "../../importer/random-access.ts";
import { baseDisk } from "../support/base-disk.ts";
import { withServer } from "../support/misbehaving-server.ts";
import type { MisbehavingServer, Misdeed, ServerSettings } from "../support/misbehaving-server.ts";
import { remoteSpec } from "../support/remote-ranges.ts";
import { until } from "../support/start-decant.ts";

const BYTES = baseDisk(1_000_003);

type Settings = Partial<ServerSettings> & { readonly options?: Partial<HttpOptions> };

async function withFile<T>(
  settings: Settings,
  use: (file: RandomAccess, server: MisbehavingServer) => Promise<T>,
): Promise<T> {
  const { options, ...others } = settings;
  return await withServer({ bytes: BYTES, etag: '"one"', ...others }, async (server) => {
    const file = openRandomAccess(remoteSpec(`${server.origin}/disk`, BYTES.length, options));
    try {
      return await use(file, server);
    } finally {
      file.close();
    }
  });
}

async function read(file: RandomAccess, offset: number, length: number): Promise<void> {
  const into = Buffer.alloc(length, 0xa5);
  const count = await file.readAt(into, offset);
  assert.equal(count, Math.max(0, Math.min(length, BYTES.length - offset)));
  assert.ok(into.subarray(0, count).equals(BYTES.subarray(offset, offset + count)));
  assert.ok(into.subarray(count).every((byte) => byte === 0xa5));
}

describe("RemoteFile", () => {
  it("reads what is there, and fewer bytes only at its end", async () => {
    await withFile({}, async (file, server) => {
      assert.equal(file.size, BYTES.length);
      for (const [offset, length] of [
        [0, 1000],
        [17, 600_000],
        [BYTES.length - 10, 10],
        [BYTES.length - 10, 100],
      ] as const) {
        await read(file, offset, length);
      }
      assert.equal(server.requests.length, 4);
      await read(file, BYTES.length, 5);
      await read(file, BYTES.length + 1000, 5);
      await read(file, 3, 0);
      assert.equal(server.requests.length, 4, "nobody is asked for what is not there");
      assert.equal(server.connections(), 1);
      assert.equal(file.retries, 0);
    });
  });

  it("asks a server that has too much to do for less at once, and goes on", async () => {
    const misdeed = (number: number): Misdeed | undefined => (number > 4 && number <= 16 ? { status: 503 } : undefined);
    await withFile({ misdeed }, async (file, server) => {
      await Promise.all(Array.from({ length: 16 }, (_, i) => read(file, i * 50_000, 50_000)));
      await Promise.all(Array.from({ length: 16 }, (_, i) => read(file, i * 50_000, 50_000)));
      assert.equal(server.requests.length, 16 + 12 + 16);
    });
  });

  it("leaves it to one stream when a single request is too much", async () => {
    await withFile({ misdeed: () => ({ status: 503 }) }, async (file) => {
      await assert.rejects(read(file, 0, 1000), (error) => {
        assert.ok(error instanceof SourceError);
        assert.match(error.message, /answers 503/);
        assert.deepEqual([error.context["ranges"], error.context["status"]], ["unusable", 503]);
        return true;
      });
    });
  });

  it("reads many at once", async () => {
    await withFile({}, async (file, server) => {
      await Promise.all(Array.from({ length: 20 }, (_, i) => read(file, i * 50_000, 50_000)));
      assert.equal(server.requests.length, 20);
    });
  });

  it("asks only for what is missing after a cut, and counts it", async () => {
    const misdeed = (number: number): Misdeed | undefined => (number === 2 ? { cutAfter: 70_000 } : undefined);
    await withFile({ misdeed }, async (file, server) => {
      await read(file, 0, 10);
      await read(file, 1000, 200_000);
      await read(file, 5, 10);
      assert.deepEqual(
        server.requests.map(({ headers }) => headers.range),
        ["bytes=0-9", "bytes=1000-200999", "bytes=71000-200999", "bytes=5-14"],
      );
      assert.equal(file.retries, 1);
    });
  });

  it("counts the cuts of the patient client too", async () => {
    const misdeed = (number: number): Misdeed | undefined => (number <= 2 ? { cutAfter: 70_000 } : undefined);
    await withFile({ misdeed }, async (file, server) => {
      await read(file, 0, 200_000);
      assert.equal(server.requests.length, 3);
      assert.equal(file.retries, 2);
    });
  });

  it("waits for a silent server only so long", async () => {
    const misdeed = (number: number): Misdeed | undefined => (number === 1 ? { stallAfter: 70_000 } : undefined);
    await withFile({ misdeed, options: { stallMs: 100 } }, async (file) => {
      await read(file, 0, 200_000);
      assert.equal(file.retries, 1);
    });
  });

  it("reads from a server that the kept sockets leave", async () => {
    for (const misdeed of [{ framing: "chunked" }, { framing: "until-closed" }] as const) {
      await withFile({ misdeed: () => misdeed }, async (file, server) => {
        for (let i = 0; i < 6; i++) await read(file, i * 1000, 100_000);
        assert.equal(server.requests.length, 3 + 6);
        assert.equal(file.retries, 0);
      });
    }
  });

  it("reads by the patient client alone where a pace is to be kept", async () => {
    await withFile({ options: { rateLimit: newRateLimit(1e9) } }, async (file, server) => {
      await read(file, 5, 100_000);
      assert.equal(server.requests.length, 1);
    });
  });

  it("says what is wrong with a server, and what with ranges", async () => {
    for (const [misdeed, code] of [
      [{ status: 404 }, "SOURCE_NOT_FOUND"],
      [{ ignoresRange: true }, "SOURCE_TRUNCATED"],
      [{ headers: { etag: '"two"' }, ignoresIfRange: true }, "SOURCE_CHANGED"],
    ] as const) {
      await withFile({ misdeed: () => misdeed }, async (file) => {
        await assert.rejects(
          async () => await file.readAt(new Uint8Array(10), 0),
          (error) => error instanceof SourceError && error.code === code,
        );
      });
    }
  });

  it("ends what is under way when it is closed, and asks nobody afterwards", async () => {
    await withFile({ misdeed: () => ({ stallAfter: 1000 }) }, async (file, server) => {
      const buffers = [0, 1, 2].map(() => Buffer.alloc(100_000, 0));
      const reads = buffers.map(async (buffer, i) => await file.readAt(buffer, i * 100_000));
      const outcomes = Promise.allSettled(reads);
      await until(() => server.served() === 3000);
      file.close();
      for (const outcome of await outcomes) {
        assert.ok(outcome.status === "rejected" && outcome.reason instanceof Interrupted, outcome.status);
      }
      for (const buffer of buffers) buffer.fill(0xa5);
      await assert.rejects(async () => await file.readAt(new Uint8Array(10), 0), Interrupted);
      file.close();
      assert.equal(server.requests.length, 3);
      assert.ok(buffers.every((buffer) => buffer.every((byte) => byte === 0xa5)));
    });
  });

  it("is closed at any moment", async () => {
    for (let turns = 0; turns < 12; turns++) {
      await withFile({}, async (file) => {
        const outcome = Promise.allSettled([(async () => await file.readAt(new Uint8Array(100), 7))()]);
        for (let i = 0; i < turns; i++) await new Promise((resolve) => setImmediate(resolve));
        file.close();
        const [only] = await outcome;
        assert.ok(only.status === "fulfilled" || only.reason instanceof Interrupted);
      });
    }
  });

  it("is closed in peace where it could not be opened", async () => {
    const proxies = { http: "socks5://proxy.example", https: undefined, except: "" };
    const file = openRandomAccess(remoteSpec("http://images.example/disk", 1000, { proxies }));
    await assert.rejects(async () => await file.readAt(new Uint8Array(10), 0), UsageError);
    file.close();
    // A rejection that nobody handles ends this process.
    await new Promise((resolve) => setImmediate(resolve));
  });

  it("keeps no process alive once all is read", async () => {
    await withServer(
      { bytes: BYTES, etag: '"one"', misdeed: (number) => (number === 2 ? { cutAfter: 5 } : undefined) },
      async (server) => {
        const spec = remoteSpec(`${server.origin}/disk`, BYTES.length);
        const program = `
        import { openRandomAccess } from ${JSON.stringify(new URL("../../importer/random-access.ts", import.meta.url).href)};
        const file = openRandomAccess(${JSON.stringify(spec)});
        const counts = await Promise.all([0, 1, 2].map((i) => file.readAt(new Uint8Array(50_000), i)));
        console.log(counts.join(), file.retries);
        file.close();
      `;
        const args = ["--unhandled-rejections=strict", "--input-type=module", "-e", program];
        const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"], timeout: 20_000 });
        let stdout = "";
        child.stdout.on("data", (text: Buffer) => (stdout += text.toString()));
        assert.equal(await new Promise((resolve) => child.on("close", resolve)), 0);
        assert.equal(stdout, "50000,50000,50000 1\n");
      },
    );
  });
});
