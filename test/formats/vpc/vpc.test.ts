import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { vpc } from "../../../formats/vpc/vpc.ts";
import { baseDisk } from "../../support/base-disk.ts";
import { buildDynamicVhd, buildFooter, HEADER_AT, sealed } from "../../support/build-vhd.ts";
import { openImage, parse, readDisk } from "../../support/parse.ts";

const parts = { currentSize: 8192, blockSize: 4096, table: [0, undefined], blocks: [Buffer.alloc(4096, 7)] };
const intact = buildDynamicVhd(parts);

describe("vpc", () => {
  it("H06: leaves a raw file without a footer to raw, whatever its name", () => {
    const disk = baseDisk(1024 * 1024);
    assert.ok(!vpc.probe(disk.subarray(0, 65536), disk.subarray(-512)));
    assert.throws(() => openImage(vpc, disk), { code: "FORMAT_UNRECOGNISED" });
  });

  it("does not take last bytes for a footer whose checksum is wrong", () => {
    const footer = buildFooter({ type: 2, currentSize: 4096 });
    footer[200] = 1;
    assert.ok(!vpc.probe(Buffer.alloc(4096), footer));
  });

  it("uses the footer at the end where the copy at the start is damaged", () => {
    for (const at of [0, 50]) {
      const image = Buffer.from(intact);
      image[at] = 0xee;
      assert.ok(vpc.probe(image, image.subarray(-512)));
      assert.ok(Buffer.from(readDisk(vpc, intact)).equals(readDisk(vpc, image)));
      assert.deepEqual(
        openImage(vpc, image).warnings.map((warning) => warning.code),
        ["VPC_FOOTER_COPY_DAMAGED"],
      );
    }
  });

  it("refuses a damaged footer where no other is at hand", () => {
    const image = Buffer.from(intact);
    image[50] = 0xee;
    assert.throws(() => parse(image, vpc.open(undefined)), { code: "FORMAT_CORRUPT" });
    assert.throws(() => openImage(vpc, image.subarray(0, -1)), { code: "FORMAT_CORRUPT" });
  });

  it("does without the footer at the end", () => {
    const image = intact.subarray(0, -512);
    assert.ok(Buffer.from(readDisk(vpc, intact)).equals(readDisk(vpc, image)));
  });

  it("refuses a differencing disk by name, with a remedy", () => {
    const image = buildDynamicVhd({ ...parts, type: 4 });
    assert.throws(() => openImage(vpc, image), {
      code: "FORMAT_UNSUPPORTED",
      message: /differencing/,
      remedy: /Merge/,
    });
  });

  it("refuses other types and a dynamic header that cannot be there", () => {
    assert.throws(() => openImage(vpc, buildDynamicVhd({ ...parts, type: 5 })), { code: "FORMAT_INVALID" });
    assert.throws(() => parse(intact, vpc.open(HEADER_AT + 1023)), { code: "FORMAT_INVALID" });
    const image = Buffer.from(intact);
    image.writeUInt32BE(0xffffffff, 20);
    image.set(sealed(image.subarray(0, 512), 64));
    assert.throws(() => openImage(vpc, image), { code: "FORMAT_INVALID", message: /4294967295/ });
  });

  it("refuses a fixed disk in a stream that only starts like one", () => {
    const image = Buffer.concat([buildFooter({ type: 2, currentSize: 0 }), Buffer.alloc(4096)]);
    assert.throws(() => parse(image, vpc.open(undefined)), { code: "FORMAT_INVALID" });
  });
});
