import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { describe, it } from "node:test";
import { MAX_OVF_LENGTH } from "../../../formats/archives/ova.ts";
import { tar } from "../../../formats/archives/tar/tar.ts";
import { FormatError } from "../../../formats/errors.ts";
import type { FormatErrorCode } from "../../../formats/errors.ts";
import { buildOva, manifestOf, ovaEntries } from "../../support/build-ova.ts";
import type { OvaDisk } from "../../support/build-ova.ts";
import { buildTar } from "../../support/build-tar.ts";
import type { TarEntry } from "../../support/build-tar.ts";
import { pourFile, pourStream } from "../../support/choose-member.ts";
import { requireTools } from "../../support/tools.ts";

const content = Buffer.alloc(70_000, "disk");
const boot = Buffer.alloc(4096, 7);
boot.set([0x55, 0xaa], 510);
const one: OvaDisk[] = [{ name: "disk1.vmdk", content }];
const two: OvaDisk[] = [...one, { name: "disk2.vmdk", content: boot }];
const iso: TarEntry = { name: "tools.iso", content: boot };

function assertRefused(file: Uint8Array, code: FormatErrorCode, message: RegExp, member?: string): void {
  for (const way of [pourFile, pourStream]) {
    assert.throws(
      () => way(tar, file, member),
      (error) => error instanceof FormatError && error.code === code && message.test(error.message),
      way.name,
    );
  }
}

function assertPoured(file: Uint8Array, expected: Uint8Array, member?: string): void {
  for (const way of [pourFile, pourStream])
    assert.ok(Buffer.from(expected).equals(way(tar, file, member).content), way.name);
}

