/**
 * Images that name a file of the machine they are read on: refused, and the file is never touched. Seen with strace, which
 * shows every call that takes a path.
 */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, openSync, readdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, it } from "node:test";
import { withFolder } from "../support/loop-device.ts";
import { traceDecant } from "../support/start-decant.ts";
import { requireTools } from "../support/tools.ts";
import { buildVhdx, METADATA, sealVhdx } from "../support/build-vhdx.ts";

const SECRET = "secret-of-the-host.txt";

interface HostileImage {
  readonly name: string;
  /** What the refusal says. */
  readonly says: RegExp;
  /** Makes the file `image` in a folder that holds the secret. */
  readonly make: (folder: string) => void;
}

const images: readonly HostileImage[] = [
  {
    name: "qcow2 with a backing file",
    says: /backing file/,
    make: qemuImg("create", "-b", SECRET, "-F", "raw", "image", "1M"),
  },
  {
    name: "qcow2 with an external data file",
    says: /external data file/,
    make: (folder) => {
      qemuImg("create", "-o", `data_file=${SECRET},data_file_raw=on`, "image", "4096")(folder);
      writeSecret(folder); // qemu-img has made it a disk
    },
  },
  {
    name: "qcow2 that is encrypted",
    says: /encrypted \(LUKS\).*key/,
    make: qemuImg(
      "create",
      "--object",
      "secret,id=s,data=abc",
      "-o",
      "encrypt.format=luks,encrypt.key-secret=s,encrypt.iter-time=10",
      "image",
      "1M",
    ),
  },
  {
    name: "vmdk descriptor with a flat extent",
    says: /only a descriptor.*secret-of-the-host/,
    make: (folder) => {
      const lines = [
        "# Disk DescriptorFile",
        "version=1",
        "CID=12345678",
        "parentCID=ffffffff",
        'createType="monolithicFlat"',
      ];
      lines.push(`RW 2048 FLAT "${path.join(folder, SECRET)}" 0`, "");
      writeFileSync(path.join(folder, "image"), lines.join("\n"));
    },
  },
  {
    name: "vmdk with a parent",
    says: /parent/,
    make: (folder) => {
      execFileSync("qemu-img", ["create", "-q", "-f", "vmdk", SECRET, "1M"], { cwd: folder });
      execFileSync("qemu-img", ["create", "-q", "-f", "vmdk", "-b", SECRET, "-F", "vmdk", "image"], { cwd: folder });
    },
  },
  { name: "vhdx with a parent", says: /parent|differencing/, make: writeVhdxWithParent },
];

describe("an image that names a file of the host", { skip: requireTools("qemu-img", "strace") }, () => {
  for (const { name, says, make } of images) {
    for (const source of ["path", "standard input"]) {
      it(`${name}, by ${source}, is refused and the file never touched`, async () => {
        await withFolder(async (folder) => {
          writeSecret(folder);
          make(folder);
          const before = readdirSync(folder).sort();
          const stdin = source === "path" ? "ignore" : openSync(path.join(folder, "image"), "r");
          const args = ["convert", source === "path" ? "image" : "-", "disk.raw"];
          const result = await traceDecant("%file", args, { cwd: folder, stdin });
          assert.equal(result.status, 3, result.stderr);
          assert.match(result.stderr, says);
          assert.equal(result.stderr.trim().split("\n").length, 1, result.stderr);
          const opened = result.trace.filter((line) => /^\d+ +open/.test(line));
          assert.ok(
            opened.some((line) => line.includes(".disk.raw.decant-partial")),
            "the trace shows what is opened",
          );
          const touched = result.trace.filter((line) => line.includes(SECRET));
          assert.deepEqual(touched, []);
          assert.deepEqual(readdirSync(folder).sort(), before);
          assert.ok(!existsSync(path.join(folder, "disk.raw")));
        });
      });
    }
  }
});

function writeSecret(folder: string): void {
  writeFileSync(path.join(folder, SECRET), "what only root may read\n".repeat(400));
}

/** The parent's name stands where a parent locator has it. */
function writeVhdxWithParent(folder: string): void {
  const guid = "A8D35F2D-B30B-454D-ABF7-D3D84834AB0C"; // [MS-VHDX] 2.6.2.6 Parent Locator
  const image = buildVhdx({
    disk: Buffer.alloc(1024 * 1024, 1),
    hasParent: true,
    extraItems: [{ guid, required: true, offset: 128 * 1024, length: 4096 }],
  });
  image.write(path.join(folder, SECRET), METADATA + 128 * 1024 + 64, "utf16le");
  sealVhdx(image);
  writeFileSync(path.join(folder, "image"), image);
}

function qemuImg(command: string, ...args: readonly string[]): (folder: string) => void {
  return (folder) => execFileSync("qemu-img", [command, "-q", "-f", "qcow2", ...args], { cwd: folder });
}
