/**
 * `decant convert` against `qemu-img convert`: the same disk, byte for byte, for the combinations of pairs.json; with
 * FULL=1 for every possible one (hours).
 *
 * Most rows run in this process; every tenth runs as a process of its own, with standard input through a pipe.
 */
import assert from "node:assert/strict";
import { readFileSync, rmSync } from "node:fs";
import path from "node:path";
import { after, before, describe, it } from "node:test";
import * as convert from "../../cmd/convert.ts";
import type { ConvertResult } from "../../cmd/convert.ts";
import { runCommand } from "../support/command-io.ts";
import { runDecant } from "../support/run-decant.ts";
import { requireTools } from "../support/tools.ts";
import { FORMATS, imageChoice } from "./dimensions.ts";
import type { Choice } from "./dimensions.ts";
import { ImageFolder } from "./make-image.ts";
import { possibleChoices, readPairs } from "./make-pairs.ts";

const skip = requireTools("qemu-img", "qemu-io", "gzip", "zstd", "xz");
const full = process.env["FULL"] === "1";

/** Every so many-th row is a process. */
const PROCESS_EVERY = 10;

let images: ImageFolder;
let made: { key: string; image: string; content: Buffer } | undefined;

/** The image of a row and what it holds; kept while rows differ only in how they read it. */
function imageFor(format: string, choice: Choice): { image: string; content: Buffer } {
  const imageOnly = imageChoice(format, choice);
  const key = JSON.stringify([format, imageOnly]);
  if (made?.key === key) return made;
  const image = images.make(format, imageOnly);
  made = { key, image, content: images.contentOf(format, imageOnly, image) };
  return made;
}

async function convertRow(choice: Choice, file: string, target: string, asProcess: boolean): Promise<ConvertResult> {
  const fromInput = choice["source"] === "standard input";
  const threads = choice["threads"] === "1" ? ["--threads", "1"] : [];
  const args = ["--json", ...threads, fromInput ? "-" : file, target];
  const env = { DECANT_DECODERS: choice["decoders"] ?? "" };
  const result = asProcess
    ? await runDecant(["convert", ...args], { env, ...(fromInput ? { input: readFileSync(file) } : {}) })
    : await runCommand(convert, args, { env, ...(fromInput ? { standardInput: file } : {}) });
  assert.equal(result.status, 0, `${result.stdout}${result.stderr}`);
  return JSON.parse(result.stdout) as ConvertResult;
}

describe("convert writes what qemu-img convert writes", { skip }, () => {
  let rows = 0;
  before(() => {
    images = new ImageFolder();
  });
  after(() => images.remove());

  for (const format of Object.keys(FORMATS)) {
    describe(format, () => {
      for (const choice of full ? possibleChoices(format) : (readPairs()[format] ?? [])) {
        const asProcess = rows++ % PROCESS_EVERY === 0;
        it(`${Object.values(choice).join(", ")}${asProcess ? " (process)" : ""}`, async () => {
          const { image, content } = imageFor(format, choice);
          const wrapper = choice["wrapper"] ?? "none";
          const target = path.join(images.path, "target.raw");
          rmSync(target, { force: true });
          const result = await convertRow(choice, images.wrap(wrapper, image), target, asProcess);
          assert.ok(readFileSync(target).equals(content), "the disks are equal");
          assert.equal(result.format, format);
          assert.deepEqual(result.wrappers, wrapper === "none" ? [] : [wrapper]);
          assert.equal(result.virtualSize, content.length);
          assert.equal(result.spilled, false);
        });
      }
    });
  }

  it("counts its rows", (t) => {
    t.diagnostic(`${rows} combinations compared with qemu-img${full ? " (all)" : " (pairwise; FULL=1 for all)"}`);
    assert.ok(rows > 90);
  });
});
