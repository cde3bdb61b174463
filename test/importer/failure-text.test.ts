import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { FormatError } from "../../formats/errors.ts";
import { qcow2 } from "../../formats/qcow2/qcow2.ts";
import { readConfig, requireChecksum, requireEndpoint, requireSource } from "../../importer/config.ts";
import { SourceError, TargetError, toTargetError, UsageError } from "../../importer/errors.ts";
import { failureText } from "../../importer/failure-text.ts";
import type { FailureSite, Stage } from "../../importer/failure-text.ts";
import { kernelError } from "../../importer/kernel.ts";
import { requireRoom } from "../../importer/target-size.ts";
import { buildQcow2 } from "../support/build-qcow2.ts";
import { openImage } from "../support/parse.ts";

const STAGES: readonly Stage[] = [
  "start-up",
  "choice",
  "connect",
  "blank",
  "Info",
  "Transfer",
  "Convert",
  "Resize",
  "Complete",
];

function at(stage: Stage, site: Partial<FailureSite> = {}): FailureSite {
  return { stage, source: "http", contentType: "kubevirt", endpoint: "http://host/disk.img", ...site };
}

function thrownBy(work: () => unknown): unknown {
  try {
    work();
  } catch (error) {
    return error;
  }
  return assert.fail("nothing was thrown");
}

const notFound = new SourceError("SOURCE_NOT_FOUND", "http://host/x answers 404 Not Found", {
  context: { status: 404 },
});
const unknownHost = new SourceError("SOURCE_UNAVAILABLE", "cannot read http://host/disk.img", {
  cause: new Error("getaddrinfo ENOTFOUND host"),
  context: { errno: "ENOTFOUND" },
});
const cut = new SourceError("SOURCE_TRUNCATED", "http://host/x ended after 300000 of 400000 bytes");
const mismatch = new SourceError("SOURCE_CHECKSUM", "the source's md5 is 6c14, not 0000", {
  context: { algorithm: "md5", expected: "0000", actual: "6c14" },
});
const noSpace = toTargetError(kernelError("ENOSPC", "write"), "write at 4096 to", "/data/disk.img");
const noQuota = toTargetError(kernelError("EDQUOT", "write"), "write at 4096 to", "/data/disk.img");
const tooLarge = thrownBy(() =>
  requireRoom(17592186044416, { kind: "filesystem", free: 2 ** 30, requested: 104857600, overhead: 0.06 }),
);
const html = new FormatError("FORMAT_UNRECOGNISED", "the source is an HTML page, not a disk");
const PREALLOCATED = { PREALLOCATION: "false" };

describe("failureText, equal to what CDI was seen to write", () => {
  const rows: readonly [name: string, error: unknown, site: FailureSite, text: string][] = [
    [
      "404",
      notFound,
      at("connect"),
      "Unable to connect to http data source: expected status code 200, got 404. Status: 404 Not Found",
    ],
    [
      "empty endpoint",
      thrownBy(() => requireEndpoint(readConfig(PREALLOCATED))),
      at("connect", { endpoint: "" }),
      'Unable to connect to http data source: unable to parse endpoint "": endpoint "IMPORTER_ENDPOINT" is missing or blank',
    ],
    [
      "checksum wrong",
      mismatch,
      at("Transfer"),
      "Unable to process data: Unable to transfer source data to scratch space: checksum validation failed: " +
        "checksum mismatch: expected md5:0000, calculated md5:6c14",
    ],
    [
      "checksum wrong, compared once all has passed",
      mismatch,
      at("Complete"),
      "Unable to process data: Unable to transfer source data to scratch space: checksum validation failed: " +
        "checksum mismatch: expected md5:0000, calculated md5:6c14",
    ],
    [
      "checksum malformed",
      thrownBy(() => requireChecksum(readConfig({ ...PREALLOCATED, IMPORTER_CHECKSUM: `sha256:${"0".repeat(65)}` }))),
      at("connect"),
      "Unable to connect to http data source: invalid checksum: invalid sha256 hash length: expected 64 hex characters, got 65",
    ],
    [
      "source glance",
      thrownBy(() => requireSource(readConfig({ ...PREALLOCATED, IMPORTER_SOURCE: "glance" }))),
      at("choice", { source: "glance" }),
      "Unknown data source: glance",
    ],
    [
      "architecture",
      new UsageError(
        `Error validating architecture: manifest image architecture: "amd64" doesn't match requested architecture: "arm64"`,
      ),
      at("connect", { source: "registry" }),
      "Unable to process data: Unable to transfer source data to scratch space: Failed to read registry image: " +
        `Error validating architecture: manifest image architecture: "amd64" doesn't match requested architecture: "arm64"`,
    ],
    ["blank file", new UsageError("no"), at("blank", { source: "none" }), "Unable to create blank image: no"],
  ];
  for (const [name, error, site, text] of rows) {
    it(name, () => assert.equal(failureText(error, site), text));
  }
});

