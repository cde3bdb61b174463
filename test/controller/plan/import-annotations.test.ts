/**
 * One request of each kind of source, and the annotations that the maker of the worker pod reads.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ImportSource } from "../../../controller/api/cdi.ts";
import { importAnnotations } from "../../../controller/plan/import-annotations.ts";

const PREFIX = "cdi.kubevirt.io/storage.";

/** Names without their prefix, the two that every request has left out. */
function annotationsFor(source: ImportSource): Record<string, string> | undefined {
  const found = importAnnotations({ source, contentType: undefined, preallocation: false });
  if (found === undefined) return undefined;
  const { [`${PREFIX}contentType`]: type, [`${PREFIX}preallocation.requested`]: preallocation, ...rest } = found;
  assert.deepEqual([type, preallocation], ["kubevirt", "false"]);
  return Object.fromEntries(Object.entries(rest).map(([name, value]) => [name.slice(PREFIX.length), value]));
}

const KINDS: readonly [string, ImportSource, Record<string, string> | undefined][] = [
  [
    "http with everything",
    {
      http: {
        url: "https://images.test/a.qcow2",
        secretRef: "login",
        certConfigMap: "ca",
        checksum: "md5:00",
        insecureSkipVerify: true,
        extraHeaders: ["A: 1", "B: 2"],
        secretExtraHeaders: ["first", "second"],
      },
    },
    {
      "import.source": "http",
      "import.endpoint": "https://images.test/a.qcow2",
      "import.secretName": "login",
      "import.certConfigMap": "ca",
      "import.checksum": "md5:00",
      "import.insecureSkipVerify": "true",
      "import.extraHeaders.0": "A: 1",
      "import.extraHeaders.1": "B: 2",
      "import.secretExtraHeaders.0": "first",
      "import.secretExtraHeaders.1": "second",
    },
  ],
  [
    "http with nothing that says nothing",
    { http: { url: "http://images.test/a", secretRef: "", checksum: "", insecureSkipVerify: false, extraHeaders: [] } },
    { "import.source": "http", "import.endpoint": "http://images.test/a" },
  ],
  [
    "s3",
    { s3: { url: "https://s3.test/b/k", secretRef: "keys", certConfigMap: "ca" } },
    {
      "import.source": "s3",
      "import.endpoint": "https://s3.test/b/k",
      "import.secretName": "keys",
      "import.certConfigMap": "ca",
    },
  ],
  [
    "gcs",
    { gcs: { url: "gs://b/k", secretRef: "account" } },
    { "import.source": "gcs", "import.endpoint": "gs://b/k", "import.secretName": "account" },
  ],
  [
    "registry by URL",
    {
      registry: {
        url: "docker://registry.test/disk:1",
        pullMethod: "pod",
        secretRef: "login",
        certConfigMap: "ca",
        platform: { architecture: "arm64" },
      },
    },
    {
      "import.source": "registry",
      "import.endpoint": "docker://registry.test/disk:1",
      "import.secretName": "login",
      "import.certConfigMap": "ca",
      "import.registryImportMethod": "pod",
      "import.registryImageArchitecture": "arm64",
    },
  ],
  [
    "registry by image stream",
    { registry: { imageStream: "disk:1", pullMethod: "node" } },
    {
      "import.source": "registry",
      "import.endpoint": "disk:1",
      "import.registryImageStream": "true",
      "import.registryImportMethod": "node",
    },
  ],
  ["blank", { blank: {} }, { "import.source": "none" }],
  [
    "imageio",
    { imageio: { url: "https://engine.test/api", diskId: "d1", secretRef: "login", insecureSkipVerify: true } },
    {
      "import.source": "imageio",
      "import.endpoint": "https://engine.test/api",
      "import.secretName": "login",
      "import.diskId": "d1",
      "import.insecureSkipVerify": "true",
    },
  ],
  [
    "vddk",
    {
      vddk: {
        url: "https://vcenter.test",
        uuid: "u",
        backingFile: "[store] a.vmdk",
        thumbprint: "AA:BB",
        secretRef: "login",
        initImageURL: "registry.test/vddk:8",
        extraArgs: "arguments",
      },
    },
    {
      "import.source": "vddk",
      "import.endpoint": "https://vcenter.test",
      "import.secretName": "login",
      "import.uuid": "u",
      "import.backingFile": "[store] a.vmdk",
      "import.vddk.thumbprint": "AA:BB",
      "pod.vddk.initimageurl": "registry.test/vddk:8",
      "pod.vddk.extraargs": "arguments",
    },
  ],
  ["no member", {}, undefined],
];

describe("importAnnotations", () => {
  for (const [name, source, wanted] of KINDS) {
    it(name, () => {
      assert.deepEqual(annotationsFor(source), wanted);
    });
  }

  it("says the content type and the preallocation", () => {
    const found = importAnnotations({ source: { blank: {} }, contentType: "archive", preallocation: true });
    assert.equal(found?.[`${PREFIX}contentType`], "archive");
    assert.equal(found[`${PREFIX}preallocation.requested`], "true");
  });

  it("has nothing for a source that is not there", () => {
    assert.equal(importAnnotations({ source: undefined, contentType: undefined, preallocation: false }), undefined);
  });

  for (const { stages, finalCheckpoint, final } of [
    { stages: 1, finalCheckpoint: true, final: "true" },
    { stages: 1, finalCheckpoint: false, final: "false" },
    { stages: 2, finalCheckpoint: true, final: "false" },
  ]) {
    it(`the first of ${stages} stages, the last of them ${finalCheckpoint ? "" : "not "}final`, () => {
      const checkpoints = [
        { previous: "", current: "one" },
        { previous: "one", current: "two" },
      ].slice(0, stages);
      const source = { imageio: { url: "https://engine.test", diskId: "d" } };
      const found = importAnnotations({
        source,
        contentType: undefined,
        preallocation: false,
        checkpoints,
        finalCheckpoint,
      });
      assert.equal(found?.[`${PREFIX}checkpoint.current`], "one");
      assert.equal(found[`${PREFIX}checkpoint.previous`], undefined);
      assert.equal(found[`${PREFIX}checkpoint.final`], final);
    });
  }
});
