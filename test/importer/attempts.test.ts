/**
 * An import that is tried again: what makes it worth another attempt, that each begins from nothing, and that none is made for
 * nothing.
 */
import assert from "node:assert/strict";
import fs from "node:fs";
import type { IncomingMessage } from "node:http";
import path from "node:path";
import { describe, it } from "node:test";
import zlib from "node:zlib";
import { FormatError } from "../../formats/errors.ts";
import { ImportAttempts } from "../../importer/attempts.ts";
import type { Report } from "../../importer/data-processor.ts";
import { Interrupted, SourceError, TargetError } from "../../importer/errors.ts";
import type { RunOptions } from "../../importer/run.ts";
import { openHttp } from "../../importer/sources/http.ts";
import type { Source } from "../../importer/sources/source.ts";
import { openTarget } from "../../importer/targets/open-target.ts";
import type { Target } from "../../importer/targets/target.ts";
import { baseDisk, randomBytes } from "../support/base-disk.ts";
import { withClient } from "../support/http-client.ts";
import { withFolder, withLoopDevice } from "../support/loop-device.ts";
import { withServer } from "../support/misbehaving-server.ts";
import type { MisbehavingServer, Misdeed, ServerSettings } from "../support/misbehaving-server.ts";
import { until } from "../support/start-decant.ts";
import { requireLoopDevices } from "../support/tools.ts";
import { plainRun } from "../support/run-options.ts";

const MIB = 1024 * 1024;

/** Long enough for ranges and for threads, and without zeros, so that each part is read and written. */
const DISK = dense(12 * MIB, 7);
/** Of the same length, with zeros where the other has none. */
const NEW_DISK = baseDisk(12 * MIB, 9);

const GZ = zlib.gzipSync(DISK, { level: 0 });
const NEW_GZ = zlib.gzipSync(NEW_DISK, { level: 0 });

function dense(length: number, seed: number): Buffer {
  const next = randomBytes(seed);
  return Buffer.alloc(length, Buffer.from(Array.from({ length: 100_003 }, () => next() | 1)));
}

/** As --checksum has it. */
const AS_STREAM: Partial<RunOptions> = { asOneStream: true };

interface Setting extends Partial<ServerSettings> {
  readonly options?: Partial<RunOptions>;
  readonly signal?: AbortSignal;
  readonly source?: (source: Source) => Source;
  /** Of the target that the file's path names; the number counts its openings from 1 on. */
  readonly open?: (name: string, number: number) => Target;
  readonly whileRunning?: (attempts: ImportAttempts, server: MisbehavingServer) => Promise<void>;
}

interface Ended {
  readonly report: Report;
  readonly server: MisbehavingServer;
  readonly attempts: ImportAttempts;
}

/** Imports what a server serves into `target`. */
async function importTo(
  target: string,
  setting: Setting,
  use: (ended: Ended) => void = () => undefined,
): Promise<void> {
  const { options, signal = new AbortController().signal, source = (same) => same, open, ...others } = setting;
  await withServer({ bytes: DISK, etag: '"one"', ...others }, async (server) => {
    await withClient({ stallMs: 30_000 }, async (client) => {
      let opened = 0;
      const openNext = (): Target => (open === undefined ? openTarget(target) : open(target, (opened += 1)));
      const places = {
        source: source(await openHttp(`${server.origin}/disk`, client, { allowsPages: false })),
        target: openNext(),
        reopenTarget: openNext,
      };
      const attempts = new ImportAttempts(places, { ...plainRun, ...options }, signal);
      const run = attempts.run();
      run.catch(() => undefined);
      await setting.whileRunning?.(attempts, server);
      use({ report: await run, server, attempts });
    });
  });
}

/** Into a file of a folder of its own. A failure leaves nothing there. */
async function importing(setting: Setting): Promise<Ended & { readonly disk: Buffer }> {
  return await withFolder(async (folder) => {
    const name = path.join(folder, "disk.raw");
    let ended: Ended | undefined;
    try {
      await importTo(name, setting, (all) => (ended = all));
    } catch (error) {
      assert.deepEqual(fs.readdirSync(folder), [], "nothing is left");
      throw error;
    }
    assert.ok(ended !== undefined);
    assert.deepEqual(fs.readdirSync(folder), ["disk.raw"]);
    return { ...ended, disk: fs.readFileSync(name) };
  });
}

/** Undefined: all of it is asked for. */
function firstByte({ headers }: IncomingMessage): number | undefined {
  return headers.range === undefined ? undefined : Number(/\d+/.exec(headers.range)?.[0]);
}

/** What is done wrong with ranges in the middle of the disk; its end and start are served well. */
function inTheMiddle(misdeed: Misdeed): Pick<ServerSettings, "misdeed"> {
  return {
    misdeed: (_, request) => {
      const at = firstByte(request) ?? 0;
      return at > 5 * MIB && at < 11 * MIB ? misdeed : undefined;
    },
  };
}

function wholeGets(server: MisbehavingServer): number {
  return server.requests.filter(({ headers }) => headers.range === undefined).length;
}

