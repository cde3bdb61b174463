import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { describe, it } from "node:test";
import type { DiskImage, Need } from "../../../formats/disk-format.ts";
import { vmdk } from "../../../formats/vmdk/vmdk.ts";
import { baseDisk } from "../../support/base-disk.ts";
import { buildStreamOptimized } from "../../support/build-vmdk.ts";
import { mutations, survive, survivePrefixes } from "../../support/hostile.ts";
import { allExtents, openImage, parse, readDisk, scanDisk } from "../../support/parse.ts";
import { asStream } from "../../support/stream-format.ts";
import { assertSameMap, imageOf, inTemporaryFolder, mapOf, rawOf } from "../../support/qemu-images.ts";
import { requireTools } from "../../support/tools.ts";

const MIB = 1024 * 1024;
const KIB = 1024;

/** A disk of small grains: `fill` for each, 0 for none. */
function smallDisk(...fills: number[]): Buffer {
  return Buffer.concat(fills.map((fill) => Buffer.alloc(4096, fill)));
}
const SMALL = { grainSize: 8, entriesPerTable: 4 } as const;
const smallStream = buildStreamOptimized(smallDisk(1, 0, 2, 3, 0, 0, 0, 0, 0, 4), SMALL);

function scanned(file: Uint8Array): Buffer {
  return Buffer.from(scanDisk(asStream(vmdk), file).disk);
}

describe("a stream-optimized VMDK as VMware writes it", () => {
  for (const [name, options] of [
    ["with a footer", {}],
    ["with tables of 2 MiB", { entriesPerTable: 32 }],
    ["with its directory at the end, named in the header", { directory: "header" }],
    ["with zeros behind its end", { padding: 3000 }],
    ["with grains out of order", { reversed: true }],
    ["with small grains and tables", { grainSize: 8, entriesPerTable: 16 }],
  ] as const) {
    it(`${name}: at random, and in one pass that holds nothing`, () => {
      const disk = baseDisk(5 * MIB + 512);
      const image = buildStreamOptimized(disk, options);
      assert.ok(disk.equals(readDisk(vmdk, image)));
      for (const format of [vmdk, asStream(vmdk)]) {
        const pass = scanDisk(format, image);
        assert.ok(disk.equals(pass.disk));
        assert.equal(pass.lateBytes, 0);
      }
    });
  }

  it("announces each grain when no more than its marker was read", () => {
    const scan = openStream(smallStream).scan();
    let delivered = 0;
    let grains = 0;
    for (let step = scan.next(); step.done !== true;) {
      if (!("length" in step.value) || !("offset" in step.value)) {
        for (const extent of step.value) {
          assert.ok(extent.kind === "data" && extent.stored.encoding === "vmdk-grain");
          assert.equal(delivered, extent.stored.offset + 16);
          grains++;
        }
        step = scan.next();
        continue;
      }
      const need: Need = step.value;
      delivered = need.offset + need.length;
      step = scan.next(Uint8Array.from(smallStream.subarray(need.offset, delivered)));
    }
    assert.equal(grains, 4);
  });

  it("says in its features what it is", () => {
    assert.deepEqual(openImage(vmdk, smallStream).features, [
      "version 3",
      "grain size 4 KiB",
      "compression deflate",
      "stream-optimized",
      "grain directory at the end",
    ]);
  });

  it("keeps each grain's place to what it takes in the file", () => {
    const image = buildStreamOptimized(baseDisk(MIB));
    let previousEnd = 0;
    for (const extent of allExtents(openImage(vmdk, image), image)) {
      if (extent.kind !== "data" || extent.stored.encoding !== "vmdk-grain") continue;
      assert.ok(extent.stored.offset >= previousEnd, "no byte is read twice");
      previousEnd = extent.stored.offset + extent.stored.length;
      assert.ok(extent.stored.length <= 2 * 64 * KIB + 512);
    }
  });

  it("reads a part of a grain", () => {
    const parts = parse(smallStream, openImage(vmdk, smallStream).extents(4096 * 2 + 512, 1024));
    assert.equal(parts.length, 1);
    const [part] = parts;
    assert.ok(part?.kind === "data" && part.stored.encoding === "vmdk-grain");
    assert.deepEqual([part.length, part.stored.skip, part.stored.decodedLength], [1024, 512, 4096]);
  });
});

describe("a stream-optimized VMDK, against other readers", () => {
  it("with a footer is what qemu-img reads", { skip: requireTools("qemu-img") }, () => {
    const disk = baseDisk(36 * MIB);
    const image = buildStreamOptimized(disk);
    assert.ok(rawOf(image, "vmdk").equals(disk));
    assertSameMap(allExtents(openImage(vmdk, image), image), mapOf(image, "vmdk"), true);
  });

  it("with a footer is what 7zz reads", { skip: requireTools("7zz") }, () => {
    const disk = baseDisk(5 * MIB);
    const content = inTemporaryFolder((folder) => {
      // 7zz takes tables of 512 entries only.
      writeFileSync(path.join(folder, "disk.vmdk"), buildStreamOptimized(disk));
      const options = { cwd: folder, maxBuffer: 64 * MIB };
      return execFileSync("7zz", ["x", "-so", "-tVMDK", "disk.vmdk"], {
        ...options,
        stdio: ["ignore", "pipe", "ignore"],
      });
    });
    assert.ok(disk.equals(content));
  });

  it(
    "of qemu-img, cut at the border of a grain, is not taken for a whole one",
    { skip: requireTools("qemu-img") },
    () => {
      const image = imageOf(baseDisk(MIB), "vmdk", ["-o", "subformat=streamOptimized"]);
      const last = allExtents(openImage(vmdk, image), image).findLast((extent) => extent.kind === "data");
      assert.ok(last?.kind === "data" && last.stored.encoding === "vmdk-grain");
      const cut = image.subarray(0, last.stored.offset);
      assert.throws(() => readDisk(vmdk, cut), { code: "FORMAT_CORRUPT" });
      assert.throws(() => scanDisk(vmdk, cut), { code: "FORMAT_CORRUPT" });
    },
  );
});