describe("failureText, beginning as CDI's and saying more", () => {
  const REGISTRY =
    "Unable to process data: Unable to transfer source data to scratch space: Failed to read registry image: ";
  const SCRATCH = "Unable to process data: Unable to transfer source data to scratch space: ";
  const HEADER =
    "Unable to process data: Unable to obtain information about data source: could not process image header: ";
  const CONVERT = "Unable to process data: Unable to convert source data to target format: ";
  const UNTAR =
    "Unable to process data: Unable to transfer source data to target directory: unable to untar files from endpoint: ";
  const rows: readonly [name: string, error: unknown, site: FailureSite, start: string][] = [
    [
      "unknown host",
      unknownHost,
      at("connect", { endpoint: "http://user:pass@host/disk.img?signature=1" }),
      'Unable to connect to http data source: HTTP request errored: Get "http://host/disk.img": dial tcp: ' +
        "lookup host: no such host: cannot read http://host/disk.img: getaddrinfo ENOTFOUND host",
    ],
    [
      "refused connection",
      new SourceError("SOURCE_UNAVAILABLE", "cannot read x"),
      at("connect"),
      "Unable to connect to http data source: HTTP request errored: cannot read x",
    ],
    [
      "a proxy's refusal",
      new SourceError("SOURCE_DENIED", "the proxy says no", { context: { status: 407, proxy: true } }),
      at("connect"),
      "Unable to connect to http data source: HTTP request errored: the proxy says no",
    ],
    [
      "404 in the first phase",
      notFound,
      at("Info"),
      "Unable to connect to http data source: expected status code 200, got 404",
    ],
    ["503 later", notFound, at("Convert"), `${SCRATCH}failed to pull image: http://host/x answers`],
    [
      "too large, known at once",
      tooLarge,
      at("Info"),
      `${CONVERT}virtual image size 17592186044416 is larger than the reported available storage 104857600. A larger PVC is required`,
    ],
    ["too large, known late", tooLarge, at("Convert"), `${CONVERT}virtual image size 17592186044416 is larger`],
    [
      "too large, grown",
      tooLarge,
      at("Resize"),
      "Unable to process data: Unable to resize disk image to requested size: virtual image size 17592186044416 is larger",
    ],
    [
      "a device's end",
      new TargetError("TARGET_TOO_SMALL", "the disk does not fit d"),
      at("Transfer"),
      `${CONVERT}image is larger than the reported available storage: the disk does not fit d`,
    ],
    [
      "disk full",
      noSpace,
      at("Transfer"),
      "Unable to process data: Unable to transfer source data to target file: unable to write to file: no space left on device: cannot write",
    ],
    ["quota", noQuota, at("Convert"), `${CONVERT}unable to write to file: disk quota exceeded: cannot write`],
    ["an HTML page", html, at("Info"), `${HEADER}the source is an HTML page`],
    ["a body cut in its header", cut, at("Info"), `${HEADER}http://host/x ended`],
    ["a body cut later", cut, at("Transfer"), `${SCRATCH}failed to pull image: http://host/x ended`],
    [
      "a refused image",
      new FormatError("FORMAT_UNSUPPORTED", "it has a backing file"),
      at("Info"),
      `${CONVERT}it has a backing file`,
    ],
    [
      "a damaged image",
      new FormatError("FORMAT_CORRUPT", "a cluster is broken"),
      at("Transfer"),
      `${CONVERT}a cluster is broken`,
    ],
    [
      "no tar as archive",
      new FormatError("FORMAT_UNRECOGNISED", "no tar"),
      at("Transfer", { contentType: "archive" }),
      `${UNTAR}exit status 2: no tar`,
    ],
    [
      "an archive's checksum",
      mismatch,
      at("Transfer", { contentType: "archive" }),
      "Unable to process data: Unable to transfer source data to target directory: checksum validation failed: checksum mismatch: ",
    ],
    [
      "no such container image",
      new SourceError("SOURCE_NOT_FOUND", "manifest unknown"),
      at("connect", { source: "registry" }),
      `${REGISTRY}failed to pull image: manifest unknown`,
    ],
    [
      "a layer cut off",
      cut,
      at("Convert", { source: "registry" }),
      `${REGISTRY}failed to pull image: http://host/x ended`,
    ],
    [
      "an image without a disk",
      new FormatError("FORMAT_UNSUPPORTED", "bootc image detected"),
      at("connect", { source: "registry" }),
      `${REGISTRY}bootc image detected`,
    ],
    [
      "s3",
      new SourceError("SOURCE_DENIED", "403"),
      at("connect", { source: "s3" }),
      "Unable to connect to s3 data source: could not get s3 object: 403",
    ],
    [
      "gcs",
      new SourceError("SOURCE_NOT_FOUND", "gone"),
      at("connect", { source: "gcs" }),
      "Unable to connect to gcs data source: storage: object doesn't exist: gone",
    ],
    [
      "vddk",
      new UsageError("no library"),
      at("connect", { source: "vddk" }),
      "Unable to connect to vddk data source: no library",
    ],
    [
      "imageio",
      new SourceError("SOURCE_TLS", "no"),
      at("connect", { source: "imageio" }),
      "Unable to connect to imageio data source: no",
    ],
    [
      "ready file",
      new SourceError("SOURCE_UNAVAILABLE", "Timeout waiting for file /shared/ready"),
      at("choice"),
      "Timeout waiting for file /shared/ready",
    ],
    ["flush", new TargetError("TARGET_IO", "cannot flush"), at("Complete"), "Unable to process data: cannot flush"],
  ];
  for (const [name, error, site, start] of rows) {
    it(name, () => {
      const text = failureText(error, site);
      assert.ok(text.startsWith(start), text);
    });
  }
});

