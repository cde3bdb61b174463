/**
 * pairs.json is what its generator makes, leaves out no pair of values that is possible, and what is called impossible is.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, describe, it } from "node:test";
import { requireTools } from "../support/tools.ts";
import { dimensionsOf, FORMATS, parametersOf } from "./dimensions.ts";
import type { Choice } from "./dimensions.ts";
import { ImageFolder } from "./make-image.ts";
import { allChoices, makePairs, PAIRS_FILE, pairsOf, pairsText, possiblePairs, readPairs } from "./make-pairs.ts";

const skip = requireTools("qemu-img", "qemu-io");

describe("pairs.json", () => {
  it("is what make-pairs.ts makes", () => {
    assert.equal(readFileSync(PAIRS_FILE, "utf8"), pairsText(makePairs()));
  });

  for (const format of Object.keys(FORMATS)) {
    it(`covers every pair of ${format} that no rule forbids, and nothing else`, (t) => {
      const listed = new Set((readPairs()[format] ?? []).flatMap(pairsOf));
      const possible = possiblePairs(format);
      assert.deepEqual([...listed].sort(), [...possible].sort());
      const left = allPairs(format).filter((pair) => !possible.has(pair));
      t.diagnostic(`${possible.size} pairs of ${format}; impossible: ${left.join(", ") || "none"}`);
    });
  }
});

describe("what the rules forbid", { skip }, () => {
  let images: ImageFolder;
  before(() => {
    images = new ImageFolder();
  });
  after(() => images.remove());

  for (const [format, { image, rules }] of Object.entries(FORMATS)) {
    for (const rule of rules) {
      for (const written of image["written"] ?? []) {
        const example = onlyForbiddenBy(format, rule.reason, written);
        if (example === undefined) continue;
        it(`${format}, ${written}: ${rule.reason}`, () => {
          assert.throws(() => images.make(format, example), /Command failed: qemu-(img|io)/);
        });
      }
    }
  }
});

function onlyForbiddenBy(format: string, reason: string, written: string): Choice | undefined {
  const { image, rules } = dimensionsOf(format);
  return [...allChoices(image)].find((choice) => {
    const broken = rules.filter((rule) => rule.forbids(choice));
    return choice["written"] === written && broken.length === 1 && broken[0]?.reason === reason;
  });
}

/** As `pairsOf` has them, whether possible or not. */
function allPairs(format: string): string[] {
  const values = Object.entries(parametersOf(format)).map(([name, list]) => list.map((value) => `${name}=${value}`));
  return values.flatMap((own, i) =>
    own.flatMap((a) =>
      values
        .slice(i + 1)
        .flat()
        .map((b) => `${a} ${b}`),
    ),
  );
}
