import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { FormatError } from "../../../formats/errors.ts";
import type { FormatErrorCode } from "../../../formats/errors.ts";
import { MANIFEST_TYPES, MAX_MANIFEST_LENGTH, parseManifest } from "../../../importer/oci/manifest.ts";
import type { ImageIndex, ImageManifest } from "../../../importer/oci/manifest.ts";

const DIGEST = `sha256:${"0".repeat(64)}`;
const LAYER = { mediaType: "application/vnd.oci.image.layer.v1.tar+gzip", digest: DIGEST, size: 5 };

function parse(value: unknown): ImageIndex | ImageManifest {
  return parseManifest(Buffer.from(JSON.stringify(value)));
}

function refused(value: unknown, code: FormatErrorCode, message: RegExp): void {
  assert.throws(
    () => parse(value),
    (error) => error instanceof FormatError && error.code === code && message.test(error.message),
    JSON.stringify(value).slice(0, 200),
  );
}

describe("parseManifest", () => {
  it("tells image and index by what they hold", () => {
    const image = parse({
      schemaVersion: 2,
      config: LAYER,
      layers: [LAYER, { ...LAYER, annotations: { a: "b", c: 1 } }],
    });
    assert.ok(image.kind === "image");
    assert.deepEqual(
      [image.layers.length, image.layers[1]?.annotations, image.config.digest.text],
      [2, { a: "b" }, DIGEST],
    );
    const platform = { architecture: "arm64", os: "linux", variant: "v8", "os.features": [] };
    const index = parse({ mediaType: "text/plain", manifests: [{ ...LAYER, platform }, LAYER] });
    assert.ok(index.kind === "index");
    assert.deepEqual(index.manifests[0]?.platform, { architecture: "arm64", os: "linux", variant: "v8" });
    assert.equal(index.manifests[1]?.platform, undefined);
    assert.equal(MANIFEST_TYPES.length, 4);
    assert.ok(MAX_MANIFEST_LENGTH <= 4 * 1024 * 1024);
  });

  it("R09: refuses schema 1 by name", () => {
    refused({ schemaVersion: 1, fsLayers: [], history: [], signatures: [] }, "FORMAT_UNSUPPORTED", /schema 1/);
    refused({ fsLayers: [{ blobSum: DIGEST }] }, "FORMAT_UNSUPPORTED", /schema 1/);
  });

  it("refuses a document that is two things, or none", () => {
    refused({ manifests: [], layers: [], config: LAYER }, "FORMAT_INVALID", /both an index and an image/);
    refused({ manifests: [], config: LAYER }, "FORMAT_INVALID", /both/);
    refused({ schemaVersion: 2 }, "FORMAT_INVALID", /neither layers nor manifests/);
    refused({ errors: [] }, "FORMAT_INVALID", /neither/);
  });

  it("refuses fields of the wrong type and values out of bounds", () => {
    const image = (layer: unknown): unknown => ({ config: LAYER, layers: [layer] });
    for (const layer of [null, 1, "x", [], {}, { ...LAYER, digest: 5 }, { ...LAYER, digest: "sha256:../../x" }]) {
      refused(image(layer), "FORMAT_INVALID", /a layer/);
    }
    for (const size of [-1, 1.5, 2 ** 60, "5", null, undefined]) {
      refused(image({ ...LAYER, size }), "FORMAT_INVALID", /without a size/);
    }
    refused({ layers: [] }, "FORMAT_INVALID", /the config/);
    refused({ config: LAYER, layers: {} }, "FORMAT_INVALID", /neither/);
    const many = (count: number): unknown[] => Array.from({ length: count }, () => LAYER);
    refused({ config: LAYER, layers: many(1025) }, "FORMAT_OUT_OF_BOUNDS", /1025 layers, more than 1024/);
    refused({ manifests: many(4097) }, "FORMAT_OUT_OF_BOUNDS", /4097 manifests/);
  });

  it("gives a manifest or a FormatError, whatever comes", () => {
    const key = fc.constantFrom(
      "manifests",
      "layers",
      "config",
      "schemaVersion",
      "digest",
      "size",
      "platform",
      "annotations",
    );
    const value = fc.letrec((tie) => ({
      any: fc.oneof(
        { depthSize: "small" },
        fc.constantFrom<unknown>(DIGEST, 1, -1, 5, null, "", true, "linux"),
        fc.array(tie("any"), { maxLength: 3 }),
        fc.dictionary(key, tie("any"), { maxKeys: 5 }),
      ),
    })).any;
    fc.assert(
      fc.property(fc.dictionary(key, value), (document) => {
        try {
          parse(document);
        } catch (error) {
          assert.ok(error instanceof FormatError, String(error));
        }
      }),
      { seed: 7, numRuns: 500 },
    );
  });
});
