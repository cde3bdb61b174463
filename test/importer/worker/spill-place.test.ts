import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { describe, it } from "node:test";
import { ScratchNeeded } from "../../../importer/spill-file.ts";
import { openLog } from "../../../importer/worker/log.ts";
import { workerPaths } from "../../../importer/worker/paths.ts";
import { openSpill } from "../../../importer/worker/spill-place.ts";
import type { SpillSite } from "../../../importer/worker/spill-place.ts";
import { withTmpfs } from "../../support/loop-device.ts";
import { withTemporaryFolder } from "../../support/temporary-folder.ts";
import { requireRoot } from "../../support/tools.ts";

const MIB = 1024 * 1024;
const PIECE = Buffer.alloc(64 * 1024, 1);

interface Opened {
  readonly site: SpillSite;
  readonly lines: string[];
}

function siteIn(data: string, scratch: string, site: Partial<SpillSite> = {}): Opened {
  const lines: string[] = [];
  const log = openLog({ verbosity: 0, write: (line) => void lines.push(line), now: () => new Date(0) });
  const paths = { ...workerPaths({}), data, scratch };
  return { lines, site: { paths, kind: "filesystem", diskSize: () => 4 * MIB, storedSize: 3 * MIB, log, ...site } };
}

describe("openSpill", { skip: requireRoot() }, () => {
  it("takes the scratch volume, whatever the disk's volume has", async () => {
    await withTemporaryFolder(async (scratch) => {
      for (const kind of ["filesystem", "block"] as const) {
        const { site, lines } = siteIn("/nowhere", scratch, { kind });
        const spill = openSpill(site);
        spill.write(PIECE, 0);
        const back = Buffer.alloc(PIECE.length);
        spill.read(back, 0);
        assert.ok(back.equals(PIECE));
        spill.close();
        assert.match(lines.join(""), /on the scratch volume/);
        assert.deepEqual(fs.readdirSync(scratch), []);
      }
    });
  });

  it("takes the disk's volume where it has room for both", async () => {
    await withTmpfs(7 * MIB, (data) => {
      const { site, lines } = siteIn(data, "/nowhere");
      openSpill(site).close();
      assert.match(lines.join(""), /beside the disk/);
    });
  });

  it("asks where there is no room for both, or nobody knows, or the volume is a device", async () => {
    await withTmpfs(7 * MIB - 4096, (data) => {
      assert.throws(() => openSpill(siteIn(data, "/nowhere").site), ScratchNeeded);
      for (const more of [{ diskSize: () => undefined }, { storedSize: undefined }, { kind: "block" }] as const) {
        assert.throws(() => openSpill(siteIn(data, "/nowhere", { storedSize: 1, ...more }).site), ScratchNeeded);
      }
    });
  });

  it("asks once the disk's volume is full after all, and does not for a scratch volume that is", async () => {
    await withTmpfs(8 * MIB, async (data) => {
      const spill = openSpill(siteIn(data, "/nowhere").site);
      const filler = path.join(data, "filler");
      fs.writeFileSync(filler, Buffer.alloc(8 * MIB - 16 * 1024));
      assert.throws(() => spill.write(PIECE, 0), ScratchNeeded);
      spill.close();
      const scratch = openSpill(siteIn("/nowhere", data).site);
      assert.throws(() => scratch.write(PIECE, 0), /no space is left/);
      scratch.close();
    });
  });

  it("takes a scratch volume without a free byte for none", async () => {
    await withTmpfs(4 * MIB, (scratch) => {
      fs.writeFileSync(path.join(scratch, "filler"), Buffer.alloc(4 * MIB));
      assert.throws(() => openSpill(siteIn("/nowhere", scratch, { kind: "block" }).site), ScratchNeeded);
    });
  });
});
