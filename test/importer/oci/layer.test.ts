import assert from "node:assert/strict";
import { describe, it } from "node:test";
import zlib from "node:zlib";
import { FormatError } from "../../../formats/errors.ts";
import { SourceError } from "../../../importer/errors.ts";
import { parseContentDigest } from "../../../importer/oci/content-digest.ts";
import { Layer } from "../../../importer/oci/layer.ts";
import { compressWith } from "../../support/compress.ts";
import { buildLayer, digestOf, file } from "../../support/build-image.ts";
import type { BuiltLayer } from "../../support/build-image.ts";
import { buildTar, oldGnuSparse } from "../../support/build-tar.ts";
import { readAll } from "../../support/http-client.ts";
import { requireTools } from "../../support/tools.ts";

const decoding = { decoders: "portable", memoryLimit: 64 << 20 } as const;

async function open(layer: Pick<BuiltLayer, "bytes">, served: Uint8Array = layer.bytes): Promise<Layer> {
  const digest = parseContentDigest(digestOf(layer.bytes));
  assert.ok(digest !== undefined);
  let at = 0;
  const stream = {
    read(into: Uint8Array) {
      const piece = served.subarray(at, at + Math.min(into.length, 1000));
      into.set(piece);
      at += piece.length;
      return piece.length;
    },
    close: () => undefined,
  };
  const descriptor = { mediaType: "", digest, size: layer.bytes.length, annotations: {}, platform: undefined };
  return await Layer.open(stream, { descriptor, decoding });
}

/** Names and contents; read to the end. */
async function contents(layer: Layer): Promise<[string, string][]> {
  const seen: [string, string][] = [];
  try {
    for (let entry = await layer.next(); entry !== undefined; entry = await layer.next()) {
      seen.push([entry.name, (await readAll(layer.content(entry))).toString()]);
    }
    await layer.finish();
    assert.equal(layer.rest, 0);
    return seen;
  } finally {
    await layer.close();
  }
}

async function fails(
  work: () => Promise<unknown>,
  code: string,
  message: RegExp,
  layer: Pick<BuiltLayer, "bytes">,
): Promise<void> {
  await assert.rejects(work, (error) => {
    assert.ok(error instanceof FormatError || error instanceof SourceError, String(error));
    assert.equal(error.code, code, error.message);
    assert.match(error.message, message);
    assert.ok(error.message.includes(digestOf(layer.bytes)), error.message);
    assert.equal(error.context["layer"], digestOf(layer.bytes));
    assert.equal(typeof error.context["layerOffset"], "number");
    return true;
  });
}

const ENTRIES = [file("a", "one"), file("b", "x".repeat(5000)), { name: "folder/", type: "5" }, file("c", "")];
const CONTENTS = [
  ["a", "one"],
  ["b", "x".repeat(5000)],
  ["folder/", ""],
  ["c", ""],
];

describe("Layer", () => {
  it(
    "R05: takes its compression from the content, whatever the media type says",
    { skip: requireTools("xz") },
    async () => {
      for (const compression of ["none", "gzip", "zstd"] as const) {
        assert.deepEqual(await contents(await open(buildLayer(ENTRIES, compression))), CONTENTS, compression);
      }
      const tar = buildTar(ENTRIES);
      const xz = { bytes: compressWith("xz")(tar) };
      assert.deepEqual(await contents(await open(xz)), CONTENTS);
    },
  );

  it("takes an empty layer for one", async () => {
    for (const tar of [buildTar([]), new Uint8Array(0), new Uint8Array(10_240)]) {
      assert.deepEqual(await contents(await open({ bytes: zlib.gzipSync(tar) })), []);
    }
  });

  it("reads sparse files with their holes", async () => {
    const disk = Buffer.alloc(8192);
    disk.write("data", 4096);
    const tar = Buffer.concat([oldGnuSparse("disk", disk, [[4096, 512]]), buildTar([])]);
    const [found] = await contents(await open({ bytes: zlib.gzipSync(tar) }));
    assert.equal(found?.[1], disk.toString());
  });

  it("skips what of an entry was not read", async () => {
    const layer = await open(buildLayer(ENTRIES));
    const names: string[] = [];
    for (let entry = await layer.next(); entry !== undefined; entry = await layer.next()) names.push(entry.name);
    await layer.finish();
    assert.deepEqual(
      names,
      CONTENTS.map(([name]) => name),
    );
  });

  it("refuses what is no tar, whether it is compressed or not", async () => {
    for (const bytes of [
      Buffer.from("QFI\xfb, a disk"),
      zlib.gzipSync("a text"),
      zlib.gzipSync(zlib.gzipSync(buildTar([]))),
    ]) {
      const layer = { bytes };
      await fails(async () => await open(layer), "FORMAT_UNRECOGNISED", /it is no tar archive/, layer);
    }
  });

  it("fails with the layer's digest and offset where it is damaged or cut", async () => {
    for (const compression of ["none", "gzip", "zstd"] as const) {
      const noise = Buffer.concat(Array.from({ length: 600 }, (_, i) => Buffer.from(digestOf(Buffer.from(String(i))))));
      const layer = buildLayer([{ name: "a", content: noise }], compression);
      const cut = layer.bytes.subarray(0, 10_000);
      await fails(
        async () => await contents(await open(layer, cut)),
        "SOURCE_TRUNCATED",
        /ended after 10000 of/,
        layer,
      );
      const longer = Buffer.concat([layer.bytes, Buffer.from("x")]);
      await fails(async () => await contents(await open(layer, longer)), "SOURCE_CHECKSUM", /more than the/, layer);
    }
    const layer = buildLayer(ENTRIES, "none");
    const changed = Buffer.from(layer.bytes);
    changed.write("y", 2000);
    await fails(async () => await contents(await open(layer, changed)), "SOURCE_CHECKSUM", /has the digest/, layer);
    const damaged = { bytes: Buffer.from(layer.bytes) };
    damaged.bytes.write("?", 1024);
    const message = /^layer sha256:\w+, at byte \d+: the tar header at 1024 has a wrong checksum/;
    await fails(async () => await contents(await open(damaged)), "FORMAT_CORRUPT", message, damaged);
  });

  it("compares the blob's digest, also where what it unpacks to is the same", async () => {
    const layer = buildLayer(ENTRIES);
    const changed = Buffer.from(layer.bytes);
    changed.writeUInt32LE(1, 4); // the time in gzip's header
    await fails(async () => await contents(await open(layer, changed)), "SOURCE_CHECKSUM", /has the digest/, layer);
  });

  it("refuses an entry that promises more than is there", async () => {
    const tar = buildTar([{ name: "a", size: 1 << 30, content: Buffer.from("few") }], false);
    const layer = { bytes: zlib.gzipSync(tar) };
    await fails(async () => await contents(await open(layer)), "FORMAT_CORRUPT", /ends inside its member/, layer);
    const skipping = async (): Promise<void> => {
      const opened = await open(layer);
      while ((await opened.next()) !== undefined);
      await opened.finish();
    };
    await fails(skipping, "FORMAT_CORRUPT", /ends at \d+, inside a member/, layer);
  });
});
