import assert from "node:assert/strict";
import type { IncomingMessage } from "node:http";
import { describe, it } from "node:test";
import zlib from "node:zlib";
import { FormatError } from "../../../formats/errors.ts";
import { SourceError, UsageError } from "../../../importer/errors.ts";
import { defaultHttpOptions } from "../../../importer/http/http-options.ts";
import { errorText } from "../../../importer/outcome.ts";
import { openContainerImage } from "../../../importer/sources/container-image.ts";
import type { ContainerImage, ContainerImageOptions } from "../../../importer/sources/container-image.ts";
import { buildArtifact, buildImage, buildIndex, buildLayer, digestOf, file } from "../../support/build-image.ts";
import type { BuiltImage, BuiltLayer } from "../../support/build-image.ts";
import { readAll } from "../../support/http-client.ts";
import type { Misdeed } from "../../support/misbehaving-server.ts";
import { challenge, withStubRegistry } from "../../support/stub-registry.ts";
import type { StubRegistry, StubSettings } from "../../support/stub-registry.ts";

type Options = Partial<ContainerImageOptions>;

function containerDisk(content: string, fields: Parameters<typeof buildImage>[1] = {}): BuiltImage {
  return buildImage([buildLayer([file("disk/x.img", content)])], fields);
}

async function open(name: string, options: Options = {}): Promise<ContainerImage> {
  return await openContainerImage(name, { http: defaultHttpOptions, env: {}, ...options });
}

async function withImage<T>(
  image: BuiltImage,
  use: (name: string, registry: StubRegistry) => Promise<T>,
  misdeed?: StubSettings["misdeed"],
): Promise<T> {
  const settings = { images: { "a/b:v1": image }, ...(misdeed === undefined ? {} : { misdeed }) };
  return await withStubRegistry(settings, async (registry) => await use(`docker://${registry.host}/a/b:v1`, registry));
}

async function read(image: BuiltImage, options: Options = {}): Promise<string> {
  return await withImage(image, async (name) => {
    const source = await open(name, options);
    try {
      return (await readAll(source.stream())).toString();
    } finally {
      source.close();
    }
  });
}

async function refused(work: Promise<unknown>, code: string, text: RegExp): Promise<void> {
  await assert.rejects(work, (error) => {
    assert.ok(error instanceof FormatError || error instanceof SourceError, String(error));
    assert.equal(error.code, code, errorText(error));
    assert.match(errorText(error), text);
    return true;
  });
}

