/**
 * Archives that pass once: which member's bytes come out, and what is refused at the archive's end.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { tar } from "../../formats/archives/tar/tar.ts";
import { FormatError } from "../../formats/errors.ts";
import { openMemberStream } from "../../importer/archive-stream.ts";
import { readAll } from "../suites/codec.ts";
import { baseDisk } from "../support/base-disk.ts";
import { manifestOf, ovaEntries, buildOva } from "../support/build-ova.ts";
import type { OvaOptions } from "../support/build-ova.ts";
import { buildQcow2 } from "../support/build-qcow2.ts";
import { buildTar, oldGnuSparse } from "../support/build-tar.ts";
import type { TarEntry } from "../support/build-tar.ts";
import { buildStreamOptimized } from "../support/build-vmdk.ts";
import { streamOf } from "../support/streams.ts";

const MIB = 1024 * 1024;
const disk = buildQcow2({ content: baseDisk(300_000) });
const other = buildQcow2({ content: baseDisk(65_536, 3) });
const text = Buffer.from("nothing but words\n".repeat(100));

async function read(archive: Uint8Array, wanted?: string, pieces?: (i: number) => number): Promise<Buffer> {
  return await readAll(await openMemberStream(tar, streamOf(archive, pieces), wanted));
}

async function assertRefused(archive: Uint8Array, code: string, sentence: RegExp, wanted?: string): Promise<void> {
  await assert.rejects(read(archive, wanted), (error) => {
    assert.ok(error instanceof FormatError, String(error));
    assert.match(`${error.message}. ${error.remedy ?? ""}`, sentence);
    assert.equal(error.code, code);
    return true;
  });
}

describe("openMemberStream", () => {
  const notes: TarEntry = { name: "notes.txt", content: text };
  const readme: TarEntry = { name: "README", content: text };
  const image: TarEntry = { name: "disk.qcow2", content: disk };
  for (const [where, entries] of [
    ["alone", [image]],
    ["first", [image, notes, readme]],
    ["in the middle", [notes, image, readme]],
    ["last", [notes, readme, image]],
  ] as const) {
    it(`gives the disk that is ${where}, in pieces of any length`, async () => {
      const archive = buildTar(entries);
      for (const pieces of [undefined, (i: number) => 1 + ((i * 7919) % 3000), () => 64 * 1024]) {
        assert.ok((await read(archive, undefined, pieces)).equals(disk));
      }
    });
  }

  it("gives the only file, whatever it looks like, and however large", async () => {
    assert.ok((await read(buildTar([notes]))).equals(text));
    const large = baseDisk(9 * MIB);
    assert.ok((await read(buildTar([{ name: "disk.raw", content: large }]))).equals(large));
    assert.equal((await read(buildTar([{ name: "empty", content: new Uint8Array(0) }]))).length, 0);
  });

  it("refuses several files of which none starts as a disk, with their names", async () => {
    await assertRefused(buildTar([notes, readme]), "FORMAT_UNSUPPORTED", /notes\.txt.*README.*--member/);
  });

  it("reads on to the second disk, and refuses both", async () => {
    const archive = buildTar([image, { name: "data.qcow2", content: other }, notes]);
    await assertRefused(archive, "FORMAT_UNSUPPORTED", /2 disks: .*disk\.qcow2.*data\.qcow2/);
    assert.ok((await read(archive, "data.qcow2")).equals(other));
  });

  it("says that a disk came too late, behind a large file that looked like none", async () => {
    const large: TarEntry = { name: "large.bin", content: Buffer.alloc(9 * MIB, "x") };
    await assertRefused(
      buildTar([large, image]),
      "FORMAT_UNSUPPORTED",
      /"disk\.qcow2", which had gone by.*--member "disk\.qcow2"/,
    );
    assert.ok((await read(buildTar([large, image]), "disk.qcow2")).equals(disk));
  });

  it("says that the disk came too late, where its name comes twice", async () => {
    for (const second of [other, text]) {
      const archive = buildTar([image, { name: "disk.qcow2", content: second }]);
      await assertRefused(archive, "FORMAT_UNSUPPORTED", /had gone by/);
    }
    const small = buildTar([
      { name: "a", content: text },
      { name: "a", content: Buffer.from("later") },
    ]);
    assert.equal((await read(small)).toString(), "later", "the first one waited");
  });

  it("gives the member that was named, by its last part too, and names what there is instead", async () => {
    const archive = buildTar([
      { name: "images/a.qcow2", content: other },
      { name: "images/b.qcow2", content: disk },
      notes,
    ]);
    assert.ok((await read(archive, "b.qcow2")).equals(disk));
    assert.ok((await read(archive, "images/a.qcow2")).equals(other));
    assert.ok((await read(archive, "notes.txt")).equals(text));
    await assertRefused(archive, "FORMAT_UNRECOGNISED", /"c\.qcow2".*images\/a\.qcow2/, "c.qcow2");
  });

  it("fills the holes of a sparse member with zeros", async () => {
    const sparse = Buffer.alloc(2 * MIB);
    disk.copy(sparse, 0, 0, 70_000);
    sparse.fill(7, 1_500_000, 1_600_000);
    const ranges = [
      [0, 70_144],
      [1_499_648, 100_864],
      [2 * MIB, 0],
    ] as const;
    const archive = Buffer.concat([oldGnuSparse("disk.img", sparse, ranges), buildTar([notes])]);
    assert.ok((await read(archive)).equals(sparse));
  });

  it("does not mind what lies behind the archive's end, and reads it", async () => {
    const archive = Buffer.concat([buildTar([image]), Buffer.alloc(20 * 512), Buffer.from("junk")]);
    let served = 0;
    const stream = streamOf(archive);
    const counted = {
      async read(into: Uint8Array): Promise<number> {
        const count = await stream.read(into);
        served += count;
        return count;
      },
      close: () => undefined,
    };
    assert.ok((await readAll(await openMemberStream(tar, counted, undefined))).equals(disk));
    assert.equal(served, archive.length, "a decoder before it has yet to see its trailer");
  });

  it("says where an archive is cut short", async () => {
    const archive = buildTar([image, notes]);
    await assertRefused(
      archive.subarray(0, 512 + 1000),
      "FORMAT_CORRUPT",
      /ends inside its member "disk\.qcow2".*truncated/,
    );
    await assertRefused(archive.subarray(0, archive.length - 1024 - 2048), "FORMAT_CORRUPT", /ends/);
    await assertRefused(archive.subarray(0, 100), "FORMAT_CORRUPT", /ends/);
    const waiting = buildTar([notes, image]);
    await assertRefused(waiting.subarray(0, 700), "FORMAT_CORRUPT", /ends inside its member "notes\.txt"/);
  });

  it("refuses an archive without files", async () => {
    await assertRefused(buildTar([{ name: "folder/", type: "5" }]), "FORMAT_INVALID", /no regular file/);
  });

  it("closes what it reads from", async () => {
    let closes = 0;
    const inner = streamOf(buildTar([image]));
    const stream = await openMemberStream(
      tar,
      { read: (into) => inner.read(into), close: () => void (closes += 1) },
      undefined,
    );
    await stream.close();
    assert.equal(closes, 1);
  });
});

describe("openMemberStream, of an OVA", () => {
  const vmdk = buildStreamOptimized(baseDisk(256 * 512));
  const options: OvaOptions = { disks: [{ name: "disk1.vmdk", content: vmdk }], manifest: "sha256" };
  for (const order of [
    ["ovf", "mf", "disks"],
    ["ovf", "disks", "mf"],
    ["disks", "ovf", "mf"],
  ] as const) {
    it(`checks the manifest, in the order ${order.join(", ")}`, async () => {
      for (const manifest of ["sha1", "sha256"] as const) {
        assert.ok((await read(buildOva({ ...options, order, manifest }))).equals(vmdk));
        const entries = ovaEntries({ ...options, order, manifest }).map((entry) => {
          return entry.name === "disk1.vmdk" ? { ...entry, content: Buffer.from(vmdk).fill(1, 5000, 5001) } : entry;
        });
        await assertRefused(buildTar(entries), "FORMAT_CORRUPT", /disk1\.vmdk/);
      }
    });
  }

  it("refuses a digest that nobody could know of in time", async () => {
    const late = buildOva({ ...options, order: ["ovf", "disks", "mf"], manifest: "sha512" });
    await assertRefused(late, "FORMAT_UNSUPPORTED", /sha512.*Download/);
    assert.ok((await read(buildOva({ ...options, manifest: "sha512" }))).equals(vmdk));
  });

  it("checks the descriptor's own digest", async () => {
    const entries = ovaEntries({ ...options, manifest: "sha256" });
    const forged = manifestOf([{ name: "vm.ovf", content: Buffer.from("else") }], "sha256");
    const changed = entries.map((entry) =>
      entry.name === "vm.mf" ? { ...entry, content: Buffer.from(forged) } : entry,
    );
    await assertRefused(buildTar(changed), "FORMAT_CORRUPT", /vm\.ovf/);
  });

  it("says that the disk had gone by, where the descriptor comes last and names another", async () => {
    const entries: TarEntry[] = [
      { name: "other.vmdk", content: vmdk },
      { name: "disk1.vmdk", content: vmdk },
      ...ovaEntries({ disks: [{ name: "disk1.vmdk", content: undefined }] }),
    ];
    await assertRefused(buildTar(entries), "FORMAT_UNSUPPORTED", /"disk1\.vmdk", which had gone by/);
  });

  it("says so too where the descriptor comes between a wrong file and the disk", async () => {
    const entries: TarEntry[] = [
      { name: "other.vmdk", content: vmdk },
      ...ovaEntries({ disks: [{ name: "disk1.vmdk", content: Buffer.from(vmdk).fill(2, 9000) }] }),
    ];
    await assertRefused(buildTar(entries), "FORMAT_UNSUPPORTED", /"disk1\.vmdk", which had gone by/);
  });
});
