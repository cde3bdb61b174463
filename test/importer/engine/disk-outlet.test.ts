import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { diskOutlet } from "../../../importer/engine/disk-outlet.ts";
import { openJobPool } from "../../../importer/engine/job-pool.ts";
import { ZeroRanges } from "../../../importer/engine/zero-ranges.ts";
import { withJobPlaces } from "../../support/job-places.ts";
import { recordingTarget } from "../../support/recording-target.ts";

describe("diskOutlet", () => {
  it("writes what the parser brought, and gathers zeros from extents and from jobs", async () => {
    const target = recordingTarget({ size: 4096 });
    const zeros = new ZeroRanges(target);
    await withJobPlaces(new Uint8Array(0), {}, async ({ spec }) => {
      const pool = openJobPool(spec, 1);
      const outlet = diskOutlet(target, pool, zeros);
      outlet.inline(Buffer.from("log"), 1000);
      outlet.zero(512, 100);
      outlet.jobDone({ zeroRanges: Float64Array.of(2048, 512, 612, 388) });
      await outlet.settle();
      assert.deepEqual(target.calls, [["write", 1000, 3]]);
      await zeros.apply();
      assert.deepEqual(target.calls.slice(1), [
        ["zero", 512, 488],
        ["zero", 2048, 512],
      ]);
      await pool.close();
    });
  });

  it("knows where a target ends", async () => {
    const target = { ...recordingTarget({ size: 4096 }), name: "a device", capacity: 4096 };
    await withJobPlaces(new Uint8Array(0), {}, async ({ spec }) => {
      const pool = openJobPool(spec, 1);
      const outlet = diskOutlet(target, pool, new ZeroRanges(target));
      outlet.checkFits(4096);
      assert.throws(() => outlet.checkFits(4097), {
        code: "TARGET_TOO_SMALL",
        message: /a device, which holds 4096 bytes/,
      });
      await pool.close();
    });
  });
});
