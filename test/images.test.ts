import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { after, before, describe, it } from "node:test";
import { patternedDisk } from "../images/base-disks.ts";
import { variants } from "../images/variants.ts";
import { IMAGES_FOLDER, sampleBytes, samples } from "./support/images.ts";
import type { Sample } from "./support/images.ts";
import { requireTools } from "./support/tools.ts";

const MOST_STORED_BYTES = 100 * 1024;

/** The command that undoes each wrapper, from standard input to standard output. */
const UNWRAP: Readonly<Record<string, readonly string[]>> = {
  bzip2: ["bzip2", "-dc"],
  gzip: ["gzip", "-dc"],
  lzma: ["xz", "--format=lzma", "-dc"],
  xz: ["xz", "-dc"],
  zstd: ["zstd", "-q", "-dc"],
};

describe("sample images", () => {
  it("are the files that the manifest lists, and no other", () => {
    const stored = globSync("*/*", { cwd: IMAGES_FOLDER }).filter((file) => file !== "ova/sample.ovf");
    assert.deepEqual(
      stored.sort(),
      samples()
        .map((sample) => sample.file)
        .sort(),
    );
    assert.deepEqual(
      samples().map((sample) => [sample.name, sample.command]),
      variants.map((variant) => [variant.name, variant.command]),
      "variants.ts was changed: npm run images -- NAME makes the image again",
    );
  });

  for (const sample of samples()) {
    it(`${sample.file} is small and has the hash of the manifest`, () => {
      const stored = readFileSync(path.join(IMAGES_FOLDER, sample.file));
      assert.ok(stored.length <= MOST_STORED_BYTES, `${stored.length} bytes`);
      assert.equal(sha256(stored), sample.storedSha256);
    });
  }
});

describe(
  "the content of sample images, as other tools read it",
  {
    skip: requireTools("qemu-img", "gzip", "zstd", "xz", "bzip2", "tar", "unzip"),
  },
  () => {
    let folder = "";
    before(() => {
      folder = mkdtempSync(path.join(os.tmpdir(), "decant-images-"));
    });
    after(() => rmSync(folder, { recursive: true, force: true }));

    for (const sample of samples().filter((candidate) => candidate.refused === undefined)) {
      it(sample.name, () => {
        const content = readContent(sample, folder);
        assert.equal(content.length, sample.virtualSize);
        assert.equal(sha256(content), sample.contentSha256);
      });
    }

    it("the patterned disk is still what it was", () => {
      const plain = samples().find((sample) => sample.name === "raw/patterned.raw");
      assert.equal(sha256(patternedDisk()), plain?.contentSha256);
    });
  },
);

function readContent(sample: Sample, folder: string): Buffer {
  let bytes = sampleBytes(sample.name);
  for (const wrapper of sample.wrappers) bytes = unwrap(wrapper, bytes, folder);
  const image = path.join(folder, "image");
  const disk = path.join(folder, "disk");
  writeFileSync(image, bytes);
  execFileSync("qemu-img", ["convert", "-f", sample.format, "-O", "raw", image, disk]);
  return readFileSync(disk);
}

function unwrap(wrapper: string, bytes: Buffer, folder: string): Buffer {
  const [command, ...args] = UNWRAP[wrapper] ?? [];
  if (command !== undefined) return run(command, args, bytes);
  const outer = path.join(folder, "outer");
  writeFileSync(outer, bytes);
  if (wrapper === "zip") return run("unzip", ["-p", outer]);
  const names = run("tar", ["-tf", outer]).toString().trim().split("\n");
  const disk = names.find((name) => /\.(raw|qcow2|vmdk)$/.test(name));
  assert.ok(disk !== undefined, names.join(", "));
  return run("tar", ["-xOf", outer, disk]);
}

function run(command: string, args: readonly string[], input?: Buffer): Buffer {
  return execFileSync(command, args, { maxBuffer: 2 ** 30, ...(input === undefined ? {} : { input }) });
}

function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}
