/**
 * Images that other software than qemu-img made: disks of Virtual PC, Hyper-V, Disk2vhd and VMware from the QEMU sources,
 * images by Bochs, and boot media and filesystems from Debian packages. Each becomes the raw disk that qemu-img makes of it,
 * from a file and from standard input.
 */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { describe, it } from "node:test";
import { fetchPackages, fetchSource } from "../support/debian-packages.ts";
import { withFolder } from "../support/loop-device.ts";
import { runDecant } from "../support/run-decant.ts";
import type { RunResult } from "../support/run-decant.ts";
import { startDecant } from "../support/start-decant.ts";
import { requireTools } from "../support/tools.ts";

const packages = fetchPackages("bximage", "forensics-samples-multiple", "grub-rescue-pc", "ipxe", "memtest86+", "ovmf");
const qemuSource = fetchSource("qemu", "*/qemu-iotests/sample_images/*");

/** The sample of QEMU's own tests, unpacked into `folder`. */
function unpackSample(name: string, folder: string): string {
  const file = path.join(folder, name);
  unpack(["bzip2", "-dc", qemuSource.path(`${name}.bz2`)], file);
  return file;
}

function unpack([program, ...args]: readonly [string, ...string[]], file: string): void {
  const output = fs.openSync(file, "w");
  try {
    execFileSync(program, args, { stdio: ["ignore", output, "inherit"] });
  } finally {
    fs.closeSync(output);
  }
}

/** Converts from the file and from standard input. Both must give the disk that qemu-img reads. */
async function assertSameDisk(image: string, format: string, folder: string): Promise<RunResult> {
  const disk = path.join(folder, "disk.raw");
  const run = await runDecant(["convert", "--json", image, disk]);
  assert.equal(run.status, 0, run.stderr);
  assertEqualDisks(format, image, disk);
  const passedDisk = path.join(folder, "passed.raw");
  const stdin = fs.openSync(image, "r");
  try {
    const passed = await startDecant(["convert", "--json", "-", passedDisk], { stdin }).ended;
    assert.equal(passed.status, 0, passed.stderr);
  } finally {
    fs.closeSync(stdin);
  }
  // Two raw files: qemu-img has no map of a VHDX, and would read all of it again.
  assertEqualDisks("raw", disk, passedDisk);
  return run;
}

function assertEqualDisks(format: string, image: string, disk: string): void {
  const info = execFileSync("qemu-img", ["info", "-f", format, "--output=json", image], { encoding: "utf8" });
  assert.equal(fs.statSync(disk).size, (JSON.parse(info) as { "virtual-size": number })["virtual-size"]);
  execFileSync("qemu-img", ["compare", "-q", "-f", format, "-F", "raw", image, disk], { stdio: "pipe" });
}

function result(run: RunResult): { readonly format: string; readonly warnings: readonly { readonly code: string }[] } {
  return JSON.parse(run.stdout) as ReturnType<typeof result>;
}

