import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { FormatErrorCode } from "../../../formats/errors.ts";
import { FormatError } from "../../../formats/errors.ts";
import { qcow2 } from "../../../formats/qcow2/qcow2.ts";
import { buildQcow2, changedImage, extension, featureNames, guestImage, qemuImg } from "../../support/build-qcow2.ts";
import { openImage, readDisk } from "../../support/parse.ts";
import { requireTools } from "../../support/tools.ts";

const FEATURE_NAMES = 0x6803_f857;

function refusal(image: Uint8Array): FormatError {
  try {
    openImage(qcow2, image);
  } catch (error) {
    assert.ok(error instanceof FormatError, String(error));
    return error;
  }
  throw new assert.AssertionError({ message: "the image was opened" });
}

function assertRefused(image: Uint8Array, code: FormatErrorCode, message: RegExp): void {
  const error = refusal(image);
  assert.match(error.message, message);
  assert.equal(error.code, code);
  if (code === "FORMAT_UNSUPPORTED") assert.ok(error.remedy !== undefined && error.remedy.length > 20);
}

/** A version 3 image with one field overwritten. */
function withField(at: number, size: 4 | 8, value: number | bigint): Buffer {
  const image = buildQcow2();
  if (size === 8) image.writeBigUInt64BE(BigInt(value), at);
  else image.writeUInt32BE(Number(value), at);
  return image;
}

describe("qcow2 header from qemu-img", { skip: requireTools("qemu-img") }, () => {
  it("Q14: refuses an external data file", () => {
    const image = changedImage(Buffer.alloc(0), (file) => {
      qemuImg("create", "-q", "-f", "qcow2", "-o", `data_file=${file}.secret,data_file_raw=on`, file, "4096");
    });
    assertRefused(image, "FORMAT_UNSUPPORTED", /external data file/);
  });

  it("Q15, Q16: refuses a backing file and names it", () => {
    const image = changedImage(Buffer.alloc(0), (file) => {
      qemuImg("create", "-q", "-u", "-f", "qcow2", "-b", "/etc/hostname", "-F", "raw", file, "1M");
    });
    assertRefused(image, "FORMAT_UNSUPPORTED", /backing file "\/etc\/hostname"/);
  });

  for (const [format, name, cryptMethod] of [
    ["luks", "LUKS", 2],
    ["aes", "AES", 1],
  ] as const) {
    it(`Q17: refuses ${name} encryption`, () => {
      const image = changedImage(Buffer.alloc(0), (file) => {
        const secret = ["--object", "secret,id=key,data=abc123"];
        const options = format === "luks" ? "encrypt.format=luks,encrypt.key-secret=key,encrypt.iter-time=10" : "";
        // AES can no longer be created; its header differs in the method only.
        const args = [...secret, "-f", "qcow2", ...(options === "" ? [] : ["-o", options]), file, "1M"];
        // On a busy machine qemu-img cannot measure how many rounds its key takes, and gives up.
        for (let tries = 1; ; tries++) {
          try {
            qemuImg("create", "-q", ...args);
            break;
          } catch (error) {
            if (tries === 10) throw error;
          }
        }
      });
      image.writeUInt32BE(cryptMethod, 32);
      assertRefused(image, "FORMAT_UNSUPPORTED", new RegExp(`encrypted \\(${name}\\), and .* key`));
    });
  }

  it("Q10: refuses an unknown incompatible feature by its number if the table does not name it", () => {
    const image = guestImage("1M", "", []);
    image[79] = 0x20;
    assertRefused(image, "FORMAT_UNSUPPORTED", /not known: bit 5$/);
  });
});

