import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { describe, it } from "node:test";
import { chooseFiles, filledPieces, makeFilled } from "../../bench/disks.ts";
import { withTemporaryFolder } from "../support/temporary-folder.ts";

const MIB = 2 ** 20;

const files = Array.from({ length: 1000 }, (_, at) => ({ path: `/${at}`, size: 1 + ((at * 37) % 900) }));
const bytesOf = (list: readonly { readonly size: number }[]): number => list.reduce((sum, { size }) => sum + size, 0);

describe("chooseFiles", () => {
  it("takes about as much as was asked for, never more", () => {
    for (const bytes of [20_000, 100_000, 400_000]) {
      const taken = bytesOf(chooseFiles(files, bytes));
      assert.ok(taken <= bytes && taken > bytes * 0.97, `${taken} of ${bytes}`);
    }
  });

  it("takes from all over the list", () => {
    const chosen = chooseFiles(files, bytesOf(files) / 4).map((file) => Number(file.path.slice(1)));
    for (let part = 0; part < 10; part++) {
      const here = chosen.filter((at) => Math.floor(at / 100) === part).length;
      assert.ok(here > 5, `${here} of the ${part + 1}. hundred`);
    }
  });

  it("takes everything where there is too little, but nothing that is empty or would fill the disk by itself", () => {
    assert.deepEqual(chooseFiles(files, 10_000_000), files);
    const odd = [{ path: "/empty", size: 0 }, { path: "/huge", size: 900 }, ...files.slice(0, 3)];
    assert.deepEqual(
      chooseFiles(odd, 10_000),
      files.slice(0, 3).filter((file) => file.size <= 500),
    );
  });

  it("gives the same for the same list", () => {
    assert.deepEqual(chooseFiles(files, 50_000), chooseFiles(files, 50_000));
  });
});

describe("filledPieces", () => {
  it("is as many as the share says, evenly over the disk", () => {
    assert.deepEqual(filledPieces(8, 0.5), [1, 3, 5, 7]);
    assert.deepEqual(filledPieces(8, 1), [0, 1, 2, 3, 4, 5, 6, 7]);
    assert.deepEqual(filledPieces(8, 0), []);
  });
});

describe("makeFilled", () => {
  it("leaves holes where nothing is filled, and fills with what differs", async () => {
    await withTemporaryFolder((folder) => {
      const disk = path.join(folder, "half.raw");
      makeFilled(disk, 8 * MIB, 0.5);
      const bytes = fs.readFileSync(disk);
      assert.equal(bytes.length, 8 * MIB);
      const pieces = Array.from({ length: 8 }, (_, at) => bytes.subarray(at * MIB, (at + 1) * MIB));
      assert.deepEqual(
        pieces.map((piece) => piece.some((byte) => byte !== 0)),
        [false, true, false, true, false, true, false, true],
      );
      assert.notDeepEqual(pieces[1], pieces[3]);
      return Promise.resolve();
    });
  });
});
