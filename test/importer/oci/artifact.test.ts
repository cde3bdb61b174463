import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { FormatError } from "../../../formats/errors.ts";
import { chooseBlob, isArtifact } from "../../../importer/oci/artifact.ts";
import { parseManifest } from "../../../importer/oci/manifest.ts";
import type { ImageManifest } from "../../../importer/oci/manifest.ts";
import { buildArtifact, buildImage, buildLayer, digestOf } from "../../support/build-image.ts";
import type { BuiltImage, BuiltLayer } from "../../support/build-image.ts";

function manifestOf({ manifests, digest }: BuiltImage): ImageManifest {
  const manifest = parseManifest(manifests.get(digest) ?? new Uint8Array(0));
  assert.ok(manifest.kind === "image");
  return manifest;
}

function blob(content: string, title?: string, mediaType = "application/octet-stream"): BuiltLayer {
  const annotations = title === undefined ? {} : { annotations: { "org.opencontainers.image.title": title } };
  return { bytes: Buffer.from(content), diffId: "", mediaType, ...annotations };
}

describe("isArtifact", () => {
  it("tells files from layers", () => {
    const layer = buildLayer([]);
    assert.equal(isArtifact(manifestOf(buildImage([layer]))), false);
    const docker = { ...layer, mediaType: "application/vnd.docker.image.rootfs.diff.tar.gzip" };
    assert.equal(isArtifact(manifestOf(buildImage([docker]))), false);
    assert.equal(isArtifact(manifestOf(buildImage([]))), false);
    assert.equal(isArtifact(manifestOf(buildArtifact([blob("x")]))), true);
    // ORAS calls files without a type layers.
    assert.equal(isArtifact(manifestOf(buildArtifact([layer]))), true);
    assert.equal(isArtifact(manifestOf(buildArtifact([blob("x")], { artifactType: "" }))), true);
    const disk = blob("x", undefined, "application/vnd.kubevirt.disk.qcow2");
    assert.equal(isArtifact(manifestOf(buildImage([disk]))), true);
    assert.equal(isArtifact(manifestOf(buildImage([disk, layer]))), false);
  });
});

describe("chooseBlob", () => {
  const two = manifestOf(buildArtifact([blob("a", "a.qcow2"), blob("b", "b.qcow2")]));
  const refusal = (manifest: ImageManifest, selector?: string): string => {
    try {
      chooseBlob(manifest, selector);
    } catch (error) {
      assert.ok(error instanceof FormatError);
      return `${error.code}: ${error.message}`;
    }
    return assert.fail("nothing was refused");
  };

  it("takes the only one, or the one that is named", () => {
    const one = manifestOf(buildArtifact([blob("a", "a.qcow2")]));
    assert.equal(chooseBlob(one, undefined).digest.text, digestOf(Buffer.from("a")));
    assert.equal(chooseBlob(one, "disk.img").digest.text, digestOf(Buffer.from("a")));
    for (const selector of ["b.qcow2", digestOf(Buffer.from("b"))]) {
      assert.equal(chooseBlob(two, selector).digest.text, digestOf(Buffer.from("b")));
    }
  });

  it("refuses several with their names", () => {
    assert.equal(refusal(two), `FORMAT_UNSUPPORTED: the artifact holds 2 files: "a.qcow2", "b.qcow2"`);
    assert.match(refusal(two, "c"), /^FORMAT_UNRECOGNISED: the artifact holds no file "c", but "a.qcow2", "b.qcow2"$/);
  });

  it("passes over the empty blob that stands for nothing", () => {
    const empty = blob("{}", undefined, "application/vnd.oci.empty.v1+json");
    assert.match(refusal(manifestOf(buildArtifact([empty]))), /holds no file$/);
    assert.equal(chooseBlob(manifestOf(buildArtifact([empty, blob("a")])), undefined).size, 1);
  });
});