describe("qcow2 header", () => {
  it("Q10: names unknown incompatible features from the feature name table", () => {
    const names = featureNames(
      [0, 5, "magic beans"],
      [1, 6, "compatible"],
      [0, 40, "f\u00fcr\n später"],
      [0, 63, "x".repeat(46)],
    );
    const image = buildQcow2({
      incompatible: (1n << 5n) | (1n << 6n) | (1n << 40n) | (1n << 63n),
      extensions: Buffer.concat([extension(0x1234, Buffer.alloc(5)), extension(FEATURE_NAMES, names)]),
    });
    assertRefused(
      image,
      "FORMAT_UNSUPPORTED",
      /: "magic beans" \(bit 5\), bit 6, "f\?r\? sp\?ter" \(bit 40\), "x{46}" \(bit 63\)$/,
    );
  });

  it("tells known incompatible features apart", () => {
    for (const incompatible of [1n, 2n, 3n, 16n]) openImage(qcow2, buildQcow2({ incompatible }));
    openImage(qcow2, buildQcow2({ incompatible: 8n, compressionType: 1 }));
    openImage(qcow2, buildQcow2({ compatible: 0xffff_ffff_ffff_ffffn }));
    assertRefused(buildQcow2({ incompatible: 4n }), "FORMAT_UNSUPPORTED", /external data file/);
  });

  for (const [name, shown] of [
    ["base.qcow2", /backing file "base\.qcow2"/],
    ["http://user:secret@example.com/base", /backing file of protocol "http"/],
    ['json:{"driver":"http","password":"secret"}', /backing file of protocol "json"/],
    ["a\u0007\u001b[2Jb", /backing file "a\?\?\[2Jb"/],
    ["n".repeat(1000), /backing file "n{128}\.\.\."/],
  ] as const) {
    it(`Q15: shows the backing file ${JSON.stringify(name.slice(0, 40))} safely`, () => {
      const image = buildQcow2();
      image.writeBigUInt64BE(512n, 8);
      image.writeUInt32BE(name.length, 16);
      image.write(name, 512, "latin1");
      assertRefused(image, "FORMAT_UNSUPPORTED", shown);
      assert.doesNotMatch(refusal(image).message, /secret/);
    });
  }

  it("refuses a backing file whose name lies nowhere, and reads an image whose backing file has no name", () => {
    const image = withField(8, 8, 2n ** 52n);
    openImage(qcow2, image);
    image.writeUInt32BE(0xffff_ffff, 16);
    assertRefused(image, "FORMAT_UNSUPPORTED", /backing file ""/);
  });

  for (const [name, image, code, message] of [
    ["another magic", withField(0, 4, 1), "FORMAT_UNRECOGNISED", /does not begin/],
    ["version 1", withField(4, 4, 1), "FORMAT_UNSUPPORTED", /^qcow version 1 /],
    ["version 4", withField(4, 4, 4), "FORMAT_UNSUPPORTED", /^qcow2 version 4 /],
    ["Q19: cluster_bits 99", withField(20, 4, 99), "FORMAT_OUT_OF_BOUNDS", /cluster_bits is 99/],
    ["Q19: cluster_bits 8", withField(20, 4, 8), "FORMAT_OUT_OF_BOUNDS", /cluster_bits is 8/],
    ["Q19: cluster_bits 22", withField(20, 4, 22), "FORMAT_OUT_OF_BOUNDS", /cluster_bits is 22/],
    ["Q19: cluster_bits 2^32 - 1", withField(20, 4, 0xffff_ffff), "FORMAT_OUT_OF_BOUNDS", /cluster_bits/],
    ["Q19: l1_size beyond 32 MiB", withField(36, 4, 4 * 1024 * 1024 + 1), "FORMAT_OUT_OF_BOUNDS", /l1_size is 4194305/],
    ["Q19: l1_size 2^32 - 1", withField(36, 4, 0xffff_ffff), "FORMAT_OUT_OF_BOUNDS", /l1_size/],
    [
      "an l1_size too small for the disk",
      withField(24, 8, 2n ** 40n),
      "FORMAT_INVALID",
      /1 entries, fewer than the 2048/,
    ],
    ["a size above 2^53", withField(24, 8, 2n ** 53n), "FORMAT_OUT_OF_BOUNDS", /^size is 0x20000000000000/],
    ["a size of 2^64 - 1", withField(24, 8, 2n ** 64n - 1n), "FORMAT_OUT_OF_BOUNDS", /^size is 0xf/],
    ["a misaligned L1 table", withField(40, 8, 65536 + 512), "FORMAT_INVALID", /l1_table_offset is 0x10200/],
    ["no L1 table", withField(40, 8, 0), "FORMAT_INVALID", /l1_table_offset/],
    ["an L1 table beyond the end", withField(40, 8, 2n ** 40n), "FORMAT_CORRUPT", /L1 table ends at/],
    ["an L1 table above 2^53", withField(40, 8, 2n ** 60n), "FORMAT_OUT_OF_BOUNDS", /l1_table_offset/],
    ["encryption that is not known", withField(32, 4, 7), "FORMAT_UNSUPPORTED", /method 7/],
    ["a header_length of 96", withField(100, 4, 96), "FORMAT_INVALID", /header_length is 96/],
    ["a header longer than a cluster", withField(100, 4, 65537), "FORMAT_INVALID", /header_length is 65537/],
    ["compression type 2", buildQcow2({ incompatible: 8n, compressionType: 2 }), "FORMAT_UNSUPPORTED", /type 2/],
    ["zstd without its bit", buildQcow2({ compressionType: 1 }), "FORMAT_INVALID", /contradict/],
    ["zlib with the bit", buildQcow2({ incompatible: 8n }), "FORMAT_INVALID", /contradict/],
    ["extended L2 in small clusters", buildQcow2({ incompatible: 16n, clusterBits: 13 }), "FORMAT_INVALID", /16 KiB/],
  ] as const) {
    it(`refuses ${name}`, () => assertRefused(image, code, message));
  }

  it("Q19: refuses at once, whatever the header claims", () => {
    const started = performance.now();
    for (let i = 0; i < 100; i++) {
      const image = buildQcow2();
      image.fill(0xff, 20 + i, 28 + i);
      try {
        openImage(qcow2, image);
      } catch (error) {
        assert.ok(error instanceof FormatError);
      }
    }
    assert.ok(performance.now() - started < 2000);
  });

  it("ignores refcounts, whatever they are, up to QEMU's limit of 8 MiB for their table", () => {
    for (const at of [48, 52, 96]) assert.equal(readDisk(qcow2, withField(at, 4, 0xffff_ffff)).length, 1024 * 1024);
    assert.equal(readDisk(qcow2, withField(56, 4, 128)).length, 1024 * 1024);
    assertRefused(withField(56, 4, 129), "FORMAT_OUT_OF_BOUNDS", /refcount_table_clusters is 129/);
  });

  it("reads a version 3 header of 104 bytes, without a compression type", () => {
    const image = buildQcow2({ headerLength: 104 });
    image[107] = 9; // of the end of the extensions, not of the header
    image.writeUInt32BE(0, 104);
    assert.ok(openImage(qcow2, image).features.includes("compression zlib"));
  });

  it("says that a file ends inside the header", () => {
    const image = buildQcow2();
    for (let length = 4; length < 112; length++) {
      assertRefused(
        image.subarray(0, length),
        "FORMAT_INVALID",
        new RegExp(`ends at ${length}, inside the qcow2 header`),
      );
    }
  });
});
