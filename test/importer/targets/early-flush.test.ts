import assert from "node:assert/strict";
import fs from "node:fs";
import { describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { TargetError } from "../../../importer/errors.ts";
import { EarlyFlush } from "../../../importer/targets/early-flush.ts";
import type { WriterSpec } from "../../../importer/targets/positioned-writer.ts";
import { WriteBehind, writeBehindSpec } from "../../../importer/targets/write-behind.ts";
import { openUnnamed } from "../../../importer/temporary-file.ts";
import { fileWriter } from "../../support/job-places.ts";
import { memoryFolder } from "../../support/temporary-folder.ts";

const MIB = 1024 * 1024;

/** No process has so many files open: a flush of it fails, and so says that there was one. */
const NO_FILE = 1_000_000;

function writerOf(fd?: number): { readonly spec: WriterSpec; readonly behind: WriteBehind } {
  const file = openUnnamed(memoryFolder());
  const writeBehind = writeBehindSpec(file, true);
  return { spec: { ...fileWriter(fd ?? file), writeBehind }, behind: new WriteBehind(writeBehind) };
}

describe("early flush", () => {
  it("flushes after 64 MiB, and tells of a flush that fails", async () => {
    const { spec, behind } = writerOf(NO_FILE);
    const failures: TargetError[] = [];
    const flush = new EarlyFlush(spec, (error) => failures.push(error));
    behind.wrote(63 * MIB);
    await sleep(200);
    assert.equal(failures.length, 0);
    behind.wrote(MIB);
    while (failures.length === 0) await sleep(10);
    // Whoever was about to put the disk in its place must not: the kernel has told once, and no flush tells it again.
    await assert.rejects(flush.close(), (error) => error === failures[0]);
    const seen = failures.map(({ code, context, message }) => [code, context["errno"], message]);
    assert.deepEqual(seen, [["TARGET_IO", "EBADF", "cannot flush the target (EBADF)"]]);
  });

  it("flushes no more once it was closed", async () => {
    const { spec, behind } = writerOf(NO_FILE);
    const flush = new EarlyFlush(spec, () => assert.fail("a flush after close"));
    await flush.close();
    behind.wrote(128 * MIB);
    await sleep(200);
  });

  it("has ended when close returns, so that the descriptor may be closed", async () => {
    const { spec, behind } = writerOf();
    const flush = new EarlyFlush(spec, assert.fail);
    behind.wrote(64 * MIB);
    await sleep(100);
    await flush.close();
    fs.closeSync(spec.fd);
    await sleep(100);
  });

  it("does nothing where dirty pages are nobody's: O_DIRECT", async () => {
    const { spec } = writerOf(NO_FILE);
    const flush = new EarlyFlush({ ...spec, writeBehind: undefined }, assert.fail);
    await sleep(150);
    await flush.close();
  });
});
