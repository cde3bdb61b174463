/**
 * Wrappers in any order and depth, of a file and of a stream: what is under them, and how it can be read.
 */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { describe, it } from "node:test";
import zlib from "node:zlib";
import { DEFAULT_MEMORY_LIMIT } from "../../formats/codecs/codec.ts";
import { HEAD_LENGTH } from "../../formats/disk-format.ts";
import { FormatError } from "../../formats/errors.ts";
import { MAX_WRAPPERS, unwrapFile, unwrapStream } from "../../importer/unwrap.ts";
import type { Unwrapped, UnwrapOptions } from "../../importer/unwrap.ts";
import { readAll } from "../suites/codec.ts";
import { buildQcow2 } from "../support/build-qcow2.ts";
import { buildFooter } from "../support/build-vhd.ts";
import { buildTar } from "../support/build-tar.ts";
import { baseDisk } from "../support/base-disk.ts";
import { withStored } from "../support/job-places.ts";
import { streamOf } from "../support/streams.ts";

const plain: UnwrapOptions = {
  decoders: "auto",
  memoryLimit: DEFAULT_MEMORY_LIMIT,
  format: undefined,
  member: undefined,
  archives: true,
};
const qcow2 = buildQcow2({ content: baseDisk(200_000) });

const gzip = (bytes: Uint8Array): Buffer => zlib.gzipSync(bytes);
const zstd = (bytes: Uint8Array): Buffer => zlib.zstdCompressSync(bytes);
const tar = (bytes: Uint8Array): Uint8Array =>
  buildTar([
    { name: "README", content: Buffer.from("read me") },
    { name: "disk", content: bytes },
  ]);

interface Content {
  readonly wrappers: readonly string[];
  readonly format: string;
  readonly digest: string;
  /** Whether it can be read at random. */
  readonly isFile: boolean;
}

async function contentOf({ wrappers, format, file, stream, head }: Unwrapped): Promise<Content> {
  let bytes: Buffer = Buffer.alloc(file?.size ?? 0);
  if (stream !== undefined) bytes = await readAll(stream);
  else await file?.readAt(bytes, 0);
  assert.ok(bytes.subarray(0, HEAD_LENGTH).equals(head), "the head is the image's own");
  const digest = createHash("sha256").update(bytes).digest("hex");
  return { wrappers, format: format.name, digest, isFile: file !== undefined };
}

/** As a file and as a stream. */
async function both(bytes: Uint8Array, options: Partial<UnwrapOptions> = {}): Promise<[Content, Content]> {
  const asFile = await withStored(
    bytes,
    async (file) => await contentOf(await unwrapFile(file, { ...plain, ...options })),
  );
  return [
    asFile,
    await contentOf(
      await unwrapStream(
        streamOf(bytes, (i) => 1 + ((i * 911) % 30_000)),
        { ...plain, ...options },
      ),
    ),
  ];
}

async function assertRefused(
  bytes: Uint8Array,
  code: string,
  sentence: RegExp,
  options: Partial<UnwrapOptions> = {},
): Promise<void> {
  const isRefused = (error: unknown): boolean =>
    error instanceof FormatError && error.code === code && sentence.test(error.message);
  await assert.rejects(
    withStored(bytes, (file) => unwrapFile(file, { ...plain, ...options })),
    isRefused,
  );
  await assert.rejects(unwrapStream(streamOf(bytes), { ...plain, ...options }), isRefused);
}

const digest = createHash("sha256").update(qcow2).digest("hex");

describe("unwrap", () => {
  const rows: readonly [wrappers: readonly string[], bytes: Uint8Array][] = [
    [[], qcow2],
    [["gzip"], gzip(qcow2)],
    [["tar"], tar(qcow2)],
    [["gzip", "tar"], gzip(tar(qcow2))],
    [["tar", "gzip"], tar(gzip(qcow2))],
    [["tar", "tar"], tar(tar(qcow2))],
    [["zstd", "tar", "gzip", "zstd"], zstd(tar(gzip(zstd(qcow2))))],
  ];
  for (const [wrappers, bytes] of rows) {
    it(`takes off ${wrappers.join(", ") || "nothing"}`, async () => {
      const [file, stream] = await both(bytes);
      const expected = { wrappers, format: "qcow2", digest };
      // Archives keep random access, codecs end it.
      assert.deepEqual(file, { ...expected, isFile: wrappers.every((wrapper) => wrapper === "tar") });
      assert.deepEqual(stream, { ...expected, isFile: false });
    });
  }

  it("goes eight deep and no deeper", async () => {
    let bytes: Uint8Array = qcow2;
    for (let i = 0; i < MAX_WRAPPERS; i++) bytes = i % 2 === 0 ? gzip(bytes) : tar(bytes);
    const [file, stream] = await both(bytes);
    assert.deepEqual([file.wrappers.length, file.digest, stream.digest], [MAX_WRAPPERS, digest, digest]);
    await assertRefused(gzip(bytes), "FORMAT_OUT_OF_BOUNDS", /more than 8 times/);
  });

  it("leaves an archive alone where archives are disks like any other", async () => {
    for (const content of await both(tar(qcow2), { archives: false })) {
      assert.deepEqual([content.wrappers, content.format], [[], "raw"]);
    }
    for (const content of await both(gzip(tar(qcow2)), { archives: false })) {
      assert.deepEqual([content.wrappers, content.format], [["gzip"], "raw"]);
    }
  });

  it("knows a fixed VHD by its end, which a stream shows too late", async () => {
    const data = baseDisk(65_536);
    const [file, stream] = await both(Buffer.concat([data, buildFooter({ type: 2, currentSize: data.length })]));
    assert.deepEqual([file.format, stream.format], ["vpc", "raw"]);
  });

  it("takes what is shorter than any header for raw", async () => {
    for (const bytes of [Buffer.alloc(0), Buffer.from("QF"), Buffer.alloc(511, 1)]) {
      for (const content of await both(bytes)) assert.deepEqual([content.wrappers, content.format], [[], "raw"]);
    }
    for (const content of await both(gzip(Buffer.alloc(0))))
      assert.deepEqual([content.wrappers, content.format], [["gzip"], "raw"]);
  });

  it("opens as the format that was named, if the image is that", async () => {
    for (const content of await both(gzip(qcow2), { format: "qcow2" })) assert.equal(content.format, "qcow2");
    for (const content of await both(qcow2, { format: "raw" }))
      assert.deepEqual([content.format, content.digest], ["raw", digest]);
    await assertRefused(gzip(qcow2), "FORMAT_UNRECOGNISED", /not vmdk: it looks like qcow2/, { format: "vmdk" });
  });

  it("hands on the name of a member, and refuses one that is not there", async () => {
    const bytes = buildTar([
      { name: "a", content: Buffer.from("words") },
      { name: "b", content: qcow2 },
    ]);
    for (const content of await both(bytes, { member: "a" })) assert.equal(content.format, "raw");
    await assertRefused(bytes, "FORMAT_UNRECOGNISED", /no file "c"/, { member: "c" });
  });
});
