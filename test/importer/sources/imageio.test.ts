import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { describe, it } from "node:test";
import { Interrupted, SourceError, UsageError } from "../../../importer/errors.ts";
import { defaultHttpOptions } from "../../../importer/http/http-options.ts";
import { errorText } from "../../../importer/outcome.ts";
import { openImageio } from "../../../importer/sources/imageio.ts";
import type { ImageioOptions } from "../../../importer/sources/imageio.ts";
import type { Source } from "../../../importer/sources/source.ts";
import { baseDisk } from "../../support/base-disk.ts";
import { makeAuthority } from "../../support/certificates.ts";
import { handPace } from "../../support/hand-pace.ts";
import type { HandPace } from "../../support/hand-pace.ts";
import { readAll } from "../../support/http-client.ts";
import { DISK_ID, PASSWORD, USER, withOvirt } from "../../support/ovirt-engine.ts";
import type { Call, EngineSettings, OvirtStub } from "../../support/ovirt-engine.ts";
import { pourSource } from "../../support/pour.ts";
import { withTemporaryFolder } from "../../support/temporary-folder.ts";
import { requireTools } from "../../support/tools.ts";

const DISK = baseDisk(2 * 1024 * 1024);
const KEEP_ALIVE_MS = 30_000;

interface Opened {
  readonly stub: OvirtStub;
  readonly pace: HandPace;
  readonly open: (changes?: Partial<ImageioOptions>) => Promise<Source>;
}

async function withEngine<T>(settings: Partial<EngineSettings>, use: (opened: Opened) => Promise<T>): Promise<T> {
  return await withOvirt({ disk: DISK, ...settings }, async (stub) => {
    const pace = handPace(KEEP_ALIVE_MS);
    const sources: Source[] = [];
    const open = async (changes: Partial<ImageioOptions> = {}): Promise<Source> => {
      const source = await openImageio({
        http: defaultHttpOptions,
        endpoint: stub.endpoint,
        user: USER,
        password: PASSWORD,
        diskId: DISK_ID,
        checkpoint: { current: undefined, previous: undefined },
        signal: new AbortController().signal,
        pace,
        ...changes,
      });
      sources.push(source);
      return source;
    };
    try {
      const result = await use({ stub, pace, open });
      assert.deepEqual(stub.complaints, []);
      return result;
    } finally {
      for (const source of sources) await source.finish?.(false);
    }
  });
}

function isImage({ what }: Call): boolean {
  return /^GET \/images\/[^/]+$/.test(what);
}

/** Of the calls, those with words like these. */
function calls(stub: OvirtStub, words: RegExp): string[] {
  return stub.calls
    .map(({ what }) => what.replace(/ticket-\w+/, "TICKET").replace(/[\da-f-]{36}/, "ID"))
    .filter((what) => words.test(what));
}

function fails(stub: OvirtStub, code: string, words: RegExp) {
  return (error: unknown): boolean => {
    assert.ok(error instanceof SourceError, String(error));
    assert.equal(error.code, code, error.message);
    assert.match(errorText(error), words);
    const shown = `${errorText(error)} ${JSON.stringify(error.context)} ${String(error.stack)}`;
    for (const secret of stub.secrets) assert.ok(!shown.includes(secret), shown);
    return true;
  };
}

