/**
 * Every line of every peer, run: it writes the disk that it should, into whatever there is.
 */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { after, before, describe, it } from "node:test";
import { digestContent } from "../../../cmd/bench/content-digest.ts";
import { measure } from "../../../cmd/bench/measure.ts";
import { choosePeers, PEER_NAMES } from "../../../cmd/bench/peers.ts";
import type { Contender, Subject } from "../../../cmd/bench/peers.ts";
import type { SinkKind } from "../../../cmd/bench/sink.ts";
import { baseDisk } from "../../support/base-disk.ts";
import { buildImage, buildLayer, file } from "../../support/build-image.ts";
import { pushImage, withDockerRegistry } from "../../support/docker-registry.ts";
import { withLoopDevice } from "../../support/loop-device.ts";
import { withNginx } from "../../support/nginx.ts";
import { withTemporaryFolder } from "../../support/temporary-folder.ts";
import { requireLoopDevices, requireTools } from "../../support/tools.ts";

const MIB = 1024 * 1024;
const DISK = baseDisk(8 * MIB);

/** A name that no shell, and no program, may take for anything else. */
const FOLDER_NAME = `it's $(touch owned) \`touch owned\` "x"; a:b`;

const RECIPES: Readonly<Record<string, string>> = {
  "disk.raw": "true",
  "zlib.qcow2": "qemu-img convert -f raw -O qcow2 -c disk.raw zlib.qcow2",
  "disk.vmdk": "qemu-img convert -f raw -O vmdk disk.raw disk.vmdk",
  "raw.gz": "gzip -k -c disk.raw > raw.gz",
  "raw.zst": "zstd -q disk.raw -o raw.zst",
  "raw.xz": "xz -0 -k -c disk.raw > raw.xz",
  "qcow2.gz": "gzip -k -c zlib.qcow2 > qcow2.gz",
  "qcow2.zst": "zstd -q zlib.qcow2 -o qcow2.zst",
  "qcow2.xz": "xz -0 -k -c zlib.qcow2 > qcow2.xz",
};
const WRAPPERS: Readonly<Record<string, string>> = { gz: "gzip", zst: "zstd", xz: "xz" };

/** How many lines each image has as a file, and from a web server. */
const LINES: Readonly<Record<string, readonly [file: number, http: number]>> = {
  "disk.raw": [3, 3], // qemu-img twice, nbdcopy
  "zlib.qcow2": [2, 2],
  "disk.vmdk": [2, 2],
  "raw.gz": [2, 2], // igzip, gzip
  "raw.zst": [1, 1],
  "raw.xz": [1, 1],
  "qcow2.gz": [4, 4], // with qemu-img, and the decoder alone
  "qcow2.zst": [2, 2],
  "qcow2.xz": [2, 2],
};

const skip = requireTools("qemu-img", "nbdkit", "nbdcopy", "igzip", "gzip", "zstd", "xz", "curl", "nginx");

function subjectOf(image: string, place: Subject["place"]): Subject {
  const [name = "", extension = ""] = image.split(".");
  const wrapper = WRAPPERS[extension];
  const format = [name, extension].find((part) => ["raw", "qcow2", "vmdk"].includes(part)) ?? "raw";
  return {
    place,
    isLoopback: true,
    wrappers: wrapper === undefined ? [] : [wrapper],
    format,
    virtualSize: DISK.length,
  };
}

function contendersFor(image: string, place: Subject["place"], sink: SinkKind): readonly Contender[] {
  return choosePeers(subjectOf(image, place), sink, undefined, () => true).contenders;
}