describe("the disk of an OVA", () => {
  for (const manifest of [undefined, "sha1", "sha256", "sha512"] as const) {
    for (const order of [
      ["ovf", "mf", "disks"],
      ["ovf", "disks", "mf"],
      ["mf", "disks", "ovf"],
      ["disks", "ovf", "mf"],
    ] as const) {
      it(`is the one that the descriptor names: ${order.join(", ")}, ${manifest ?? "no"} digests`, () => {
        const file = buildOva({ disks: one, order, ...(manifest === undefined ? {} : { manifest }) });
        assert.ok(content.equals(pourFile(tar, file).content));
        const late = manifest === "sha512" && !(order[0] === "ovf" && order[1] === "mf");
        if (late) assert.throws(() => pourStream(tar, file), /comes after the disk and has a sha512/);
        else assert.ok(content.equals(pourStream(tar, file).content));
      });
    }
  }

  it("is not what starts as a disk beside it", () => {
    assertPoured(buildOva({ disks: one, extra: [iso] }), content);
    const descriptorLast = buildTar([
      ...ovaEntries({ disks: one, order: [] }),
      iso,
      ...ovaEntries({ disks: one, order: ["disks", "ovf"] }),
    ]);
    assert.ok(content.equals(pourFile(tar, descriptorLast).content));
    assert.throws(() => pourStream(tar, descriptorLast), /the disk is "disk1.vmdk", which had gone by/);
  });

  it("is written again if the descriptor comes after the wrong one and before the right one", () => {
    const entries = [iso, ...ovaEntries({ disks: one })];
    const poured = pourStream(tar, buildTar(entries));
    assert.deepEqual([poured.verdicts, poured.undone], [["take", "read", "take"], 1]);
    assert.ok(content.equals(poured.content));
  });

  it("is none of several, unless one is named", () => {
    for (const order of [
      ["ovf", "disks"],
      ["disks", "ovf"],
    ] as const) {
      const file = buildOva({ disks: two, order });
      assertRefused(file, "FORMAT_UNSUPPORTED", /the OVA has 2 disks: "disk1.vmdk", "disk2.vmdk"/);
      assertPoured(file, boot, "disk2.vmdk");
    }
    assertRefused(buildOva({ disks: [], extra: [iso] }), "FORMAT_UNSUPPORTED", /no disk with a file/);
    assertRefused(
      buildTar([...ovaEntries({ disks: one }), { name: "b.ovf", content: Buffer.from("<Envelope/>") }]),
      "FORMAT_UNSUPPORTED",
      /two OVF descriptors: "vm.ovf", "b.ovf"/,
    );
  });

  it("is refused by name if it is in pieces, a difference, or missing", () => {
    assertRefused(
      buildOva({ disks: [{ name: "a.vmdk", content, chunkSize: 7 }] }),
      "FORMAT_UNSUPPORTED",
      /"a.vmdk" is stored in pieces of 7 bytes \(ovf:chunkSize\)/,
    );
    assertRefused(
      buildOva({ disks: [{ name: "a.vmdk", content, parentRef: "base" }] }),
      "FORMAT_UNSUPPORTED",
      /differences from "base"/,
    );
    assertRefused(
      buildOva({ disks: [{ name: "a.vmdk", content: undefined }], extra: [iso] }),
      "FORMAT_INVALID",
      /disk "a.vmdk" is not in the archive/,
    );
  });

  it("is found beside its descriptor, with percent signs and gzip", () => {
    assertPoured(buildOva({ disks: [{ name: "a b%.vmdk", href: "./a%20b%25.vmdk", content }] }), content);
    assertPoured(buildOva({ disks: [{ name: "100%.vmdk", content }] }), content);
    const inFolder = ovaEntries({ disks: one, manifest: "sha256" }).map((entry) => ({
      ...entry,
      name: `vm/${entry.name}`,
    }));
    assertPoured(buildTar(inFolder), content);
    assert.equal(pourFile(tar, buildTar(inFolder)).chosen.digest?.algorithm, "sha256");
    const gzipped = pourStream(tar, buildOva({ disks: one, gzip: true, manifest: "sha1" }));
    assert.deepEqual([...gzipped.content.subarray(0, 2)], [0x1f, 0x8b]);
  });

  it("must have the manifest's digest, and the descriptor too", () => {
    for (const order of [
      ["ovf", "mf", "disks"],
      ["ovf", "disks", "mf"],
    ] as const) {
      for (const name of ["disk1.vmdk", "vm.ovf"]) {
        const entries = ovaEntries({ disks: one, manifest: "sha256", order }).map((entry) => {
          const spoilt = Buffer.from(entry.content ?? "");
          spoilt[spoilt.length - 1] = 0x20; // the descriptor's last newline
          return entry.name === name ? { ...entry, content: spoilt } : entry;
        });
        assertRefused(buildTar(entries), "FORMAT_CORRUPT", new RegExp(`the sha256 of "${name}" is not the one`));
      }
      const named = ovaEntries({ disks: two, manifest: "sha256", order }).map((entry) =>
        entry.name === "disk2.vmdk" ? { ...entry, content } : entry,
      );
      assertRefused(buildTar(named), "FORMAT_CORRUPT", /the sha256 of "disk2.vmdk"/, "disk2.vmdk");
      assertPoured(buildTar(named), content, "disk1.vmdk");
    }
    assertRefused(
      buildTar([...ovaEntries({ disks: one }), { name: "vm.mf", content: Buffer.from("MD5(a)= 0\n") }]),
      "FORMAT_UNSUPPORTED",
      /"MD5"/,
    );
  });

  it("is hashed with what the manifest asks for, if it came before", () => {
    const before = pourStream(tar, buildOva({ disks: one, manifest: "sha512" }));
    assert.deepEqual([before.chosen.digest?.algorithm, before.chosen.warnings], ["sha512", []]);
  });

  it("is reported if the manifest does not name it, or its size is another", () => {
    const entries = ovaEntries({ disks: one });
    const manifest = { name: "vm.mf", content: Buffer.from(manifestOf(entries.slice(0, 1), "sha256")) };
    const codes = (file: Uint8Array): string[] => pourStream(tar, file).chosen.warnings.map(({ code }) => code);
    assert.deepEqual(codes(buildTar([...entries, manifest])), ["OVA_DISK_NOT_IN_MANIFEST"]);
    const longer = entries.map((entry) =>
      entry.name === "vm.ovf" ? entry : { ...entry, content: Buffer.concat([content, boot]) },
    );
    assert.deepEqual(codes(buildTar(longer)), ["OVA_SIZE_DIFFERS"]);
  });

  it("takes the manifest that is named like the descriptor, of several", () => {
    const stray = { name: "another.mf", content: Buffer.from("no digest") };
    assertPoured(buildTar([stray, ...ovaEntries({ disks: one, manifest: "sha256" })]), content);
  });

  it("bounds descriptor and manifest before they are read", () => {
    assertRefused(
      buildTar([{ name: "vm.ovf", content: Buffer.alloc(MAX_OVF_LENGTH + 1) }]),
      "FORMAT_OUT_OF_BOUNDS",
      /descriptor has 4194305/,
    );
    assertRefused(
      buildTar([{ name: "vm.mf", content: Buffer.alloc(2 ** 20 + 1) }]),
      "FORMAT_OUT_OF_BOUNDS",
      /manifest has 1048577/,
    );
  });

  it("gives the same disk or one error for every prefix, and for 300 mutations", () => {
    const small: OvaDisk[] = [{ name: "disk1.vmdk", content: boot }];
    const file = Buffer.from(buildOva({ disks: small, manifest: "sha256" }));
    let random = 12_345;
    const next = (limit: number): number => {
      random = (Math.imul(random, 1_103_515_245) + 12_345) >>> 0;
      return Math.floor((random / 2 ** 32) * limit);
    };
    const broken = Array.from({ length: file.length / 61 }, (_, i) => file.subarray(0, i * 61));
    for (let i = 0; i < 300; i++) {
      const copy = Buffer.from(file);
      for (let changes = 1 + next(4); changes > 0; changes--) copy[next(copy.length)] = next(256);
      broken.push(copy);
    }
    let poured = 0;
    for (const each of broken) {
      for (const way of [pourFile, pourStream]) {
        try {
          const result = way(tar, each);
          if (result.chosen.digest !== undefined) assert.ok(boot.equals(result.content));
          poured++;
        } catch (error) {
          assert.ok(error instanceof FormatError, String(error));
        }
      }
    }
    assert.ok(poured > 20, `${poured} were read`);
  });

  it("comes from archives that tar and 7-Zip read", { skip: requireTools("tar", "7zz") }, () => {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), "decant-ova-"));
    try {
      const file = path.join(folder, "vm.ova");
      fs.writeFileSync(file, buildOva({ disks: two, manifest: "sha256" }));
      assert.equal(execFileSync("tar", ["-tf", file], { encoding: "utf8" }), "vm.ovf\nvm.mf\ndisk1.vmdk\ndisk2.vmdk\n");
      assert.ok(boot.equals(execFileSync("7zz", ["e", "-so", "-ttar", file, "disk2.vmdk"])));
    } finally {
      fs.rmSync(folder, { recursive: true, force: true });
    }
  });
});
