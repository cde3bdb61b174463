import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { FormatError } from "../../../formats/errors.ts";
import { qcow2 } from "../../../formats/qcow2/qcow2.ts";
import { baseDisk } from "../../support/base-disk.ts";
import { guestImage } from "../../support/build-qcow2.ts";
import { mutations, survive } from "../../support/hostile.ts";
import { readDisk, scanDisk } from "../../support/parse.ts";
import { imageOf } from "../../support/qemu-images.ts";
import { requireTools } from "../../support/tools.ts";

const KIB = 1024;

describe("hostile qcow2", { skip: requireTools("qemu-img", "qemu-io") }, () => {
  for (const args of [
    ["-o", "cluster_size=4k"],
    ["-c", "-o", "cluster_size=4k,compat=0.10"],
  ]) {
    it(`gives the same disk or a FormatError for every length of a file (${args.join(" ")})`, () => {
      const disk = baseDisk(96 * KIB);
      const image = imageOf(disk, "qcow2", args);
      let whole = 0;
      for (let length = 0; length < image.length; length += length < 1024 || length > image.length - 1024 ? 1 : 61) {
        const file = image.subarray(0, length);
        try {
          const same = disk.equals(readDisk(qcow2, file)) && disk.equals(scanDisk(qcow2, file).disk);
          // Of a compressed cluster only its decoder can tell that the end is missing.
          assert.ok(same || args[0] === "-c", `another disk at length ${length}`);
          whole++;
        } catch (error) {
          assert.ok(
            error instanceof FormatError || (error as { code?: string }).code?.startsWith("Z_") === true,
            String(error),
          );
        }
      }
      assert.ok(whole < 1024 + 70, `${whole} prefixes passed`);
    });
  }

  const images: readonly (readonly [name: string, make: () => Buffer])[] = [
    ["plain", () => imageOf(baseDisk(512 * KIB), "qcow2", ["-o", "cluster_size=4k"])],
    ["compressed", () => imageOf(baseDisk(512 * KIB), "qcow2", ["-c", "-o", "cluster_size=4k"])],
    [
      "extended L2",
      () =>
        guestImage("512k", "extended_l2=on,cluster_size=16k", [
          "write -P 1 4k 100k",
          "write -z 64k 3k",
          "write -P 2 300k 1k",
        ]),
    ],
  ];
  for (const [name, make] of images) {
    it(`gives a FormatError or a disk, whatever changes (${name})`, () => {
      const image = make();
      const l1 = Number(image.readBigUInt64BE(40));
      const l2 = Number(image.readBigUInt64BE(l1) & 0x00ff_ffff_ffff_fe00n);
      const refcounts = Number(image.readBigUInt64BE(48));
      const ranges = [
        [0, 112],
        [l1, l1 + 8],
        [l2, l2 + 512],
        [refcounts, refcounts + 16],
        [112, 600],
      ] as const;
      const outcomes = new Set<string | undefined>();
      const started = performance.now();
      for (const damaged of mutations(image, ranges, 300, 99)) outcomes.add(survive(qcow2, damaged));
      assert.ok(outcomes.has(undefined) && outcomes.has("FORMAT_CORRUPT") && outcomes.has("FORMAT_OUT_OF_BOUNDS"));
      assert.ok(performance.now() - started < 60_000);
    });
  }
});
