import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { cacheFolder, chooseFiles } from "../../bench/corpus.ts";

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

describe("cacheFolder", () => {
  it("is where the environment says, else in the home folder", () => {
    assert.equal(cacheFolder({ XDG_CACHE_HOME: "/somewhere" }), "/somewhere");
    assert.match(cacheFolder({}), /\/\.cache$/);
  });
});