describe("choosePeers", () => {
  it("says of everybody who is not there why", () => {
    for (const image of Object.keys(RECIPES)) {
      for (const place of ["file", "http", "registry", "elsewhere"] as const) {
        const { contenders, leftOut } = choosePeers(subjectOf(image, place), "file", undefined, () => true);
        const named = [...contenders, ...leftOut].map(({ peer }) => peer);
        assert.deepEqual([...new Set(named)].sort(), [...PEER_NAMES].sort());
        assert.ok(leftOut.every(({ reason }) => reason !== ""));
      }
    }
  });

  it("names the package of what is not installed", () => {
    const { contenders, leftOut } = choosePeers(
      subjectOf("raw.gz", "file"),
      "file",
      ["igzip", "gzip"],
      (t) => t === "gzip",
    );
    assert.deepEqual(
      contenders.map(({ name }) => name),
      ["gzip | dd conv=sparse"],
    );
    assert.deepEqual(leftOut, [{ peer: "igzip", reason: "not installed: apt-get install isal brings igzip" }]);
  });

  it("ends every line with its target on the disk, and leaves names out of all of them", () => {
    for (const image of Object.keys(RECIPES)) {
      for (const place of ["file", "http"] as const) {
        for (const { line, writesDisk } of contendersFor(image, place, "file")) {
          if (writesDisk) assert.match(line, /&& sync "\$TARGET"'?$/);
          assert.match(line, /"\$SOURCE"/);
        }
      }
    }
  });

  it("has nothing to do with a disk of unknown size where it is to be known", () => {
    const unknown = { ...subjectOf("qcow2.gz", "file"), virtualSize: null };
    assert.deepEqual(choosePeers(unknown, "null", ["gzip"], () => true).leftOut, [
      { peer: "gzip", reason: "needs the disk's size beforehand" },
    ]);
    assert.equal(choosePeers(unknown, "file", ["gzip"], () => true).contenders.length, 2);
  });
});

describe("the lines of peers", { skip }, () => {
  let web = "";
  let folder = "";
  let expected = "";
  before(async () => {
    const base = fs.mkdtempSync(path.join(os.tmpdir(), "decant-peers-"));
    web = path.join(base, "web");
    folder = path.join(base, FOLDER_NAME);
    fs.mkdirSync(web);
    fs.mkdirSync(folder);
    fs.writeFileSync(path.join(web, "disk.raw"), DISK);
    for (const [image, recipe] of Object.entries(RECIPES)) {
      execFileSync("sh", ["-c", recipe], { cwd: web });
      fs.linkSync(path.join(web, image), path.join(folder, image));
    }
    expected = await digestContent(path.join(folder, "disk.raw"), DISK.length);
  });
  after(() => fs.rmSync(path.dirname(folder), { recursive: true, force: true }));

  /** Runs the line, to a target that nobody can take for an option. */
  async function runLine(line: string, source: string, target: string): Promise<void> {
    await withTemporaryFolder(async (scratch) => {
      await measure(line, { SOURCE: source, TARGET: target, SCRATCH: scratch, SIZE: String(DISK.length) }, scratch);
      assert.equal(fs.existsSync(path.join(scratch, "owned")), false, "a name was run");
    });
  }

  async function writesTheDisk(contender: Contender, source: string): Promise<void> {
    const target = path.join(folder, "target");
    await runLine(contender.line, source, target);
    if (!contender.writesDisk) return;
    assert.equal(await digestContent(target, DISK.length), expected, contender.name);
    const { size, blocks } = fs.statSync(target);
    assert.equal(size, DISK.length, contender.name);
    assert.ok(blocks * 512 < DISK.length / 2, `${contender.name} leaves out what is zero`);
    fs.rmSync(target);
  }

  for (const [image, [files, urls]] of Object.entries(LINES)) {
    it(`write ${image} from a file`, async () => {
      const contenders = contendersFor(image, "file", "file");
      assert.equal(contenders.length, files);
      for (const contender of contenders) await writesTheDisk(contender, path.join(folder, image));
    });

    it(`write ${image} from a web server`, async () => {
      const contenders = contendersFor(image, "http", "file");
      assert.equal(contenders.length, urls);
      await withNginx(web, {}, async ({ port, log }) => {
        for (const contender of contenders) {
          await writesTheDisk(contender, `http://127.0.0.1:${port}/${image}?a={b}&[c]='$(touch\${IFS}owned)'`);
        }
        assert.ok(
          log().every((line) => / (?:200|206) /.test(line)),
          log().join("\n"),
        );
      });
    });
  }

  it("throw away what goes nowhere", async () => {
    for (const image of Object.keys(RECIPES)) {
      const contenders = contendersFor(image, "file", "null");
      assert.equal(contenders.length, LINES[image]?.[0]);
      for (const { line } of contenders) await runLine(line, path.join(folder, image), "null:");
    }
    assert.deepEqual(fs.readdirSync(folder).sort(), Object.keys(RECIPES).sort());
  });

  it("write all of a device, whatever was on it", { skip: requireLoopDevices() }, async () => {
    for (const image of ["disk.raw", "raw.gz", "raw.zst"]) {
      for (const { line, name, writesDisk } of contendersFor(image, "file", "device")) {
        await withLoopDevice({ size: DISK.length }, async (device) => {
          await runLine(line, path.join(folder, image), device);
          if (writesDisk) assert.equal(await digestContent(device, DISK.length), expected, name);
        });
      }
    }
  });

  it("fail if the server has no such file", async () => {
    await withNginx(web, {}, async ({ port }) => {
      for (const image of ["zlib.qcow2", "disk.raw"]) {
        for (const { line } of contendersFor(image, "http", "file")) {
          await assert.rejects(runLine(line, `http://127.0.0.1:${port}/none`, path.join(folder, "target")), /status/);
        }
      }
    });
  });
});

describe("skopeo's lines", { skip: requireTools("skopeo", "qemu-img", "tar", "docker-registry") }, () => {
  it("write the disk of a container image", async () => {
    const subject = { ...subjectOf("disk.raw", "registry"), format: "raw" };
    const image = buildImage([
      buildLayer([file("disk/disk.img", DISK)], "gzip"),
      buildLayer([file("etc/x", "y")], "none"),
    ]);
    await withTemporaryFolder(async (folder) => {
      await withDockerRegistry(folder, {}, async ({ host }) => {
        await pushImage(host, "some/disk", "one", image);
        const { contenders } = choosePeers(subject, "file", ["skopeo"], () => true);
        assert.deepEqual(
          contenders.map(({ name }) => name),
          ["skopeo + tar + qemu-img -W -m 16"],
        );
        for (const { line } of contenders) {
          const target = path.join(folder, "target");
          const scratch = path.join(folder, "scratch");
          fs.mkdirSync(scratch);
          const variables = { SOURCE: `docker://${host}/some/disk:one`, TARGET: target, SCRATCH: scratch };
          await measure(line, variables, folder);
          assert.deepEqual(fs.readFileSync(target), DISK);
        }
      });
    });
  });
});
