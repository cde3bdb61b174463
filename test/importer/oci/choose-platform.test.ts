import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { FormatError } from "../../../formats/errors.ts";
import { checkArchitecture, choosePlatform, goArchitecture } from "../../../importer/oci/choose-platform.ts";
import { parseContentDigest } from "../../../importer/oci/content-digest.ts";
import type { Descriptor, ImageIndex } from "../../../importer/oci/manifest.ts";
import { errorText } from "../../../importer/outcome.ts";

function manifest(number: number, platform: string | undefined, annotations: Record<string, string> = {}): Descriptor {
  const digest = parseContentDigest(`sha256:${String(number).padStart(64, "0")}`);
  assert.ok(digest !== undefined);
  const [os = "", architecture = "", variant = ""] = platform?.split("/") ?? [];
  return {
    mediaType: "",
    digest,
    size: number,
    annotations,
    platform: platform === undefined ? undefined : { os, architecture, variant },
  };
}

function index(...platforms: (string | undefined)[]): ImageIndex {
  return { kind: "index", manifests: platforms.map((platform, number) => manifest(number, platform)) };
}

function message(work: () => unknown): string {
  try {
    work();
  } catch (error) {
    assert.ok(error instanceof FormatError && error.code === "FORMAT_UNSUPPORTED", String(error));
    return errorText(error);
  }
  return assert.fail("nothing was refused");
}

describe("choosePlatform", () => {
  const chosen = (architecture: string, ...platforms: (string | undefined)[]): number => {
    return choosePlatform(index(...platforms), architecture, undefined).size;
  };

  it("takes Linux on the architecture, without a variant first", () => {
    assert.equal(chosen("arm64", "linux/amd64", "linux/arm64/v8", "windows/arm64"), 1);
    assert.equal(chosen("amd64", "windows/amd64", "linux/amd64/v3", "linux/amd64"), 2);
    assert.equal(chosen("arm", "linux/arm/v6", "linux/arm/v7"), 0);
    assert.equal(chosen("amd64", undefined), 0);
  });

  it("R06: names the platforms that there are, without attestations", () => {
    const platforms = ["linux/amd64", "linux/arm64/v8", "unknown/unknown", "linux/amd64", undefined];
    assert.equal(
      message(() => chosen("s390x", ...platforms)),
      `no image found in image index for architecture "s390x", variant "", OS "linux". It has "linux/amd64", "linux/arm64/v8".`,
    );
    assert.match(
      message(() => chosen("amd64", undefined, undefined)),
      /It names no platforms\.$/,
    );
    assert.match(
      message(() => chosen("amd64", "darwin/amd64")),
      /"darwin\/amd64"/,
    );
  });

  it("takes what is named of several for one platform, and of those for none", () => {
    const manifests = [
      manifest(0, "linux/amd64", { disktype: "applehv" }),
      manifest(1, "linux/amd64", { disktype: "qemu" }),
      manifest(2, "linux/arm64", { disktype: "qemu" }),
      manifest(3, undefined, { "org.opencontainers.image.title": "disk" }),
    ];
    const choose = (selector?: string): number => choosePlatform({ kind: "index", manifests }, "amd64", selector).size;
    assert.deepEqual([choose(), choose("qemu"), choose("disk"), choose("of the blob")], [0, 1, 3, 0]);
    assert.equal(choose(manifests[1]?.digest.text), 1);
  });
});

describe("checkArchitecture", () => {
  it("compares only where one was asked for, in the words that users know", () => {
    checkArchitecture(undefined, "amd64");
    checkArchitecture("amd64", "amd64");
    assert.equal(
      message(() => checkArchitecture("arm64", "amd64")),
      `Error validating architecture: manifest image architecture: "amd64" doesn't match requested architecture: "arm64"`,
    );
    assert.ok(message(() => checkArchitecture("arm64", "x".repeat(5000))).length < 300);
  });
});

describe("goArchitecture", () => {
  it("translates what is called otherwise", () => {
    const names = ["x64", "arm64", "ia32", "ppc64", "s390x", "riscv64"].map(goArchitecture);
    assert.deepEqual(names, ["amd64", "arm64", "386", "ppc64le", "s390x", "riscv64"]);
  });
});