describe("markers", () => {
  /** The place of the first marker that has `type`, by walking as the specification says. */
  function markerAt(type: number): number {
    for (let at = 8 * 512; at < smallStream.length;) {
      const size = smallStream.readUInt32LE(at + 8);
      if (size > 0) at += Math.ceil((12 + size) / 512) * 512;
      else if (smallStream.readUInt32LE(at + 12) === type) return at;
      else at += 512 + smallStream.readUInt32LE(at) * 512;
    }
    throw new Error(`no marker of type ${type}`);
  }

  it("must end in end-of-stream where the tables do not come first", () => {
    for (const directory of ["footer", "header"] as const) {
      const image = buildStreamOptimized(smallDisk(1, 2), { ...SMALL, directory, endOfStream: false });
      assert.throws(() => scanned(image), { code: "FORMAT_INVALID", remedy: /cut short/ });
    }
  });

  for (const [name, change, code, message] of [
    ["a grain that is stored twice", (f: Buffer) => f.writeUInt32LE(0, 9 * 512), "FORMAT_CORRUPT", /twice/],
    ["a grain between grains", (f: Buffer) => f.writeUInt32LE(4, 8 * 512), "FORMAT_CORRUPT", /sector 4/],
    ["a grain behind the disk", (f: Buffer) => f.writeUInt32LE(80, 8 * 512), "FORMAT_CORRUPT", /sector 80/],
    ["a grain far behind it", (f: Buffer) => f.writeUInt32LE(1, 8 * 512 + 4), "FORMAT_CORRUPT", /sector 4294967296/],
    ["a sector above 2^53", (f: Buffer) => f.writeUInt32LE(0xffffffff, 8 * 512 + 4), "FORMAT_OUT_OF_BOUNDS", /marker/],
    ["a grain too large", (f: Buffer) => f.writeUInt32LE(9000, 8 * 512 + 8), "FORMAT_OUT_OF_BOUNDS", /9000/],
    ["an unknown type", (f: Buffer) => f.writeUInt32LE(9, markerAt(1) + 12), "FORMAT_CORRUPT", /type 9/],
    ["a huge table", (f: Buffer) => f.writeUInt32LE(0x10000, markerAt(1)), "FORMAT_OUT_OF_BOUNDS", /65536 sectors/],
    [
      "a footer without magic",
      (f: Buffer) => f.fill(0, markerAt(3) + 512, markerAt(3) + 516),
      "FORMAT_CORRUPT",
      /footer/,
    ],
    ["a footer of another disk", (f: Buffer) => f.writeUInt32LE(88, markerAt(3) + 524), "FORMAT_CORRUPT", /differ/],
  ] as const) {
    it(`with ${name} are refused in one pass`, () => {
      const image = Buffer.from(smallStream);
      change(image);
      assert.throws(() => scanned(image), { code, message });
    });
  }

  it("of a footer that cannot be used are refused at random too", () => {
    const withoutMagic = Buffer.from(smallStream);
    withoutMagic.fill(0, markerAt(3) + 512, markerAt(3) + 516);
    assert.throws(() => openImage(vmdk, withoutMagic), { code: "FORMAT_INVALID" });
    const other = Buffer.from(smallStream);
    other.writeUInt32LE(88, markerAt(3) + 524);
    assert.throws(() => openImage(vmdk, other), { code: "FORMAT_CORRUPT", message: /virtualSize/ });
    const pointless = Buffer.from(smallStream);
    pointless.fill(0xff, markerAt(3) + 512 + 56, markerAt(3) + 512 + 64);
    assert.throws(() => openImage(vmdk, pointless), { code: "FORMAT_CORRUPT", message: /does not say/ });
  });

  it("give an error or a disk for every prefix", () => {
    survivePrefixes(vmdk, smallStream, 600, 61);
  });

  it("cut short are never a whole disk", () => {
    for (let length = 1; length < smallStream.length - 512; length += 37) {
      assert.notEqual(survive(vmdk, smallStream.subarray(0, length)), undefined, `${length} bytes`);
    }
  });

  it("give an error or a disk when they are damaged", () => {
    const codes = new Set<string | undefined>();
    for (const damaged of mutations(smallStream, [[8 * 512, smallStream.length]], 250, 21))
      codes.add(survive(vmdk, damaged));
    for (const damaged of mutations(smallStream, [[0, 80]], 150, 22)) codes.add(survive(vmdk, damaged));
    assert.ok(codes.has(undefined) && codes.has("FORMAT_CORRUPT") && codes.has("FORMAT_OUT_OF_BOUNDS"));
  });
});

function openStream(file: Uint8Array): DiskImage {
  return parse(file, vmdk.open(undefined));
}
