import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { XMLValidator } from "fast-xml-parser";
import { drawMap } from "../../cmd/draw-map.ts";
import { mapRows } from "../../cmd/map.ts";
import type { MapRow } from "../../cmd/map.ts";
import { qcow2 } from "../../formats/qcow2/qcow2.ts";
import { raw } from "../../formats/raw.ts";
import { driveParser } from "../../importer/drive-parser.ts";
import { golden } from "../support/golden.ts";
import { sampleBytes } from "../support/images.ts";
import { openImage } from "../support/parse.ts";
import { withStored } from "../support/job-places.ts";

const SIGNS: Readonly<Record<string, string>> = { hole: ".", zero: "0", plain: "#", encoded: "c" };

/** The picture as text: a sign for each cell, of the kind that fills most of it above the ground. */
function asText(svg: string): string {
  const cells = svg.split("\n").filter((line) => line.startsWith('<rect class="hole"') && !line.includes("<text"));
  const signs = cells.map((cell) => {
    const kinds = [...cell.matchAll(/class="(\w+)".*?height="([\d.]+)"/g)].slice(1);
    const [, kind = "hole"] = kinds.toSorted((a, b) => Number(b[2]) - Number(a[2]))[0] ?? [];
    return SIGNS[kind] ?? "?";
  });
  assert.equal(signs.length, 64 * 32);
  return Array.from({ length: 32 }, (_, row) => signs.slice(row * 64, (row + 1) * 64).join("")).join("\n");
}

function row(start: number, length: number, kind: Partial<MapRow>): MapRow {
  return { start, length, depth: 0, present: true, zero: false, data: true, ...kind };
}

describe("drawMap", () => {
  it("draws each range where it lies, and what is compressed in another colour", async () => {
    const texts: string[] = [];
    for (const name of ["qcow2/plain.qcow2", "qcow2/zlib.qcow2", "qcow2/zero-clusters.qcow2"]) {
      const bytes = sampleBytes(name);
      await withStored(bytes, async (file) => {
        const image = await driveParser(qcow2.open(file.size), file);
        const svg = await drawMap(name, image, mapRows({ image, file }));
        assert.equal(XMLValidator.validate(svg), true);
        const legend = [...svg.matchAll(/<text x="\d+" y="\d+">([^<]+)<\/text>/g)].map(([, text]) => text);
        texts.push(`${name}\n${asText(svg)}\n${legend.join("\n")}\n`);
      });
    }
    const text = texts.join("\n");
    assert.equal(
      text,
      golden("cmd/draw-map.txt", () => text),
    );
  });

  it("cannot be made to run what an image is called", async () => {
    const image = openImage(raw, new Uint8Array(512));
    for (const name of ['<script>alert("1")</script>', "a&b]]>", "]]>'\"<!--", "line\nbreak"]) {
      const svg = await drawMap(name, image, [row(0, 512, { offset: 0 })]);
      assert.equal(XMLValidator.validate(svg), true, name);
      assert.ok(!svg.includes("<script") && !svg.includes("<!--"));
    }
    assert.match(await drawMap("a<b", image, []), /<title>a&#60;b: where its data lies<\/title>/);
  });

  it("shows the smallest file on a large disk, and adds up to the disk", async () => {
    const size = 2 ** 40;
    const image = { ...openImage(raw, new Uint8Array(0)), format: "raw", virtualSize: size } as never;
    const rows = [
      row(0, 2 ** 39, { zero: true, data: false, present: false }),
      row(2 ** 39, 512, {}),
      row(2 ** 39 + 512, 2 ** 39 - 512, { zero: true, data: false }),
    ];
    const svg = await drawMap("large", image, rows);
    const text = asText(svg).replaceAll("\n", "");
    assert.equal(text.indexOf("0"), 1024 - 0);
    assert.match(svg, /compressed data: 512 B/);
    assert.match(svg, /not allocated: 512 GiB/);
    assert.match(svg, /<rect class="encoded"[^>]* height="1"\/>/, "a pixel at least");
  });

  it("draws a disk of no bytes", async () => {
    const svg = await drawMap("empty", openImage(raw, new Uint8Array(0)), []);
    assert.equal(XMLValidator.validate(svg), true);
    assert.ok(!/NaN|Infinity/.test(svg));
  });
});