describe("source: imageio", () => {
  it("gives the disk, fetches only its data, and unlocks it at the end", async () => {
    await withEngine({}, async ({ stub, open }) => {
      const source = await open();
      assert.equal(source.size, DISK.length);
      assert.equal(source.name, `disk ${DISK_ID} of ${new URL(stub.origin).host}`);
      assert.ok((await readAll(source.stream())).equals(DISK));
      await source.finish?.(true);
      assert.deepEqual(source.warnings?.(), []);
      assert.equal(stub.ended(), "finalize");
      assert.equal(stub.tokensInUse(), 0);
      assert.deepEqual(calls(stub, /^(?!GET \/images\/TICKET$)/), [
        "POST /ovirt-engine/sso/oauth/token",
        "GET /ovirt-engine/api/disks/ID",
        "POST /ovirt-engine/api/imagetransfers",
        "OPTIONS /images/TICKET",
        "GET /images/TICKET/extents",
        "GET /ovirt-engine/api/imagetransfers/ID",
        "POST /ovirt-engine/api/imagetransfers/ID/finalize",
        "POST /ovirt-engine/services/sso-logout",
      ]);
      const fetched = stub.calls.filter(({ range }) => range !== undefined).map(({ range }) => lengthOf(range ?? ""));
      const total = fetched.reduce((sum, length) => sum + length, 0);
      assert.ok(total > 500_000 && total < DISK.length / 2, `${total}`);
    });
  });

  it("is poured with its holes, and finalized once the disk is safe", async () => {
    await withTemporaryFolder(async (folder) => {
      await withEngine({}, async ({ stub, open }) => {
        const { code, report, disk } = await pourSource(await open(), { folder });
        assert.deepEqual([code, report?.format, report?.warnings], [undefined, "raw", []]);
        assert.ok(disk?.equals(DISK) === true);
        const { blocks } = fs.statSync(path.join(folder, "disk.raw"));
        assert.ok(blocks * 512 < DISK.length / 2, `${blocks}`);
        assert.equal(stub.ended(), "finalize");
      });
    });
  });

  it("is cancelled before a failed or an interrupted run is over", async () => {
    await withTemporaryFolder(async (folder) => {
      const misdeed = (call: Call) => (isImage(call) && call.number > 1 ? { status: 403 } : undefined);
      await withEngine({ misdeed }, async ({ stub, open }) => {
        assert.equal((await pourSource(await open(), { folder })).code, "SOURCE_UNAVAILABLE");
        assert.deepEqual([stub.ended(), stub.tokensInUse()], ["cancel", 0]);
      });
      const stop = new AbortController();
      const stops = (call: Call): undefined => {
        if (isImage(call) && call.number > 1) stop.abort();
      };
      await withEngine({ misdeed: stops }, async ({ stub, open }) => {
        assert.equal((await pourSource(await open(), { folder, signal: stop.signal })).code, "INTERRUPTED");
        assert.deepEqual([stub.ended(), stub.tokensInUse()], ["cancel", 0]);
      });
      assert.deepEqual(fs.readdirSync(folder), []);
    });
  });

  it("reads the disk as a whole where there are no extents", async () => {
    const old = (what: string, status: number) => ({
      misdeed: (call: Call) => (call.what.startsWith(what) ? { status } : undefined),
    });
    const ways: Partial<EngineSettings>[] = [
      { features: ["checksum"] },
      old("OPTIONS", 405),
      { misdeed: ({ what }) => (what.startsWith("OPTIONS") ? { body: "[" } : undefined) },
      { misdeed: ({ what }) => (what.endsWith("/extents") ? { status: 404 } : undefined) },
      { extents: `[${" ".repeat(16 * 1024 * 1024)}]` },
    ];
    for (const way of ways) {
      await withEngine(way, async ({ stub, open }) => {
        const source = await open();
        assert.equal(source.size, DISK.length);
        assert.ok((await readAll(source.stream())).equals(DISK));
        assert.deepEqual(
          stub.calls.filter(({ range }) => range !== undefined),
          [],
        );
      });
    }
  });

  it("resumes within a range, and within a whole", async () => {
    const cutAt = (wanted: number) => (call: Call) =>
      isImage(call) && call.number === wanted ? { cutAfter: 100_000 } : undefined;
    await withEngine({ maxReaders: 1, misdeed: cutAt(2) }, async ({ stub, open }) => {
      const source = await open();
      assert.ok((await readAll(source.stream())).equals(DISK));
      assert.equal(source.resumes?.(), 1);
      const [, cut = "", rest = ""] = stub.calls.filter(isImage).map(({ range }) => range);
      assert.ok(lengthOf(rest) < lengthOf(cut) && rest.endsWith(cut.split("-")[1] ?? "?"), `${cut} ${rest}`);
    });
    await withEngine({ features: [], misdeed: cutAt(1) }, async ({ open }) => {
      const source = await open();
      assert.ok((await readAll(source.stream())).equals(DISK));
      assert.equal(source.resumes?.(), 1);
    });
  });

  it("believes the ticket, not the host's volume, about the end of the disk", async () => {
    const ticketSize = DISK.length - 300_032;
    await withEngine({ ticketSize }, async ({ open }) => {
      const source = await open();
      assert.equal(source.size, ticketSize);
      assert.ok((await readAll(source.stream())).equals(DISK.subarray(0, ticketSize)));
    });
  });

  it("waits for a locked disk and for a host", async () => {
    await withEngine({ lockedTimes: 2, phases: ["initializing", "initializing", "transferring"] }, async (opened) => {
      const { stub, pace, open } = opened;
      const source = await open();
      assert.deepEqual(pace.delays.slice(0, 4), [15_000, 15_000, 1000, 1000]);
      assert.ok((await readAll(source.stream())).equals(DISK));
      assert.equal(calls(stub, /^POST .*imagetransfers$/).length, 3);
    });
  });

  it("takes the proxy where the host cannot be reached directly", async () => {
    await withEngine({ urls: (url) => `<proxy_url>${url}</proxy_url>` }, async ({ open }) => {
      assert.ok((await readAll((await open()).stream())).equals(DISK));
    });
  });

  it("logs in again when the token has expired", async () => {
    const misdeed = ({ what, number }: Call) =>
      what.includes("/imagetransfers/") && number === 1 ? { expires: true as const } : undefined;
    await withEngine({ misdeed }, async ({ stub, open }) => {
      const source = await open();
      await source.finish?.(true);
      assert.equal(stub.ended(), "finalize");
      assert.equal(calls(stub, /oauth/).length, 3);
    });
  });

  it("keeps a transfer alive that fetches nothing", async () => {
    await withEngine({}, async ({ stub, pace, open }) => {
      const source = await open();
      assert.equal(calls(stub, /extend/).length, 0);
      pace.release();
      while (calls(stub, /extend/).length === 0 || pace.delays.filter((ms) => ms === KEEP_ALIVE_MS).length < 2) {
        await new Promise((resolve) => setImmediate(resolve));
      }
      assert.equal(stub.calls.at(-1)?.range, "bytes=0-511");
      await readAll(source.stream());
      pace.release();
      while (pace.delays.filter((ms) => ms === KEEP_ALIVE_MS).length < 3)
        await new Promise((resolve) => setImmediate(resolve));
      assert.equal(calls(stub, /extend/).length, 1);
    });
  });

  it("names what the engine refuses, without a secret", async () => {
    await withEngine({}, async ({ stub, open }) => {
      await assert.rejects(open({ password: "wrong" }), (error: unknown) => {
        assert.ok(!errorText(error).includes("wrong "), errorText(error));
        return fails(
          stub,
          "SOURCE_DENIED",
          /refuses the login: Cannot authenticate user 'admin@internal'.*admin@internal for instance/,
        )(error);
      });
      await assert.rejects(open({ diskId: "else" }), fails(stub, "SOURCE_NOT_FOUND", /^disk else not found/));
      assert.equal(stub.tokensInUse(), 0);
      await assert.rejects(open({ endpoint: "ftp://host" }), UsageError);
      await assert.rejects(open({ checkpoint: { current: "a", previous: undefined } }), UsageError);
    });
    const fault = "<fault><reason>Operation Failed</reason><detail>[Too many transfers]</detail></fault>";
    const misdeed = ({ what }: Call) => (what.endsWith("imagetransfers") ? { status: 409, body: fault } : undefined);
    await withEngine({ misdeed }, async ({ stub, open }) => {
      await assert.rejects(
        open(),
        fails(stub, "SOURCE_UNAVAILABLE", /no image transfer: Operation Failed: \[Too many/),
      );
      assert.equal(stub.tokensInUse(), 0);
    });
  });

  it("refuses what is no engine", async () => {
    const page = { status: 200, body: "<html>Welcome</html>" };
    for (const [path, code, words] of [
      ["oauth/token", "SOURCE_UNAVAILABLE", /something else than a token/],
      ["/disks/", "SOURCE_NOT_FOUND", /not found/],
      ["imagetransfers", "SOURCE_UNAVAILABLE", /no image transfer/],
    ] as const) {
      await withEngine({ misdeed: ({ what }) => (what.includes(path) ? page : undefined) }, async ({ stub, open }) => {
        await assert.rejects(open(), fails(stub, code, words));
      });
    }
  });

  it("cancels a transfer that does not begin", async () => {
    for (const [phases, words] of [
      [["initializing", "paused_system"], /phase is paused_system/],
      [["finished_failure"], /phase is finished_failure/],
    ] as const) {
      await withEngine({ phases }, async ({ stub, open }) => {
        await assert.rejects(open(), fails(stub, "SOURCE_UNAVAILABLE", words));
        assert.equal(stub.ended(), phases.length === 2 ? "cancel" : undefined);
      });
    }
    const gone = {
      phases: ["initializing"],
      misdeed: ({ what }: Call) => (/^GET .*imagetransfers\//.test(what) ? { status: 404 } : undefined),
    };
    await withEngine(gone, async ({ stub, open }) => {
      await assert.rejects(open(), fails(stub, "SOURCE_UNAVAILABLE", /vanished/));
    });
    await withEngine({ urls: () => "" }, async ({ stub, open }) => {
      await assert.rejects(open(), fails(stub, "SOURCE_UNAVAILABLE", /has no URL/));
      assert.equal(stub.ended(), "cancel");
    });
    await withEngine(
      { urls: () => "<transfer_url>nbd://host/ticket-74ca180f</transfer_url>" },
      async ({ stub, open }) => {
        await assert.rejects(open(), fails(stub, "SOURCE_UNAVAILABLE", /no http or https URL/));
        assert.equal(stub.ended(), "cancel");
      },
    );
  });

  it("cancels when the extents cannot be trusted", async () => {
    const disk = { start: 0, length: DISK.length, zero: false };
    for (const extents of [
      "{}",
      "[",
      "[null]",
      JSON.stringify([{ ...disk, start: -1 }]),
      JSON.stringify([{ ...disk, zero: "no" }]),
      JSON.stringify([
        { ...disk, length: 4096 },
        { ...disk, start: 8192 },
      ]),
      JSON.stringify([{ ...disk, length: 2 ** 53 }]),
    ]) {
      await withEngine({ extents }, async ({ stub, open }) => {
        await assert.rejects(open(), fails(stub, "SOURCE_UNAVAILABLE", /lists extents/));
        assert.equal(stub.ended(), "cancel");
        assert.equal(stub.tokensInUse(), 0);
      });
    }
  });

  it("says so when the transfer ends before the disk does", async () => {
    for (const status of [403, 404]) {
      const misdeed = ({ range = "" }: Call) => (range.length > "bytes=0-0".length ? { status } : undefined);
      await withEngine({ misdeed }, async ({ stub, open }) => {
        const source = await open();
        await assert.rejects(
          readAll(source.stream()),
          fails(stub, "SOURCE_UNAVAILABLE", /transfer of disk .* is over before/),
        );
        await source.finish?.(false);
        assert.equal(stub.ended(), "cancel");
      });
    }
  });

  it("does not believe an answer of another length", async () => {
    const misdeed = ({ range = "" }: Call) =>
      range.length > "bytes=0-0".length ? { headers: { "content-length": "5" } } : undefined;
    await withEngine({ misdeed }, async ({ stub, open }) => {
      const source = await open();
      await assert.rejects(readAll(source.stream()), fails(stub, "SOURCE_UNAVAILABLE", /another range/));
    });
  });

  it("tries ten times to end a transfer, and says when it could not", async () => {
    const busy = (upTo: number) => ({
      misdeed: ({ what, number }: Call) =>
        /(imagetransfers\/[\w-]+|finalize|cancel)$/.test(what) && number <= upTo ? { status: 503 } : undefined,
    });
    await withEngine(busy(4), async ({ stub, pace, open }) => {
      const source = await open();
      await source.finish?.(true);
      assert.equal(stub.ended(), "finalize");
      // The first try to finalize was heard, only its answer was a failure.
      assert.equal(pace.delays.filter((ms) => ms === 2000).length, 5);
      assert.deepEqual(source.warnings?.(), []);
    });
    await withEngine(busy(100), async ({ stub, pace, open }) => {
      const source = await open();
      await source.finish?.(true);
      assert.equal(pace.delays.filter((ms) => ms === 2000).length, 9);
      const [warning] = source.warnings?.() ?? [];
      assert.equal(warning?.code, "IMAGEIO_TRANSFER_LEFT");
      assert.match(warning.message, /could not be ended .* stays locked/);
      for (const secret of stub.secrets) assert.ok(!warning.message.includes(secret));
    });
  });

  it("leaves alone a transfer that is over", async () => {
    for (const phase of ["finished_success", "cancelled_user", "finalizing_cleanup", "gone"]) {
      const misdeed = ({ what }: Call) =>
        phase === "gone" && /^GET .*imagetransfers\//.test(what) ? { status: 404 } : undefined;
      await withEngine({ phases: ["transferring", phase], misdeed }, async ({ stub, open }) => {
        await (await open()).finish?.(true);
        assert.equal(stub.ended(), undefined);
        assert.equal(calls(stub, /finalize|cancel/).length, 0);
      });
    }
  });

  it("cancels a paused transfer even after success, and what was closed without a word", async () => {
    await withEngine({ phases: ["transferring", "paused_system"] }, async ({ stub, open }) => {
      await (await open()).finish?.(true);
      assert.equal(stub.ended(), "cancel");
    });
    await withEngine({}, async ({ stub, open }) => {
      const source = await open();
      source.close();
      await source.finish?.(false);
      assert.equal(stub.ended(), "cancel");
      assert.equal(await source.stream().read(new Uint8Array(9)), 0);
    });
  });

  it("stops at once and gives back what it has when it is interrupted", async () => {
    for (const settings of [{ lockedTimes: Infinity }, { phases: ["initializing"] }]) {
      const stop = new AbortController();
      const misdeed = ({ number }: Call): undefined => {
        if (number === 3) stop.abort();
      };
      await withEngine({ ...settings, misdeed }, async ({ stub, open }) => {
        await assert.rejects(open({ signal: stop.signal }), Interrupted);
        assert.equal(stub.ended(), "phases" in settings ? "cancel" : undefined);
        assert.equal(stub.tokensInUse(), 0);
      });
    }
    const stop = new AbortController();
    const misdeed = ({ what }: Call): undefined => {
      if (what.endsWith("/extents")) stop.abort();
    };
    await withEngine({ misdeed }, async ({ stub, open }) => {
      await assert.rejects(open({ signal: stop.signal }), Interrupted);
      assert.equal(stub.ended(), "cancel");
    });
  });

  it(
    "believes the engine's authority, and no unencrypted place behind it",
    { skip: requireTools("openssl") },
    async () => {
      await withTemporaryFolder(async (folder) => {
        const authority = makeAuthority(folder);
        const tls = authority.issue("IP:127.0.0.1");
        const trusted = path.join(folder, "trusted");
        fs.mkdirSync(trusted);
        fs.writeFileSync(path.join(trusted, "ca.pem"), authority.certificate);
        const http = { ...defaultHttpOptions, trust: { folders: [trusted], insecure: false } };
        await withEngine({ tls }, async ({ stub, open }) => {
          assert.ok((await readAll((await open({ http })).stream())).equals(DISK));
          await assert.rejects(open(), fails(stub, "SOURCE_TLS", /refused/));
        });
        const plain = (url: string): string => `<transfer_url>${url.replace("https", "http")}</transfer_url>`;
        await withEngine({ tls, urls: plain }, async ({ stub, open }) => {
          await assert.rejects(open({ http }), fails(stub, "SOURCE_TLS", /served without encryption/));
          assert.equal(stub.ended(), "cancel");
        });
      });
    },
  );
});

function lengthOf(range: string): number {
  const [start = 0, end = 0] = range.replace("bytes=", "").split("-").map(Number);
  return end - start + 1;
}
