import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { describe, it } from "node:test";
import zlib from "node:zlib";
import { FormatError } from "../../../formats/errors.ts";
import { SourceError } from "../../../importer/errors.ts";
import { parseContentDigest } from "../../../importer/oci/content-digest.ts";
import { OciArchive } from "../../../importer/oci/oci-archive.ts";
import { errorText } from "../../../importer/outcome.ts";
import { buildImage, buildLayer, digestOf, file } from "../../support/build-image.ts";
import type { BuiltImage } from "../../support/build-image.ts";
import { buildTar } from "../../support/build-tar.ts";
import type { TarEntry } from "../../support/build-tar.ts";
import { readAll } from "../../support/http-client.ts";
import { withTemporaryFolder } from "../../support/temporary-folder.ts";

const image = (content: string): BuiltImage => buildImage([buildLayer([file("disk/x", content)])]);

/** The entries of a layout in a tar; `manifests` of its index. */
function layout(images: readonly BuiltImage[], manifests: readonly object[]): TarEntry[] {
  const blobs = images.flatMap(({ blobs, manifests: own }) => [...blobs, ...own]);
  return [
    file("oci-layout", `{"imageLayoutVersion":"1.0.0"}`),
    ...blobs.map(([digest, bytes]) => file(`blobs/${digest.replace(":", "/")}`, bytes)),
    file("./index.json", JSON.stringify({ schemaVersion: 2, manifests })),
  ];
}

function entryOf(image: BuiltImage, name?: string, fields: object = {}): object {
  const size = image.manifests.get(image.digest)?.length;
  const annotations = name === undefined ? {} : { annotations: { "org.opencontainers.image.ref.name": name } };
  return { digest: image.digest, size, ...annotations, ...fields };
}

async function withArchive<T>(
  bytes: Uint8Array,
  tag: string | undefined,
  use: (archive: OciArchive) => Promise<T>,
): Promise<T> {
  return await withTemporaryFolder(async (folder) => {
    const place = path.join(folder, "image.tar");
    fs.writeFileSync(place, bytes);
    const archive = OciArchive.open({ kind: "archive", path: place, tag, name: `oci-archive:${place}` });
    try {
      return await use(archive);
    } finally {
      archive.close();
    }
  });
}

/** The digest of the config of what is chosen, or the platforms of an index. */
async function chosen(entries: readonly TarEntry[], tag?: string): Promise<string> {
  return await withArchive(buildTar(entries), tag, async (archive) => {
    const root = await archive.root();
    return root.kind === "image"
      ? root.config.digest.text
      : root.manifests.map(({ platform }) => platform?.architecture).join();
  });
}

async function refused(bytes: Uint8Array, text: RegExp, tag?: string): Promise<void> {
  await assert.rejects(
    withArchive(bytes, tag, async (archive) => await archive.root()),
    (error) => {
      assert.ok(error instanceof FormatError || error instanceof SourceError, String(error));
      assert.match(errorText(error), text);
      return true;
    },
  );
}

const configOf = ({ manifests, digest }: BuiltImage): string => {
  const manifest = JSON.parse(manifests.get(digest)?.toString() ?? "") as { config: { digest: string } };
  return manifest.config.digest;
};

describe("OciArchive", () => {
  const [one, two] = [image("one"), image("two")];

  it("takes the only image, or the one that is named", async () => {
    assert.equal(await chosen(layout([one], [entryOf(one)])), configOf(one));
    const both = layout([one, two], [entryOf(one, "v1"), entryOf(two, "localhost:5000/x:v2")]);
    assert.equal(await chosen(both, "v1"), configOf(one));
    assert.equal(await chosen(both, "v2"), configOf(two));
    assert.equal(await chosen(both, "localhost:5000/x:v2"), configOf(two));
    await refused(buildTar(both), /holds 2 images: "v1", "localhost:5000\/x:v2".*oci-archive:PATH:TAG/);
    await refused(buildTar(both), /holds no image "v3".*It has "v1"/, "v3");
  });

  it("takes several for several platforms for an index", async () => {
    const platform = (architecture: string) => ({ platform: { os: "linux", architecture } });
    const entries = [entryOf(one, undefined, platform("amd64")), entryOf(two, undefined, platform("arm64"))];
    assert.equal(await chosen(layout([one, two], entries)), "amd64,arm64");
  });

  it("reads blobs in place, and compares small ones with their digests", async () => {
    await withArchive(buildTar(layout([one], [entryOf(one)])), undefined, async (archive) => {
      const root = await archive.root();
      assert.ok(root.kind === "image");
      const [layer] = root.layers;
      assert.ok(layer !== undefined);
      const blob = await archive.blob(layer);
      assert.equal(digestOf(await readAll(blob.stream)), layer.digest.text);
      assert.equal(blob.resumes(), 0);
      assert.equal(digestOf(await archive.document(root.config, 10_000)), root.config.digest.text);
      await assert.rejects(archive.document(root.config, 10), FormatError);
      const digest = parseContentDigest(digestOf(Buffer.from("not there")));
      assert.ok(digest !== undefined);
      await assert.rejects(archive.manifest(digest), SourceError);
    });
  });

  it("refuses what is no such archive, by name", async () => {
    await refused(
      zlib.gzipSync(buildTar(layout([one], [entryOf(one)]))),
      /is compressed \(gzip\). Decompress it first/,
    );
    await refused(Buffer.from("QFI\xfb"), /is no tar file/);
    await refused(buildTar([file("disk/x", "")]), /there is no index.json in it/);
    await refused(buildTar([file("manifest.json", "[]")]), /docker save/);
    await refused(buildTar([file("index.json", `{"manifests":[]}`)]), /holds no image/);
    await refused(buildTar([file("index.json", "[")]), /is not JSON/);
    await refused(
      buildTar([file("index.json", `{"layers":[],"config":${JSON.stringify(entryOf(one))}}`)]),
      /no image index/,
    );
    await refused(buildTar(layout([], [entryOf(one)])), /blobs\/sha256\/\w+ is not in the archive/);
    const damaged = layout([one], [entryOf(one)]).map((entry) => {
      return entry.name.endsWith(one.digest.slice(7)) ? file(entry.name, "{}") : entry;
    });
    await refused(buildTar(damaged), /has the digest/);
    const cut = buildTar(layout([one], [entryOf(one)]), false);
    await refused(cut.subarray(0, cut.length - 600), /ends (?:at|inside)/);
    assert.throws(() => OciArchive.open({ kind: "archive", path: "/no/such", tag: undefined, name: "x" }), SourceError);
    assert.throws(
      () => OciArchive.open({ kind: "archive", path: "/dev/null", tag: undefined, name: "x" }),
      SourceError,
    );
  });

  it("does not read an index of any length", async () => {
    const index = { name: "index.json", content: Buffer.alloc(4 * 1024 * 1024 + 1, " ") };
    await refused(buildTar([index]), /more than 4194304/);
  });
});
