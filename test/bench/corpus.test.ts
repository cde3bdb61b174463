import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { describe, it } from "node:test";
import { cacheFolder, Corpus } from "../../bench/corpus.ts";
import type { CorpusSize } from "../../bench/corpus.ts";
import { DISKS, recipesFor } from "../../bench/recipes.ts";
import { digestContent } from "../../cmd/bench/content-digest.ts";
import { openFile } from "../../importer/sources/file.ts";
import { baseDisk } from "../support/base-disk.ts";
import { pourSource } from "../support/pour.ts";
import { withTemporaryFolder } from "../support/temporary-folder.ts";
import { requireTools } from "../support/tools.ts";

const MIB = 2 ** 20;
const TINY: CorpusSize = { name: "quick", virtualSize: 8 * MIB, contentBytes: MIB, filledSize: 2 * MIB };

const SPREAD = "spread-1t.qcow2";

const skip = requireTools("qemu-img", "gzip", "zstd", "xz");

describe("Corpus", { skip }, () => {
  it("makes every image, and each decodes to the disk that it says", async () => {
    await withTemporaryFolder(async (folder) => {
      const corpus = tinyCorpus(folder, []);
      for (const image of Object.keys(recipesFor("quick"))) {
        const disk = await pourTo(folder, corpus.make(image));
        const expected = await corpus.digestOf(image);
        if (expected === undefined) assert.equal(image, SPREAD);
        else assert.equal(await digestContent(disk, Infinity), expected, image);
      }
    });
  });

  it("spreads the disk's content over 1 TiB", async () => {
    await withTemporaryFolder(async (folder) => {
      const corpus = tinyCorpus(folder, []);
      const disk = await pourTo(folder, corpus.make(SPREAD));
      assert.equal(fs.statSync(disk).size, 2 ** 40);
      // 128 blocks of 64 KiB, two in each of the first 64 of 100 places.
      const [block, step] = [2 ** 16, Math.floor(2 ** 24 / 100) * 2 ** 16];
      const content = baseDisk(TINY.virtualSize);
      const fd = fs.openSync(disk, "r");
      for (let at = 0; at < 64; at++) {
        const there = Buffer.alloc(2 * block);
        fs.readSync(fd, there, 0, there.length, at * step);
        assert.ok(there.equals(content.subarray(at * 2 * block, (at + 1) * 2 * block)), `part ${at}`);
      }
      fs.closeSync(fd);
    });
  });

  it("makes a file once, and what it is made of before it", async () => {
    await withTemporaryFolder((folder) => {
      const said: string[] = [];
      const corpus = tinyCorpus(folder, said);
      corpus.make("qcow2.xz");
      corpus.make("qcow2.xz");
      const made = said.map((text) => path.basename(text));
      assert.deepEqual(made, ["plain.qcow2", "qcow2.xz"]);
      return Promise.resolve();
    });
  });

  it("leaves nothing of a file whose recipe fails", async () => {
    await withTemporaryFolder((folder) => {
      const corpus = tinyCorpus(folder, []);
      fs.rmSync(path.join(corpus.folder, "disk.raw"));
      fs.mkdirSync(path.join(corpus.folder, "disk.raw"));
      assert.throws(() => corpus.make("raw.gz"));
      assert.ok(!fs.existsSync(path.join(corpus.folder, "raw.gz")));
      return Promise.resolve();
    });
  });

  it("knows no file without a recipe", async () => {
    await withTemporaryFolder((folder) => {
      assert.throws(() => tinyCorpus(folder, []).make("other.qcow2"), /no recipe makes other\.qcow2/);
      return Promise.resolve();
    });
  });
});

describe("recipesFor", () => {
  it("has the same files in both sizes, from disks and each other", () => {
    const [full, quick] = [recipesFor("full"), recipesFor("quick")];
    assert.deepEqual(Object.keys(full), Object.keys(quick));
    for (const [name, { from }] of Object.entries(full)) {
      const isKnown = from === undefined || DISKS.some((disk) => disk === from) || full[from]?.from === "disk.raw";
      assert.ok(isKnown, `${name} is made of ${from}`);
    }
  });
});

describe("cacheFolder", () => {
  it("is where the environment says, else in the home folder", () => {
    assert.equal(cacheFolder({ XDG_CACHE_HOME: "/somewhere" }), "/somewhere");
    assert.match(cacheFolder({}), /\/\.cache$/);
  });
});

/** With disks that are quicker to make than those of the corpus. */
function tinyCorpus(folder: string, said: string[]): Corpus {
  const corpus = new Corpus(TINY, folder, (text) => said.push(text));
  for (const disk of DISKS) fs.writeFileSync(path.join(corpus.folder, disk), baseDisk(TINY.virtualSize));
  return corpus;
}

/** @returns the disk, until the next is poured */
async function pourTo(folder: string, image: string): Promise<string> {
  const { error } = await pourSource(openFile(image), { folder });
  assert.equal(error, undefined, image);
  return path.join(folder, "disk.raw");
}