describe("openContainerImage", () => {
  it("gives the disk, its size, and the environment for labels", async () => {
    const environment = ["PATH=/bin", "INSTANCETYPE_KUBEVIRT_IO_DEFAULT_PREFERENCE=fedora"];
    await withImage(containerDisk("the disk", { environment }), async (name) => {
      const source = await open(name);
      assert.deepEqual([source.name, source.path, source.size, source.file], [name, undefined, 8, undefined]);
      assert.deepEqual(source.environment, environment);
      assert.equal((await readAll(source.stream())).toString(), "the disk");
      source.close();
      const again = await source.reopen?.();
      assert.equal(again === undefined ? "" : (await readAll(again.stream())).toString(), "the disk");
      again?.close();
    });
  });

  it("K10: counts the layers' bytes as they are stored, up to the sum of those that are read", async () => {
    const layers = [[file("base", "no")], [file("disk/x", "x".repeat(1 << 20))], [file("top", "no")]].map((entries) =>
      buildLayer(entries),
    );
    await withImage(buildImage(layers), async (name) => {
      const source = await open(name);
      const total = (layers[1]?.bytes.length ?? 0) + (layers[2]?.bytes.length ?? 0);
      assert.equal(source.transferred?.().total, total);
      await readAll(source.stream());
      const transferred = source.transferred?.();
      assert.ok(transferred !== undefined && transferred.waitedMs > 0);
      assert.equal(transferred.bytes, total);
      source.close();
    });
  });

  it("chooses the platform, and says which there are", async () => {
    const [amd, arm] = [
      containerDisk("amd", { architecture: "amd64" }),
      containerDisk("arm", { architecture: "arm64" }),
    ];
    const platform = (architecture: string) => ({ platform: { os: "linux", architecture } });
    const index = buildIndex([
      { image: amd, fields: platform("amd64") },
      { image: arm, fields: platform("arm64") },
    ]);
    assert.deepEqual(
      [await read(index, { architecture: "amd64" }), await read(index, { architecture: "arm64" })],
      ["amd", "arm"],
    );
    const text =
      /^no image found in image index for architecture "s390x", variant "", OS "linux"\. It has "linux\/amd64"/;
    await refused(read(index, { architecture: "s390x" }), "FORMAT_UNSUPPORTED", text);
    const mismatch =
      /^Error validating architecture: manifest image architecture: "amd64" doesn't match requested architecture: "arm64"$/;
    await refused(read(amd, { architecture: "arm64" }), "FORMAT_UNSUPPORTED", mismatch);
    assert.deepEqual([await read(amd), await read(arm)], ["amd", "arm"]);
    let nested = index;
    for (let depth = 0; depth < 5; depth++) nested = buildIndex([{ image: nested, fields: platform("amd64") }]);
    await refused(read(nested, { architecture: "amd64" }), "FORMAT_OUT_OF_BOUNDS", /more than 4 indexes/);
  });

  it("refuses bootc images before it asks for a layer", async () => {
    await withImage(containerDisk("root", { labels: { "containers.bootc": "1" } }), async (name, { requests }) => {
      await refused(open(name), "FORMAT_UNSUPPORTED", /^bootc image detected: /);
      assert.equal(requests.filter(({ path }) => path.includes("/blobs/")).length, 1);
    });
  });

  it("says so where there is no disk, or where there are two", async () => {
    const none = buildImage([buildLayer([file("etc/x", "")])]);
    await refused(read(none), "FORMAT_UNRECOGNISED", /^Failed to find VM disk image file in the container image/);
    const two = buildImage([buildLayer([file("disk/a", "A"), file("disk/b", "B")])]);
    await refused(read(two), "FORMAT_UNSUPPORTED", /"disk\/a", "disk\/b".*--member/);
    assert.equal(await read(two, { member: "b" }), "B");
  });

  it("R07: takes an artifact's blob as it is, the only one or the one that is named", async () => {
    const blob = (content: Buffer, title: string): BuiltLayer => {
      return {
        bytes: content,
        diffId: "",
        mediaType: "application/x",
        annotations: { "org.opencontainers.image.title": title },
      };
    };
    const packed = zlib.gzipSync("packed");
    const two = buildArtifact([blob(Buffer.from("raw"), "disk.raw"), blob(packed, "disk.raw.gz")]);
    assert.equal(await read(two, { member: "disk.raw" }), "raw");
    assert.equal(await read(two, { member: digestOf(Buffer.from("raw")) }), "raw");
    await refused(read(two), "FORMAT_UNSUPPORTED", /"disk.raw", "disk.raw.gz"/);
    await withImage(buildArtifact([blob(packed, "x")]), async (name) => {
      const source = await open(name);
      assert.deepEqual([source.size, source.transferred?.(), source.environment], [packed.length, undefined, []]);
      assert.equal(source.ranges, undefined, "nobody would see the whole to hash it");
      assert.deepEqual(await readAll(source.stream()), packed);
      source.close();
    });
  });

  it("fails at the end of a blob that is another one", async () => {
    const changed = (path: string): Misdeed | undefined =>
      path.includes("/blobs/") ? { bytes: Buffer.from("wrong") } : undefined;
    const artifact = buildArtifact([{ bytes: Buffer.from("right"), diffId: "", mediaType: "application/x" }]);
    const work = withImage(artifact, async (name) => await readAll((await open(name)).stream()), changed);
    await refused(work, "SOURCE_CHECKSUM", /^blob sha256:\w+ has the digest/);
  });

  it("R11: takes user and password as they are, or out of a pull secret", async () => {
    const wanted = `Basic ${Buffer.from("me:hunter2").toString("base64")}`;
    const guarded = (_: string, __: number, { headers }: IncomingMessage): Misdeed | undefined => {
      return headers.authorization === wanted ? undefined : challenge(`Basic realm="stub"`);
    };
    await withImage(
      containerDisk("the disk"),
      async (name, { host }) => {
        const secret = JSON.stringify({ auths: { [host]: { username: "me", password: "hunter2" } } });
        const auth = (password: string) => ({
          ...defaultHttpOptions,
          auth: { kind: "basic" as const, user: "me", password },
        });
        const ways: Options[] = [
          { login: { kind: "password", user: "me", password: "hunter2" } },
          { http: auth("hunter2") },
          { http: auth(secret) },
          { pullSecret: secret },
          { http: auth("hunter2"), pullSecret: "hunter2" },
        ];
        for (const way of ways) {
          const source = await open(name, way);
          assert.equal((await readAll(source.stream())).toString(), "the disk");
          source.close();
        }
        await refused(open(name), "SOURCE_DENIED", /the registry answers 401/);
        await refused(open(name, { pullSecret: `{"auths":{}}` }), "SOURCE_DENIED", /the registry answers 401/);
        const helper = `{"auths":{},"credsStore":"desktop"}`;
        await refused(
          open(name, { pullSecret: helper }),
          "SOURCE_DENIED",
          /leaves the password to the program "desktop"/,
        );
      },
      guarded,
    );
  });

  it("refuses names and archives that are none", async () => {
    await assert.rejects(open("docker://A"), UsageError);
    await assert.rejects(open("oci-archive:/no/such/file"), SourceError);
  });
});
