/**
 * Every sample image of every format keeps the contract of a disk image.
 */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { raw } from "../../formats/raw.ts";
import { diskFormats } from "../../formats/registry.ts";
import { describeDiskImage } from "../suites/disk-image.ts";
import { sampleBytes, samples } from "../support/images.ts";
import { readDisk } from "../support/parse.ts";

const KIB = 1024;

/** Where a disk is cut, where that is not at 64 KiB. */
const UNITS: Readonly<Record<string, number>> = {
  "qcow2/cluster-512.qcow2": 512,
  "qcow2/cluster-2m.qcow2": 2048 * KIB,
  "qcow2/two-partitions.qcow2": 8 * KIB,
  "qcow2/extended-l2.qcow2": 4 * KIB,
  "vpc/dynamic.vhd": 2048 * KIB,
  "vpc/dynamic-chs.vhd": 2048 * KIB,
  "vhdx/dynamic.vhdx": 1024 * KIB,
  "vdi/dynamic.vdi": 1024 * KIB,
  "vdi/static.vdi": 1024 * KIB,
};

const names = new Set<string>();
for (const sample of samples()) {
  if (sample.wrappers.length > 0 || sample.refused !== undefined) continue;
  const format = diskFormats.find((candidate) => candidate.name === sample.format);
  assert.ok(format !== undefined, `no format ${sample.format}`);
  names.add(format.name);
  const file = sampleBytes(sample.name);
  const disk = Buffer.from(readDisk(format, file));
  // The hash in the manifest is of what qemu-img read.
  assert.equal(createHash("sha256").update(disk).digest("hex"), sample.contentSha256, sample.name);
  const fixedVhd = format.name === "vpc" && sample.features.includes("fixed");
  describeDiskImage(format, {
    name: sample.name,
    file,
    disk,
    unit: UNITS[sample.name] ?? 64 * KIB,
    // Without its end a fixed VHD cannot be told from raw.
    ...(fixedVhd ? { streamed: raw } : {}),
  });
}
assert.deepEqual([...names].sort(), diskFormats.map((format) => format.name).sort(), "a sample of every format");