describe("images of other hypervisors", { skip: qemuSource.skip || requireTools("qemu-img", "bzip2") }, () => {
  for (const [name, format, maker] of [
    ["virtualpc-dynamic.vhd", "vpc", "Virtual PC"],
    ["hyperv2012r2-dynamic.vhd", "vpc", "Hyper-V 2012 R2"],
    ["d2v-zerofilled.vhd", "vpc", "Disk2vhd"],
    ["iotest-dynamic-1G.vhdx", "vhdx", "Hyper-V"],
    ["test-disk2vhd.vhdx", "vhdx", "Disk2vhd"],
    ["iotest-version3.vmdk", "vmdk", "VMware, version 3"],
    ["grub_mbr.raw", "raw", "GRUB"],
  ] as const) {
    it(`${name} (${maker})`, async () => {
      await withFolder(async (folder) => {
        const run = await assertSameDisk(unpackSample(name, folder), format, folder);
        assert.equal(result(run).format, format);
      });
    });
  }

  it("iotest-dirtylog-10G-4M.vhdx (Hyper-V, log not empty): replayed in memory, where qemu-img writes to the image", async () => {
    await withFolder(async (folder) => {
      const image = unpackSample("iotest-dirtylog-10G-4M.vhdx", folder);
      const before = createHash("sha256").update(fs.readFileSync(image)).digest("hex");
      const disk = path.join(folder, "disk.raw");
      const run = await runDecant(["convert", "--json", image, disk]);
      assert.equal(run.status, 0, run.stderr);
      assert.deepEqual(
        result(run).warnings.map((warning) => warning.code),
        ["VHDX_LOG_REPLAYED"],
      );
      assert.equal(createHash("sha256").update(fs.readFileSync(image)).digest("hex"), before, "the image is unchanged");
      execFileSync("qemu-img", ["check", "-q", "-r", "all", "-f", "vhdx", image], { stdio: "pipe" });
      assertEqualDisks("vhdx", image, disk);
    });
  });

  for (const name of ["afl9.vmdk", "afl5.img"]) {
    it(`${name} (made by a fuzzer) is refused, as qemu-img refuses it`, async () => {
      await withFolder(async (folder) => {
        const image = unpackSample(name, folder);
        assert.throws(() => execFileSync("qemu-img", ["info", image], { stdio: "pipe" }));
        const { status, stderr } = await runDecant(["convert", image, path.join(folder, "disk.raw")]);
        assert.equal(status, 3, stderr);
        assert.deepEqual(fs.readdirSync(folder), [name]);
      });
    });
  }
});

describe("images by Bochs", { skip: packages.skip || requireTools("qemu-img") || notOnX64() }, () => {
  // bximage reads and writes whole cylinders, so the disk is a multiple of 16 heads × 63 sectors.
  const size = 20 * 16 * 63 * 512;
  for (const [mode, format] of [
    ["vpc", "vpc"],
    ["vmware4", "vmdk"],
  ] as const) {
    it(`bximage -imgmode=${mode}`, async () => {
      await withFolder(async (folder) => {
        const flat = path.join(folder, "flat.raw");
        fs.copyFileSync(packages.path("usr/lib/grub-rescue/grub-rescue-cdrom.iso"), flat);
        fs.truncateSync(flat, size);
        const args = ["-q", "-func=convert", `-imgmode=${mode}`, "flat.raw", "image"];
        execFileSync(packages.path("usr/bin/bximage"), args, { cwd: folder, stdio: "ignore" });
        const run = await assertSameDisk(path.join(folder, "image"), format, folder);
        assert.equal(result(run).format, format);
      });
    });
  }
});

describe("media in Debian packages", { skip: packages.skip || requireTools("qemu-img", "xz") }, () => {
  for (const file of [
    "usr/lib/memtest86+/memtest86+x64.iso",
    "usr/lib/ipxe/ipxe.iso",
    "usr/lib/grub-rescue/grub-rescue-cdrom.iso",
    "usr/lib/grub-rescue/grub-rescue-floppy.img",
    "usr/share/OVMF/OVMF_VARS_4M.fd",
  ]) {
    it(path.basename(file), async () => {
      await withFolder(async (folder) => {
        const run = await assertSameDisk(packages.path(file), "raw", folder);
        assert.equal(result(run).format, "raw");
      });
    });
  }

  it("fs.multiple.xz, a disk of several filesystems", async () => {
    await withFolder(async (folder) => {
      const packed = packages.path("usr/share/forensics-samples/fs.multiple.xz");
      const expected = path.join(folder, "expected.raw");
      unpack(["xz", "-dc", packed], expected);
      for (const decoders of ["auto", "portable"]) {
        const disk = path.join(folder, `${decoders}.raw`);
        const run = await runDecant(["convert", packed, disk], { env: { DECANT_DECODERS: decoders } });
        assert.equal(run.status, 0, run.stderr);
        assertEqualDisks("raw", expected, disk);
      }
    });
  });
});

function notOnX64(): false | string {
  return process.arch === "x64" ? false : "the package's program is for x86-64";
}
