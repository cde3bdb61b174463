import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { tar } from "../../formats/archives/tar/tar.ts";
import { FormatError } from "../../formats/errors.ts";
import { openMember } from "../../importer/archive-file.ts";
import type { OpenedMember } from "../../importer/archive-file.ts";
import type { RandomAccess } from "../../importer/random-access.ts";
import { readAll } from "../suites/codec.ts";
import { baseDisk } from "../support/base-disk.ts";
import { buildOva, ovaEntries } from "../support/build-ova.ts";
import { buildQcow2 } from "../support/build-qcow2.ts";
import { buildTar, oldGnuSparse } from "../support/build-tar.ts";
import type { TarEntry } from "../support/build-tar.ts";
import { buildStreamOptimized } from "../support/build-vmdk.ts";
import { withStored } from "../support/job-places.ts";

const disk: Buffer = buildQcow2({ content: baseDisk(200_000) });
const text = Buffer.from("words\n".repeat(300));

function contentOf(file: RandomAccess): Buffer {
  const bytes = Buffer.alloc(file.size, 0xee);
  // From the end to the start, in odd pieces.
  for (let end = file.size; end > 0; end -= 4099) {
    const start = Math.max(0, end - 4099);
    assert.equal(file.readAt(bytes.subarray(start, end), start), end - start);
  }
  return bytes;
}

async function withMember<T>(
  archive: Uint8Array,
  wanted: string | undefined,
  body: (member: OpenedMember) => T | Promise<T>,
): Promise<T> {
  return await withStored(archive, (outer) => openMember(tar, outer, wanted).then(body));
}

async function assertRefused(archive: Uint8Array, code: string, sentence: RegExp, wanted?: string): Promise<void> {
  await assert.rejects(
    withMember(archive, wanted, () => undefined),
    (error) => error instanceof FormatError && error.code === code && sentence.test(error.message),
  );
}

describe("openMember", () => {
  it("opens the disk wherever it lies, to be read at any offset", async () => {
    const rest: TarEntry[] = [
      { name: "a.txt", content: text },
      { name: "b.txt", content: text },
    ];
    for (const at of [0, 1, 2]) {
      await withMember(
        buildTar(rest.toSpliced(at, 0, { name: "disk.qcow2", content: disk })),
        undefined,
        ({ name, file, checkedStream }) => {
          assert.equal(name, "disk.qcow2");
          assert.ok(contentOf(file).equals(disk));
          assert.equal(file.readAt(new Uint8Array(100), disk.length), 0, "ends where the member ends");
          assert.equal(checkedStream, undefined);
        },
      );
    }
  });

  it("takes a later member of the same name, as tar does", async () => {
    await withMember(
      buildTar([
        { name: "disk", content: disk },
        { name: "disk", content: text },
      ]),
      undefined,
      ({ file }) => {
        assert.ok(contentOf(file).equals(text));
      },
    );
  });

  it("opens the one that was named", async () => {
    const archive = buildTar([
      { name: "x/one", content: disk },
      { name: "x/two", content: text },
    ]);
    await withMember(archive, "two", ({ file }) => assert.ok(contentOf(file).equals(text)));
    await assertRefused(archive, "FORMAT_UNRECOGNISED", /no file "three", but .*x\/one/, "three");
  });

  it("opens a member of a member, and a sparse one, as parts of the file itself", async () => {
    const sparse = Buffer.alloc(300_032);
    disk.copy(sparse, 0, 0, 1024);
    sparse.fill(5, 200_192, 260_096);
    const inner = Buffer.concat([
      oldGnuSparse("disk.img", sparse, [
        [0, 1024],
        [200_192, 59_904],
        [300_032, 0],
      ]),
      buildTar([]),
    ]);
    const outer = buildTar([
      { name: "note", content: text },
      { name: "inner.tar", content: inner },
    ]);
    await withStored(outer, async (file) => {
      const first = await openMember(tar, file, "inner.tar");
      const second = await openMember(tar, first.file, undefined);
      assert.equal(second.name, "disk.img");
      assert.ok(contentOf(second.file).equals(sparse));
      assert.equal(second.file.spec.fd, file.spec.fd);
    });
    // A tar whose content is scattered in the file around it: sparse in sparse.
    const holed = Buffer.alloc(Math.ceil(inner.length / 512) * 512 + 4096);
    inner.copy(holed);
    const ranges = [
      [0, 2048],
      [2048, holed.length - 4096 - 2048],
      [holed.length, 0],
    ] as const;
    await withStored(Buffer.concat([oldGnuSparse("inner.tar", holed, ranges), buildTar([])]), async (file) => {
      const first = await openMember(tar, file, undefined);
      const second = await openMember(tar, first.file, undefined);
      assert.ok(contentOf(second.file).equals(sparse));
    });
  });

  it("refuses an archive that is cut short anywhere behind a header", async () => {
    const archive = buildTar([
      { name: "disk", content: disk },
      { name: "text", content: text },
    ]);
    for (const length of [700, 512 + disk.length - 1, archive.length - 1024 - 500]) {
      await assertRefused(archive.subarray(0, length), "FORMAT_CORRUPT", /ends at/);
    }
  });

  it("refuses two disks with their names", async () => {
    await assertRefused(
      buildTar([
        { name: "a", content: disk },
        { name: "b", content: disk },
      ]),
      "FORMAT_UNSUPPORTED",
      /2 disks: .*a.*b/,
    );
  });
});

describe("openMember, of an OVA", () => {
  const vmdk = buildStreamOptimized(baseDisk(256 * 512));
  const disks = [{ name: "disk1.vmdk", content: vmdk }];

  it("gives a stream that agrees with the manifest, or fails at its end", async () => {
    const orders = [
      ["ovf", "mf", "disks"],
      ["ovf", "disks", "mf"],
      ["disks", "mf", "ovf"],
    ] as const;
    for (const order of orders) {
      for (const manifest of ["sha1", "sha256", "sha512"] as const) {
        await withMember(buildOva({ disks, manifest, order }), undefined, async ({ checkedStream }) => {
          assert.ok(checkedStream !== undefined);
          assert.ok((await readAll(checkedStream)).equals(vmdk));
        });
        const damaged = ovaEntries({ disks, manifest, order }).map((entry) => {
          return entry.name === "disk1.vmdk" ? { ...entry, content: Buffer.from(vmdk).fill(9, 7000, 7001) } : entry;
        });
        await withMember(buildTar(damaged), undefined, async ({ checkedStream }) => {
          assert.ok(checkedStream !== undefined);
          await assert.rejects(readAll(checkedStream), { code: "FORMAT_CORRUPT" });
        });
      }
    }
  });

  it("leaves a disk without a digest to random access, and warns where a manifest forgot it", async () => {
    await withMember(buildOva({ disks }), undefined, ({ checkedStream, warnings, file }) => {
      assert.equal(checkedStream, undefined);
      assert.deepEqual(warnings, []);
      assert.ok(contentOf(file).equals(vmdk));
    });
    const entries = ovaEntries({ disks, manifest: "sha256" }).map((entry) => {
      return entry.name === "vm.mf" ? { ...entry, content: Buffer.from("") } : entry;
    });
    await withMember(buildTar(entries), undefined, ({ warnings }) => {
      assert.deepEqual(
        warnings.map(({ code }) => code),
        ["OVA_DISK_NOT_IN_MANIFEST"],
      );
    });
  });
});