describe("failureText", () => {
  it("keeps qemu-img's words for a qcow2 that asks for too much memory", () => {
    const file = buildQcow2();
    file.writeUInt32BE(0x7fffffff, 36);
    const error = thrownBy(() => openImage(qcow2, file));
    assert.match(failureText(error, at("Info")), /^Unable to process data: .*: L1 size too big: l1_size is 2147483647/);
    const other = new FormatError("FORMAT_OUT_OF_BOUNDS", "too many", { context: { field: "other" } });
    assert.doesNotMatch(failureText(other, at("Info")), /L1/);
  });

  it("has what controllers look for, wherever it happens", () => {
    const marks: readonly [error: unknown, mark: string][] = [
      [tooLarge, "is larger than the reported available"],
      [noSpace, "no space left on device"],
      [noQuota, "disk quota exceeded"],
      [mismatch, "checksum mismatch"],
    ];
    for (const stage of STAGES) {
      for (const [error, mark] of marks) assert.ok(failureText(error, at(stage)).includes(mark), `${stage}: ${mark}`);
    }
  });

  it("calls nothing an image that cannot be pulled but what the source did", () => {
    const others = [tooLarge, noSpace, noQuota, mismatch, html, new Error("a bug"), new UsageError("no")];
    for (const stage of STAGES) {
      for (const source of ["http", "registry", "s3"]) {
        for (const error of others)
          assert.doesNotMatch(failureText(error, at(stage, { source })), /failed to pull image/);
      }
    }
    assert.match(failureText(cut, at("Transfer", { source: "s3" })), /failed to pull image/);
  });

  it("takes anything that was thrown, and an endpoint that is none", () => {
    assert.equal(failureText("odd", at("Complete")), "Unable to process data: odd");
    assert.match(failureText(unknownHost, at("connect", { endpoint: "::" })), /dial tcp: lookup: no such host/);
    const bare = new SourceError("SOURCE_CHECKSUM", "m");
    assert.match(failureText(bare, at("Transfer")), /checksum mismatch: expected unknown:unknown/);
    const layer = new SourceError("SOURCE_CHECKSUM", "layer 7 is another", { context: { of: "layer 7" } });
    assert.match(failureText(layer, at("Transfer")), /calculated unknown:unknown: layer 7 is another$/);
    const teapot = new SourceError("SOURCE_UNAVAILABLE", "m", { context: { status: 599 } });
    assert.match(failureText(teapot, at("connect")), /got 599\. Status: 599$/);
  });
});
