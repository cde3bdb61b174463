import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { MAX_NEED_LENGTH } from "../../formats/disk-format.ts";
import type { Need, Parsing } from "../../formats/disk-format.ts";
import { FormatError } from "../../formats/errors.ts";
import { driveParser } from "../../importer/drive-parser.ts";
import { withStored } from "../support/job-places.ts";

const bytes = Buffer.from("the first structure and the second");

function* asking(...needs: readonly Need[]): Parsing<string[]> {
  const answers: string[] = [];
  for (const need of needs) answers.push(Buffer.from(yield need).toString());
  return answers;
}

describe("driveParser", () => {
  it("answers each need with exactly its bytes", async () => {
    await withStored(bytes, async (file) => {
      const needs = [
        { offset: 4, length: 5 },
        { offset: 0, length: 3 },
        { offset: 28, length: 6 },
      ];
      assert.deepEqual(await driveParser(asking(...needs), file), ["first", "the", "second"]);
      assert.deepEqual(await driveParser(asking(), file), []);
    });
  });

  it("answers with what there is where that is enough", async () => {
    await withStored(bytes, async (file) => {
      const needs = [
        { offset: 28, length: 100, shortAtEnd: true },
        { offset: 500, length: 1, shortAtEnd: true },
      ] as const;
      assert.deepEqual(await driveParser(asking(...needs), file), ["second", ""]);
    });
  });

  it("says where an image ends that is too short", async () => {
    await withStored(bytes, async (file) => {
      await assert.rejects(
        driveParser(asking({ offset: 30, length: 100 }), file),
        (error) =>
          error instanceof FormatError &&
          error.code === "FORMAT_INVALID" &&
          /ends at 0x22, .* 100 bytes at 0x1e/.test(error.message),
      );
    });
  });

  it("takes a need out of bounds for a bug of the parser", async () => {
    await withStored(bytes, async (file) => {
      for (const [offset, length] of [
        [0, 0],
        [-1, 1],
        [0, MAX_NEED_LENGTH + 1],
        [2 ** 60, 1],
        [0.5, 1],
      ] as const) {
        await assert.rejects(
          driveParser(asking({ offset, length }), file),
          (error) => error instanceof Error && !(error instanceof FormatError) && /parser asks for/.test(error.message),
        );
      }
    });
  });
});
