/**
 * Damaged images of every format, codec and archive, nested too, through the real engine: each is a coded error or a disk,
 * the file and the stream never give two different disks, and memory and work stay bounded.
 *
 * The seeds are fixed. FUZZ_SECONDS=600 goes on for so long with others; FUZZ_SEED=n runs that one input only.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { MIB } from "../../formats/bytes.ts";
import { damaged, dice } from "../support/damage.ts";
import { sampleBytes, samples } from "../support/images.ts";
import { pour } from "../support/pour.ts";
import type { Poured, PourOptions } from "../support/pour.ts";
import { bytesReadBy } from "../support/process-work.ts";
import { memoryFolder, withTemporaryFolder } from "../support/temporary-folder.ts";
import { watchdog } from "../support/watchdog.ts";

const INPUTS = 500;
const FIRST_SEED = 20_261_130;

/** Larger samples are the same formats, and only slower. */
const MOST_SAMPLE = 1.5 * MIB;

/** An input that takes longer is a fault, however slow the machine. */
const SECONDS_PER_INPUT = 60;

/** One input may not make the process read more: the samples are small, and what their tables name is read once or twice. */
const MOST_READ = 256 * MIB;

/** Nothing that an input says may make the process larger than this; the slabs of streams that wait to be collected are most of it. */
const MOST_RESIDENT = 1024 * MIB;

const inputs = samples().flatMap((sample) => {
  const bytes = sampleBytes(sample.name);
  return bytes.length <= MOST_SAMPLE ? [[sample.name, bytes] as const] : [];
});

describe("damaged images", () => {
  it("are refused by code, or are a disk", async () => {
    const seconds = Number(process.env["FUZZ_SECONDS"] ?? 0);
    const only = process.env["FUZZ_SEED"];
    const until = performance.now() + seconds * 1000;
    const dog = watchdog(SECONDS_PER_INPUT);
    let disks = 0;
    let tried = 0;
    try {
      await withTemporaryFolder(async (folder) => {
        let seed = only === undefined ? FIRST_SEED : Number(only);
        const goesOn = (): boolean => (only === undefined ? tried < INPUTS || performance.now() < until : tried === 0);
        for (; goesOn(); seed++, tried++) {
          const input = damaged(inputs, dice(seed));
          const name = `FUZZ_SEED=${seed}: ${input.what}`;
          dog.feed(name);
          if (await tryInput(name, input.bytes, { folder, decoders: seed % 4 === 0 ? "portable" : "auto" })) disks += 1;
        }
      }, memoryFolder());
    } finally {
      await dog.close();
    }
    const resident = process.resourceUsage().maxRSS * 1024;
    assert.ok(resident < MOST_RESIDENT, `the process grew to ${resident} bytes`);
    if (only === undefined) assert.ok(disks > tried / 20 && disks < tried, `${disks} of ${tried} are disks`);
  });
});

/** True if both ways gave a disk. */
async function tryInput(name: string, bytes: Buffer, options: PourOptions): Promise<boolean> {
  const pieces = (piece: number): number => 1 + ((piece * 7919) % 70_001);
  const file = await bounded(name, () => pour(bytes, "file", { ...options, keep: false }));
  const stream = await bounded(name, () => pour(bytes, "stream", { ...options, keep: false, pieces }));
  for (const { code, error } of [file, stream]) {
    assert.notEqual(code, "INTERNAL", `${name}: ${error instanceof Error ? error.stack : String(error)}`);
  }
  if (file.report === undefined || stream.report === undefined) return false;
  assert.equal(stream.report.virtualSize, file.report.virtualSize, `${name}: virtual size`);
  const [one, other] = [await pour(bytes, "file", options), await pour(bytes, "stream", options)];
  if (one.disk === undefined || other.disk === undefined) return one.code === other.code;
  assert.ok(one.disk.equals(other.disk), `${name}: the stream gives another disk than the file`);
  return true;
}

async function bounded(name: string, work: () => Promise<Poured>): Promise<Poured> {
  const { result, bytes } = await bytesReadBy(work);
  assert.ok(bytes < MOST_READ, `${name}: ${bytes} bytes were read`);
  return result;
}
