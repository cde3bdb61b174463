import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { describe, it } from "node:test";
import * as map from "../../cmd/map.ts";
import type { MapRow } from "../../cmd/map.ts";
import { runCommand } from "../support/command-io.ts";
import { golden } from "../support/golden.ts";
import { sampleBytes, samples } from "../support/images.ts";
import { withFolder } from "../support/loop-device.ts";
import { requireTools } from "../support/tools.ts";

async function onSample<T>(name: string, body: (file: string) => Promise<T>): Promise<T> {
  return await withFolder(async (folder) => {
    const file = path.join(folder, path.basename(name));
    fs.writeFileSync(file, sampleBytes(name));
    return await body(file);
  });
}

describe("decant map --json", { skip: requireTools("qemu-img") }, () => {
  for (const { name, format } of samples().filter(
    ({ wrappers, refused }) => wrappers.length === 0 && refused === undefined,
  )) {
    it(`prints what qemu-img prints of ${name}`, async () => {
      await onSample(name, async (file) => {
        const { status, stdout } = await runCommand(map, ["--json", file]);
        assert.equal(status, 0);
        const theirs = execFileSync("qemu-img", ["map", "-f", format, "--output=json", file], { encoding: "utf8" });
        let rows = JSON.parse(stdout) as MapRow[];
        // qemu-img knows no offsets in a VHDX.
        if (format === "vhdx") rows = rows.map(({ offset: _offset, ...row }) => row);
        assert.deepEqual(split(rows, theirs), split(JSON.parse(theirs) as MapRow[], stdout));
      });
    });
  }
});

/** `rows` cut at the borders of the other map too: qemu-img merges less in places. */
function split(rows: readonly MapRow[], other: string): MapRow[] {
  const borders = (JSON.parse(other) as MapRow[]).map(({ start }) => start);
  return rows.flatMap((row) => {
    const cuts = [
      row.start,
      ...borders.filter((at) => at > row.start && at < row.start + row.length),
      row.start + row.length,
    ];
    return cuts.slice(0, -1).map((start, i): MapRow => {
      const { start: _, length: __, offset, ...kind } = row;
      const place = offset === undefined ? {} : { offset: offset + start - row.start };
      return { start, length: (cuts[i + 1] ?? 0) - start, ...kind, ...place };
    });
  });
}

describe("decant map", () => {
  it("prints a table of the data", async () => {
    const texts = await Promise.all(
      ["qcow2/zlib.qcow2", "qcow2/plain.qcow2", "vmdk/stream-optimized.vmdk"].map(async (name) => {
        const { status, stdout } = await onSample(name, (file) => runCommand(map, [file]));
        assert.equal(status, 0);
        return `${name}\n${stdout}`;
      }),
    );
    const text = texts.join("\n");
    assert.equal(
      text,
      golden("cmd/map.txt", () => text),
    );
  });

  it("looks through wrappers", async () => {
    const plain = await onSample("raw/patterned.raw", (file) => runCommand(map, ["--json", file]));
    const wrapped = await onSample("gzip/patterned.raw.gz", (file) => runCommand(map, ["--json", file]));
    assert.equal(wrapped.status, 0);
    const size = (text: string): number => (JSON.parse(text) as MapRow[]).reduce((sum, { length }) => sum + length, 0);
    assert.equal(size(wrapped.stdout), size(plain.stdout));
  });

  it("draws into a file", async () => {
    await onSample("qcow2/zlib.qcow2", async (file) => {
      const picture = `${file}.svg`;
      const { status, stdout } = await runCommand(map, ["--svg", picture, file]);
      assert.deepEqual([status, stdout], [0, ""]);
      assert.match(fs.readFileSync(picture, "utf8"), /^<svg .*<\/svg>\n$/s);
    });
  });

  it("refuses what convert refuses", async () => {
    const { status, stderr } = await onSample("qcow2/backing-file.qcow2", (file) => runCommand(map, [file]));
    assert.equal(status, 3);
    assert.match(stderr, /FORMAT_UNSUPPORTED/);
  });
});
