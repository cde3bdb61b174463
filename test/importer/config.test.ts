import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  hasOwnController,
  readConfig,
  refuseContentType,
  requireChecksum,
  requireEndpoint,
  requireSource,
  secretsOf,
  SOURCE_KINDS,
} from "../../importer/config.ts";
import type { Environment, WorkerConfig } from "../../importer/config.ts";
import { UsageError } from "../../importer/errors.ts";

function read(env: Environment = {}, secretHeaders: readonly string[] = []): WorkerConfig {
  return readConfig({ PREALLOCATION: "false", ...env }, secretHeaders);
}

function refusal(work: () => unknown): string {
  try {
    work();
  } catch (error) {
    assert.ok(error instanceof UsageError);
    return error.message;
  }
  return assert.fail("not refused");
}

describe("readConfig", () => {
  it("has a default for everything but the preallocation", () => {
    const nothing = undefined;
    assert.deepEqual(read(), {
      source: "",
      endpoint: "",
      contentType: "",
      imageSize: nothing,
      ownerUid: nothing,
      filesystemOverhead: 0,
      insecureTls: false,
      preallocation: false,
      directIo: false,
      accessKey: nothing,
      secretKey: nothing,
      sessionToken: nothing,
      googleCredentials: nothing,
      certDir: nothing,
      proxyCertDir: "/proxycerts/",
      proxy: { http: nothing, https: nothing, none: nothing },
      extraHeaders: [],
      checksum: nothing,
      architecture: nothing,
      nodePull: false,
      readyFile: nothing,
      doneFile: nothing,
      diskId: nothing,
      uuid: nothing,
      backingFile: nothing,
      thumbprint: nothing,
      checkpoint: { current: nothing, previous: nothing, final: nothing },
      nbdkitSocket: undefined,
      stallMs: 60_000,
      ownController: false,
    });
  });

  it("takes every variable", () => {
    const config = read(
      {
        IMPORTER_SOURCE: "http",
        IMPORTER_ENDPOINT: "https://host/disk.img",
        IMPORTER_CONTENTTYPE: "kubevirt",
        IMPORTER_IMAGE_SIZE: "1Gi",
        OWNER_UID: "uid",
        FILESYSTEM_OVERHEAD: "0.06",
        INSECURE_TLS: "true",
        PREALLOCATION: "true",
        CACHE_MODE: "TRYNONE",
        IMPORTER_ACCESS_KEY_ID: "user",
        IMPORTER_SECRET_KEY: " pass word ",
        IMPORTER_SESSION_TOKEN: "lent",
        GOOGLE_APPLICATION_CREDENTIALS: "/google/credentials.json",
        IMPORTER_CERT_DIR: "/certs",
        IMPORTER_PROXY_CERT_DIR: "/other/",
        http_proxy: "http://proxy:1",
        https_proxy: "http://proxy:2",
        no_proxy: "*",
        IMPORTER_EXTRA_HEADER_0: "X-Kind: disk",
        IMPORTER_CHECKSUM: "md5:00",
        IMPORTER_REGISTRY_IMAGE_ARCHITECTURE: "arm64",
        IMPORTER_PULL_METHOD: "node",
        IMPORTER_READY_FILE: "/shared/ready",
        IMPORTER_DONE_FILE: "/shared/done",
        IMPORTER_DISK_ID: "disk",
        IMPORTER_UUID: "machine",
        IMPORTER_BACKING_FILE: "[store] disk.vmdk",
        IMPORTER_THUMBPRINT: "AA:BB",
        IMPORTER_CURRENT_CHECKPOINT: "now",
        IMPORTER_PREVIOUS_CHECKPOINT: "before",
        IMPORTER_FINAL_CHECKPOINT: "true",
        DECANT_NBDKIT_SOCKET: "/nbd/vddk.sock",
        DECANT_STALL_SECONDS: "12.5",
        DECANT_CONTROLLER: "1",
      },
      ["X-Secret: s"],
    );
    assert.deepEqual(config, {
      source: "http",
      endpoint: "https://host/disk.img",
      contentType: "kubevirt",
      imageSize: 2 ** 30,
      ownerUid: "uid",
      filesystemOverhead: 0.06,
      insecureTls: true,
      preallocation: true,
      directIo: true,
      accessKey: "user",
      secretKey: " pass word ",
      sessionToken: "lent",
      googleCredentials: "/google/credentials.json",
      certDir: "/certs",
      proxyCertDir: "/other/",
      proxy: { http: "http://proxy:1", https: "http://proxy:2", none: "*" },
      extraHeaders: [
        { name: "X-Kind", value: "disk", secret: false },
        { name: "X-Secret", value: "s", secret: true },
      ],
      checksum: "md5:00",
      architecture: "arm64",
      nodePull: true,
      readyFile: "/shared/ready",
      doneFile: "/shared/done",
      diskId: "disk",
      uuid: "machine",
      backingFile: "[store] disk.vmdk",
      thumbprint: "AA:BB",
      checkpoint: { current: "now", previous: "before", final: "true" },
      nbdkitSocket: "/nbd/vddk.sock",
      stallMs: 12_500,
      ownController: true,
    });
  });

  it("has no limit of less than a thousandth of a second, and none for ever", () => {
    const rows = [
      ["0.001", 1],
      ["86400", 86_400_000],
      ["86401", 60_000],
      ["0", 60_000],
      ["0.0001", 60_000],
      ["-5", 60_000],
      ["1e3", 60_000],
      ["soon", 60_000],
    ] as const;
    for (const [text, ms] of rows) assert.equal(read({ DECANT_STALL_SECONDS: text }).stallMs, ms, text);
  });

  it("takes an empty variable for an unset one, but for the preallocation", () => {
    assert.deepEqual(read({ OWNER_UID: "", IMPORTER_IMAGE_SIZE: "", IMPORTER_CHECKSUM: "", http_proxy: "" }), read());
    assert.equal(
      refusal(() => readConfig({ PREALLOCATION: "" })),
      `PREALLOCATION "" is neither true nor false`,
    );
    assert.equal(
      refusal(() => readConfig({})),
      "PREALLOCATION is not set",
    );
  });

  it("knows truth as Go does", () => {
    for (const [expected, words] of [
      [true, ["1", "t", "T", "TRUE", "true", "True"]],
      [false, ["0", "f", "F", "FALSE", "false", "False"]],
    ] as const) {
      for (const word of words) {
        const { preallocation, insecureTls } = read({ PREALLOCATION: word, INSECURE_TLS: word });
        assert.deepEqual([preallocation, insecureTls], [expected, expected], word);
      }
    }
    for (const word of ["maybe", "yes", "no", "on", "tRUE", " true", "true ", "2", "constructor"]) {
      assert.match(
        refusal(() => read({ PREALLOCATION: word })),
        /^PREALLOCATION "/,
      );
      assert.equal(read({ INSECURE_TLS: word }).insecureTls, false, word);
    }
  });

  const sizes: readonly [text: string, size: number][] = [
    ["1138166334", 1138166334],
    ["1G", 1e9],
    ["1.5Ki", 1536],
    ["1e3", 1000],
    ["0", 0],
    ["100m", 1],
    ["8Ei", Number.MAX_SAFE_INTEGER],
  ];
  for (const [text, size] of sizes) {
    it(`takes ${text} for a size`, () => assert.equal(read({ IMPORTER_IMAGE_SIZE: text }).imageSize, size));
  }

  it("refuses any other size", () => {
    for (const text of ["xx", "1 Gi", "-1", "1GiB", "9".repeat(1000)]) {
      const message = refusal(() => read({ IMPORTER_IMAGE_SIZE: text }));
      assert.match(message, /^IMPORTER_IMAGE_SIZE "/);
      assert.ok(message.length < 200);
    }
  });

  const overheads: readonly [text: string, overhead: number][] = [
    ["0.06", 0.06],
    [".5", 0.5],
    ["1", 1],
    ["6e-2", 0.06],
    ["+0.1", 0.1],
    ["", 0],
    ["6%", 0],
    ["-0.5", 0],
    [" 0.06", 0],
    ["0,06", 0],
    ["NaN", 0],
    ["Infinity", 0],
    ["1e999", 0],
  ];
  for (const [text, overhead] of overheads) {
    it(`takes ${overhead} of the overhead "${text}"`, () => {
      assert.equal(read({ FILESYSTEM_OVERHEAD: text }).filesystemOverhead, overhead);
    });
  }

  it("knows one cache mode and one pull method, spelt exactly", () => {
    for (const text of ["trynone", "none", "TRYNONE "]) assert.equal(read({ CACHE_MODE: text }).directIo, false);
    for (const text of ["pod", "NODE"]) assert.equal(read({ IMPORTER_PULL_METHOD: text }).nodePull, false);
    for (const text of ["0", "true", ""]) assert.equal(hasOwnController({ DECANT_CONTROLLER: text }), false);
    assert.equal(hasOwnController({ DECANT_CONTROLLER: "1", PREALLOCATION: "maybe" }), true);
  });

  it("takes the proxies of either case, upper case first", () => {
    const lower = { http_proxy: "http://a", https_proxy: "http://b", no_proxy: "c" };
    const upper = { HTTP_PROXY: "http://A", HTTPS_PROXY: "http://B", NO_PROXY: "C" };
    assert.deepEqual(read(upper).proxy, { http: "http://A", https: "http://B", none: "C" });
    assert.deepEqual(read({ ...lower, ...upper }).proxy, read(upper).proxy);
    assert.deepEqual(read({ ...lower, HTTP_PROXY: "" }).proxy, { http: "http://a", https: "http://b", none: "c" });
  });

  it("takes headers in their order, the environment's first, and passes over what is none", () => {
    const { extraHeaders } = read(
      {
        IMPORTER_EXTRA_HEADER_1: "X-One: a:b ",
        IMPORTER_EXTRA_HEADER_0: "no header",
        IMPORTER_EXTRA_HEADER_: "X-Two:",
        IMPORTER_EXTRA_HEADERS: "X-Other: 1",
        IMPORTER_EXTRA_HEADER_2: "authorization: Bearer t",
      },
      ["X-Three: c\n", "nothing", "X-Four:d"],
    );
    assert.deepEqual(
      extraHeaders.map(({ name, value, secret }) => [name, value, secret]),
      [
        ["X-One", "a:b", false],
        ["X-Two", "", false],
        ["authorization", "Bearer t", true],
        ["X-Three", "c", true],
        ["X-Four", "d", true],
      ],
    );
  });

  it("is frozen through and through", () => {
    const freeze = (value: unknown): void => {
      if (typeof value !== "object" || value === null) return;
      assert.ok(Object.isFrozen(value));
      for (const inner of Object.values(value)) freeze(inner);
    };
    freeze(read({ IMPORTER_EXTRA_HEADER_0: "a: b" }));
  });
});

describe("requireSource", () => {
  it("knows seven, and says so of any other", () => {
    for (const source of SOURCE_KINDS) {
      assert.equal(requireSource(read({ IMPORTER_SOURCE: source, IMPORTER_CONTENTTYPE: "kubevirt" })), source);
    }
    assert.equal(
      refusal(() => requireSource(read({ IMPORTER_SOURCE: "glance" }))),
      "Unknown data source: glance",
    );
    assert.equal(
      refusal(() => requireSource(read())),
      "Unknown data source: ",
    );
    assert.equal(
      refusal(() => requireSource(read({ IMPORTER_SOURCE: "toString" }))),
      "Unknown data source: toString",
    );
  });

  it("makes no blank archive", () => {
    const config = read({ IMPORTER_SOURCE: "none", IMPORTER_CONTENTTYPE: "archive" });
    assert.equal(
      refusal(() => requireSource(config)),
      "Cannot create empty disk with content type archive",
    );
  });
});

describe("refuseContentType", () => {
  it("refuses archives of sources that have none, and leaves the rest to others", () => {
    for (const source of ["http", "s3", "gcs", "registry", "imageio", "vddk", "none", "glance"]) {
      for (const contentType of ["kubevirt", "archive", ""]) {
        const config = read({ IMPORTER_SOURCE: source, IMPORTER_CONTENTTYPE: contentType });
        const isRefused = contentType !== "kubevirt" && (source === "registry" || source === "imageio");
        if (isRefused)
          assert.match(
            refusal(() => refuseContentType(config)),
            /^content type ".*" is not supported/,
          );
        else refuseContentType(config);
      }
    }
  });
});

describe("requireEndpoint", () => {
  it("is the endpoint, or a refusal in the contract's words", () => {
    assert.equal(requireEndpoint(read({ IMPORTER_ENDPOINT: "docker://host/image" })), "docker://host/image");
    assert.equal(
      refusal(() => requireEndpoint(read())),
      'unable to parse endpoint "": endpoint "IMPORTER_ENDPOINT" is missing or blank',
    );
  });
});

describe("requireChecksum", () => {
  it("is undefined where none is asked for, and trims and lowers what is", () => {
    assert.equal(requireChecksum(read()), undefined);
    const hex = "AB".repeat(16);
    const expected = { algorithm: "md5", hex: hex.toLowerCase() };
    assert.deepEqual(requireChecksum(read({ IMPORTER_CHECKSUM: ` MD5 : ${hex} ` })), expected);
  });

  it("refuses in the contract's words", () => {
    const rows: readonly [text: string, message: RegExp][] = [
      [
        `sha256:${"0".repeat(65)}`,
        /^invalid checksum: invalid sha256 hash length: expected 64 hex characters, got 65$/,
      ],
      ["md5:", /^invalid checksum: invalid md5 hash length: expected 32 hex characters, got 0$/],
      [`md5:${"g".repeat(32)}`, /^invalid checksum: a md5 checksum has 32 hexadecimal digits$/],
      [`sha384:${"0".repeat(96)}`, /^invalid checksum: checksum "sha384:0+" is not of the form/],
      ["abc", /^invalid checksum: checksum "abc" is not of the form/],
    ];
    for (const [text, message] of rows) {
      assert.match(
        refusal(() => requireChecksum(read({ IMPORTER_CHECKSUM: text }))),
        message,
      );
    }
  });
});

describe("secretsOf", () => {
  it("finds passwords, secret headers and queries, wherever they were written", () => {
    const config = read(
      {
        IMPORTER_ENDPOINT: "https://user:p%40ss@host/disk?X-Amz-Signature=abc",
        IMPORTER_ACCESS_KEY_ID: "key-id",
        IMPORTER_SECRET_KEY: "secret-key",
        IMPORTER_SESSION_TOKEN: "lent-token",
        https_proxy: "http://user:proxy%zz@proxy:3128",
        IMPORTER_EXTRA_HEADER_0: "X-Kind: disk",
        IMPORTER_EXTRA_HEADER_1: "Cookie: crumb",
      },
      ["X-Any: hidden"],
    );
    const expected = [
      "secret-key",
      "lent-token",
      "crumb",
      "hidden",
      "p%40ss",
      "p@ss",
      "X-Amz-Signature=abc",
      "proxy%zz",
    ];
    assert.deepEqual([...secretsOf(config)].sort(), expected.sort());
    assert.deepEqual(secretsOf(read({ IMPORTER_ENDPOINT: "docker://host/image" })), []);
  });
});