function restarts({ warnings }: Report): string[] {
  return warnings.filter(({ code }) => code === "SOURCE_RESTARTED").map(({ message }) => message);
}

describe("ImportAttempts", () => {
  it("makes one attempt where all goes well", async () => {
    const { report, disk, server, attempts } = await importing({ options: { threads: 2 } });
    assert.ok(disk.equals(DISK));
    assert.deepEqual([report.warnings, report.resumes, wholeGets(server)], [[], 0, 1]);
    assert.ok(server.requests.length > 4, "in ranges");
    assert.equal(attempts.phases, report.phases);
    assert.equal(attempts.progress.phase, "Complete");
  });

  for (const threads of [1, 2]) {
    for (const [what, misdeed] of [
      ["416", { status: 416 }],
      ["all of it", { ignoresRange: true }],
      ["another range", { headers: { "content-range": `bytes 0-1/${DISK.length}` } }],
      ["a range of a new file", { headers: { etag: '"two"' }, ignoresIfRange: true }],
    ] as const) {
      it(`takes one stream once ranges are answered with ${what}, ${threads} thread(s)`, async () => {
        const { report, disk, server } = await importing({ ...inTheMiddle(misdeed), options: { threads } });
        assert.ok(disk.equals(DISK));
        assert.equal(wholeGets(server), 2);
        const [message, ...more] = restarts(report);
        assert.match(message ?? "", /^started again from the first byte: /);
        assert.deepEqual(more, []);
        assert.equal(report.bytesRead, DISK.length, "of the last attempt");
        assert.deepEqual(
          report.phases.map(({ phase, outcome }) => [phase, outcome]),
          [
            ["Info", "stream"],
            ["Transfer", "on-target"],
            ["Resize", "resized"],
            ["Complete", undefined],
          ],
        );
      });
    }
  }

  /** The file is replaced while it is read: as often as there are versions. */
  function replaced(...versions: readonly (readonly [bytes: Buffer, etag: string])[]): Partial<ServerSettings> {
    let version = 0;
    return {
      misdeed: (_, request) => {
        const isResumed = firstByte(request) !== undefined;
        if (isResumed) version = Math.min(version + 1, versions.length - 1);
        const [bytes = DISK, etag = ""] = versions[version] ?? [];
        const last = version === versions.length - 1;
        return { bytes, headers: { etag }, ...(last ? {} : { cutAfter: 3 * MIB }) };
      },
    };
  }

  it("begins from zero where the file changed behind a stream, once", async () => {
    for (const threads of [1, 2]) {
      const setting = { ...replaced([GZ, '"one"'], [NEW_GZ, '"two"']), options: { threads } };
      const { report, disk, server } = await importing(setting);
      assert.ok(disk.equals(NEW_DISK), "none of the old bytes is left");
      assert.equal(wholeGets(server), 2);
      assert.equal(restarts(report).length, 1);
      assert.match(restarts(report)[0] ?? "", /changed while it was read/);
    }
  });

  it("fails where the file changes again", async () => {
    const third = zlib.gzipSync(DISK, { level: 1 });
    let server: MisbehavingServer | undefined;
    await assert.rejects(
      importing({
        ...replaced([GZ, '"one"'], [NEW_GZ, '"two"'], [third, '"three"']),
        options: AS_STREAM,
        whileRunning: async (_, its) => void (server = await Promise.resolve(its)),
      }),
      (error) => error instanceof SourceError && error.code === "SOURCE_CHANGED",
    );
    assert.ok(server !== undefined && wholeGets(server) === 2);
  });

  it("leaves ranges, and then begins from zero: three attempts at most", async () => {
    let whole = 0;
    const misdeed = (_: number, request: IncomingMessage): Misdeed | undefined => {
      const at = firstByte(request);
      if (at === undefined) whole += 1;
      if (whole === 1) return at !== undefined && at > 5 * MIB && at < 11 * MIB ? { ignoresRange: true } : undefined;
      // As a stream it is cut, and has changed when it is continued.
      return at === undefined ? { cutAfter: 3 * MIB } : { headers: { etag: '"two"' } };
    };
    await assert.rejects(importing({ misdeed }), (error) => {
      return error instanceof SourceError && error.code === "SOURCE_CHANGED";
    });
    assert.equal(whole, 3);
  });

  it("makes no other attempt for what that would not mend", async () => {
    const broken = Buffer.from(GZ);
    broken.fill(0xff, 1_000_000, 1_001_000); // a stored block's length
    for (const [setting, isExpected] of [
      [
        inTheMiddle({ status: 404 }),
        (error: unknown) => error instanceof SourceError && error.code === "SOURCE_NOT_FOUND",
      ],
      [{ bytes: broken.subarray(0, 5 * MIB) }, (error: unknown) => error instanceof FormatError],
    ] as const) {
      let server: MisbehavingServer | undefined;
      await assert.rejects(
        importing({ ...setting, whileRunning: async (_, its) => void (server = await Promise.resolve(its)) }),
        isExpected,
      );
      assert.ok(server !== undefined && wholeGets(server) === 1);
    }
  });

  it("makes no other attempt with a source that passes once", async () => {
    const source = (opened: Source): Source => {
      const once = { ...opened };
      delete once.reopen;
      return once;
    };
    await assert.rejects(importing({ ...inTheMiddle({ status: 416 }), source }), SourceError);
  });

  it("says why the source could not be opened again", async () => {
    const misdeed = (number: number, request: IncomingMessage): Misdeed | undefined => {
      if (firstByte(request) === undefined) return number === 1 ? undefined : { status: 403 };
      return inTheMiddle({ status: 416 }).misdeed?.(number, request);
    };
    await assert.rejects(importing({ misdeed }), (error) => {
      return error instanceof SourceError && error.code === "SOURCE_DENIED";
    });
  });

  it("closes the source where the target could not be opened again", async () => {
    const full = new TargetError("TARGET_BUSY", "somebody else has it by now");
    let closed = 0;
    const source = (opened: Source): Source => {
      const reopen = async (): Promise<Source> => {
        const again = await opened.reopen?.();
        assert.ok(again !== undefined);
        const close = (): void => {
          closed += 1;
          again.close();
        };
        return { ...again, close };
      };
      return { ...opened, reopen };
    };
    const open = (name: string, number: number): Target => {
      if (number > 1) throw full;
      return openTarget(name);
    };
    await assert.rejects(importing({ ...inTheMiddle({ status: 416 }), source, open }), full);
    assert.equal(closed, 1);
  });

  for (const [what, stalled] of [
    ["in ranges", inTheMiddle({ stallAfter: 1000 })],
    ["as a stream", { bytes: GZ, options: AS_STREAM, misdeed: () => ({ stallAfter: 5 * MIB }) }],
    ["in ranges of a stream", { bytes: GZ, ...inTheMiddle({ stallAfter: 1000 }) }],
  ] as const satisfies readonly (readonly [string, Setting])[]) {
    it(`is interrupted ${what}, and not tried again`, async () => {
      for (const threads of [1, 2]) {
        const stop = new AbortController();
        let asked = 0;
        const whileRunning = async (attempts: ImportAttempts, server: MisbehavingServer): Promise<void> => {
          await until(() => attempts.progress.done >= 2 * MIB);
          asked = server.requests.length;
          stop.abort();
        };
        let server: MisbehavingServer | undefined;
        const seeing = async (...given: Parameters<typeof whileRunning>): Promise<void> => {
          server = given[1];
          await whileRunning(...given);
        };
        const options = { ...("options" in stalled ? stalled.options : {}), threads };
        const setting = { ...stalled, signal: stop.signal, options, whileRunning: seeing };
        await assert.rejects(importing(setting), Interrupted);
        assert.ok(server !== undefined && server.requests.length <= asked + 8);
        assert.equal(wholeGets(server), 1);
      }
    });
  }

  it("is interrupted while the source is opened again", async () => {
    const stop = new AbortController();
    const misdeed = (number: number, request: IncomingMessage): Misdeed | undefined => {
      if (firstByte(request) === undefined) return number === 1 ? undefined : { stallAfter: 0 };
      return inTheMiddle({ status: 416 }).misdeed?.(number, request);
    };
    const whileRunning = async (_: ImportAttempts, server: MisbehavingServer): Promise<void> => {
      await until(() => wholeGets(server) === 2);
      stop.abort();
    };
    await assert.rejects(importing({ misdeed, signal: stop.signal, whileRunning }), Interrupted);
  });

  it("shows how far the present attempt is", async () => {
    const seen: (readonly [done: number, total: number | undefined])[] = [];
    const whileRunning = async (attempts: ImportAttempts, server: MisbehavingServer): Promise<void> => {
      while (server.served() < 20 * MIB && attempts.progress.phase !== "Complete") {
        const { done, total } = attempts.progress;
        seen.push([done, total]);
        await new Promise((resolve) => setTimeout(resolve, 2));
      }
    };
    await importing({ ...inTheMiddle({ status: 416 }), whileRunning });
    assert.ok(seen.every(([done, total]) => total === DISK.length && done <= total));
    assert.ok(
      seen.some(([done], i) => done < (seen[i - 1]?.[0] ?? 0)),
      "it fell back",
    );
  });

  it("leaves a device without its start, or with the right disk", { skip: requireLoopDevices() }, async () => {
    await withLoopDevice({ size: 16 * MIB }, async (device, backing) => {
      const versions = [GZ, NEW_GZ, zlib.gzipSync(DISK, { level: 1 })].map((bytes, i) => [bytes, `"${i}"`] as const);
      await assert.rejects(importTo(device, { ...replaced(...versions), options: AS_STREAM }), SourceError);
      assert.ok(fs.readFileSync(backing).subarray(0, MIB).equals(Buffer.alloc(MIB)));
      for (const threads of [1, 2]) {
        for (const [setting, expected] of [
          [replaced(...versions.slice(0, 2)), NEW_DISK],
          [inTheMiddle({ status: 416 }), DISK],
        ] as const) {
          await importTo(device, { ...setting, options: { threads } });
          assert.ok(fs.readFileSync(backing).subarray(0, DISK.length).equals(expected));
        }
      }
    });
  });
});
