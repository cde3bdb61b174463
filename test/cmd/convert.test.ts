import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { describe, it } from "node:test";
import * as convert from "../../cmd/convert.ts";
import type { ConvertResult } from "../../cmd/convert.ts";
import { runCommand } from "../support/command-io.ts";
import type { CommandResult } from "../support/command-io.ts";
import { convertImage } from "../support/convert-image.ts";
import { golden } from "../support/golden.ts";
import { sampleBytes, samples } from "../support/images.ts";
import { withFolder } from "../support/loop-device.ts";

const SAMPLES = [
  "qcow2/dirty.qcow2",
  "ova/sample.ova",
  "gzip/patterned.tar.gz",
  "xz/patterned.qcow2.xz",
  "qcow2/backing-file.qcow2",
];

/** Runs in a folder with the sample as `image`, and says what is there afterwards. */
async function inFolder(
  sample: string,
  args: (image: string, folder: string) => readonly string[],
  prepare: (folder: string) => void = () => undefined,
): Promise<CommandResult & { readonly files: readonly string[]; readonly disk: Buffer | undefined }> {
  return await withFolder(async (folder) => {
    const image = path.join(folder, "image");
    fs.writeFileSync(image, sampleBytes(sample));
    prepare(folder);
    const result = await runCommand(convert, ["--threads", "1", ...args(image, folder)]);
    const disk = path.join(folder, "disk.raw");
    return {
      ...result,
      stdout: result.stdout.replaceAll(folder, "FOLDER"),
      stderr: result.stderr.replaceAll(folder, "FOLDER"),
      files: fs.readdirSync(folder).sort(),
      disk: fs.existsSync(disk) ? fs.readFileSync(disk) : undefined,
    };
  });
}

describe("decant convert --json", () => {
  it("prints one object, whatever the end", async () => {
    const lines: string[] = [];
    for (const sample of SAMPLES) {
      const args = (image: string, folder: string): string[] => [
        "--json",
        "--digest",
        image,
        path.join(folder, "disk.raw"),
      ];
      const { stdout, stderr } = await inFolder(sample, args);
      assert.equal(stderr, "");
      const printed = JSON.parse(stdout) as Partial<ConvertResult>;
      if (printed.seconds !== undefined) {
        assert.ok(printed.seconds > 0 && (printed.maxRssBytes ?? 0) > 2 ** 20);
        // Not the same twice.
        const stages = Object.fromEntries(Object.keys(printed.stages ?? {}).map((name) => [name, "MS"]));
        Object.assign(printed, { seconds: "SECONDS", stages, maxRssBytes: "BYTES" });
      }
      lines.push(`${sample}\n${JSON.stringify(printed, undefined, 2)}\n`);
    }
    const text = lines.join("\n");
    assert.equal(
      text,
      golden("cmd/convert-json.txt", () => text),
    );
  });

  it("gives the digest that the manifest of the samples has", async () => {
    for (const { name, contentSha256 } of samples()
      .filter(({ refused, wrappers }) => refused === undefined && wrappers.length < 2)
      .slice(0, 12)) {
      const { result, status } = await convertImage(sampleBytes(name), { args: ["--digest"], threads: 1 });
      assert.deepEqual([status, result?.digest], [0, contentSha256], name);
    }
  });
});

describe("decant convert", () => {
  const toDisk =
    (...options: string[]) =>
    (image: string, folder: string): string[] => [...options, image, path.join(folder, "disk.raw")];

  it("talks to a person on its standard error, and prints only a digest", async () => {
    const quiet = await inFolder("qcow2/plain.qcow2", toDisk());
    assert.deepEqual([quiet.status, quiet.stdout, quiet.files], [0, "", ["disk.raw", "image"]]);
    assert.match(quiet.stderr, /^FOLDER\/disk\.raw: 4\.00 MiB disk from FOLDER\/image \(qcow2\) in /);
    const { stdout, disk } = await inFolder("qcow2/plain.qcow2", toDisk("--digest"));
    assert.ok(disk !== undefined);
    assert.equal(stdout, `${createHash("sha256").update(disk).digest("hex")}  FOLDER/disk.raw\n`);
  });

  it("replaces a file only where it was told to, and then only by a whole disk", async () => {
    const old = (folder: string): void => fs.writeFileSync(path.join(folder, "disk.raw"), "old");
    const kept = await inFolder("qcow2/plain.qcow2", toDisk(), old);
    assert.deepEqual([kept.status, kept.disk?.toString()], [2, "old"]);
    assert.match(kept.stderr, /--force/);
    const replaced = await inFolder("qcow2/plain.qcow2", toDisk("--force"), old);
    assert.deepEqual([replaced.status, replaced.disk?.length], [0, 4_195_840]);
    const refused = await inFolder("qcow2/encrypted.qcow2", toDisk("--force"), old);
    assert.deepEqual([refused.status, refused.disk?.toString(), refused.files], [3, "old", ["disk.raw", "image"]]);
  });

  it("never pours an image into itself", async () => {
    const itself = await inFolder("qcow2/plain.qcow2", (image) => ["--force", image, image]);
    assert.deepEqual([itself.status, itself.files], [2, ["image"]]);
    assert.match(itself.stderr, /is the source itself/);
    const link = (folder: string): void => fs.symlinkSync("image", path.join(folder, "disk.raw"));
    assert.equal((await inFolder("qcow2/plain.qcow2", toDisk("--force"), link)).status, 2);
  });

  it("ends with the status of what went wrong", async () => {
    const wrong = `sha1:${"0".repeat(40)}`;
    const rows: readonly [number, RegExp, (image: string, folder: string) => string[]][] = [
      [2, /USAGE/, (image, folder) => ["--size", "1Mi", image, path.join(folder, "disk.raw")]],
      [3, /FORMAT_UNRECOGNISED/, (image, folder) => ["--format", "vmdk", image, path.join(folder, "disk.raw")]],
      [3, /FORMAT_INVALID/, (image, folder) => ["--strict", image, path.join(folder, "disk.raw")]],
      [5, /SOURCE_NOT_FOUND/, (image, folder) => [`${image}2`, path.join(folder, "disk.raw")]],
      [6, /SOURCE_CHECKSUM/, (image, folder) => ["--checksum", wrong, image, path.join(folder, "disk.raw")]],
    ];
    for (const [status, code, args] of rows) {
      const result = await inFolder("qcow2/dirty.qcow2", args);
      assert.deepEqual([result.status, result.stdout, result.files], [status, "", ["image"]], result.stderr);
      assert.match(result.stderr, code);
    }
  });

  it("decodes and throws away with null:", async () => {
    const { status, files, stderr } = await inFolder("qcow2/zstd.qcow2", (image) => [image, "null:"]);
    assert.deepEqual([status, files], [0, ["image"]]);
    assert.match(stderr, /^null: 4\.00 MiB disk/);
  });

  it("uses the portable decoders where the environment says so", async () => {
    for (const sample of ["qcow2/zlib.qcow2", "xz/patterned.raw.xz", "zstd/patterned.raw.zst"]) {
      const auto = await convertImage(sampleBytes(sample));
      const portable = await convertImage(sampleBytes(sample), { env: { DECANT_DECODERS: "portable" } });
      assert.ok(auto.disk !== undefined && portable.disk?.equals(auto.disk));
    }
  });
});
