import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import fs from "node:fs";
import http from "node:http";
import type { IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { describe, it } from "node:test";
import { FormatError } from "../../../formats/errors.ts";
import { SourceError } from "../../../importer/errors.ts";
import { defaultHttpOptions } from "../../../importer/http/http-options.ts";
import type { HttpOptions } from "../../../importer/http/http-options.ts";
import { parseImageReference } from "../../../importer/oci/reference.ts";
import { RegistryStore } from "../../../importer/oci/registry-store.ts";
import type { RegistryLogin } from "../../../importer/oci/token-auth.ts";
import { errorText } from "../../../importer/outcome.ts";
import { buildArtifact, buildImage, buildLayer, digestOf, file } from "../../support/build-image.ts";
import type { BuiltImage } from "../../support/build-image.ts";
import { makeAuthority } from "../../support/certificates.ts";
import { readAll } from "../../support/http-client.ts";
import { withServer } from "../../support/misbehaving-server.ts";
import type { Misdeed } from "../../support/misbehaving-server.ts";
import { challenge, withStubRegistry } from "../../support/stub-registry.ts";
import type { StubRegistry, StubSettings } from "../../support/stub-registry.ts";
import { withTemporaryFolder } from "../../support/temporary-folder.ts";
import { requireTools } from "../../support/tools.ts";

const DISK = Buffer.from("d".repeat(300_000));
const IMAGE: BuiltImage = buildImage([buildLayer([file("disk/x", DISK)], "none")]);

interface StoreOptions {
  readonly http?: Partial<HttpOptions>;
  readonly login?: RegistryLogin;
  readonly insecure?: boolean;
  readonly asOneStream?: boolean;
}

async function withStore<T>(
  name: string,
  { http = {}, ...others }: StoreOptions,
  use: (store: RegistryStore) => Promise<T>,
): Promise<T> {
  const reference = parseImageReference(`docker://${name}`);
  assert.ok(reference.kind === "registry");
  const options = { login: undefined, insecure: false, ...others, http: { ...defaultHttpOptions, ...http } };
  const store = await RegistryStore.open(reference, options);
  try {
    return await use(store);
  } finally {
    store.close();
  }
}

/** The bytes of the image's only layer. */
async function readLayer(name: string, options: StoreOptions = {}): Promise<Buffer> {
  return await withStore(name, options, async (store) => {
    const root = await store.root();
    assert.ok(root.kind === "image" && root.layers[0] !== undefined);
    return await readAll((await store.blob(root.layers[0])).stream);
  });
}

async function serve<T>(misdeed: StubSettings["misdeed"], use: (registry: StubRegistry) => Promise<T>): Promise<T> {
  return await withStubRegistry({ images: { "a/b:v1": IMAGE }, ...(misdeed === undefined ? {} : { misdeed }) }, use);
}

async function fails(work: Promise<unknown>, code: string, text: RegExp): Promise<void> {
  await assert.rejects(work, (error) => {
    assert.ok(error instanceof SourceError || error instanceof FormatError, String(error));
    assert.equal(error.code, code, errorText(error));
    assert.match(errorText(error), text);
    return true;
  });
}

const layerDigest = [...IMAGE.blobs.keys()][0] ?? "";

describe("RegistryStore", () => {
  it("reads manifests by tag and by digest, and blobs", async () => {
    await serve(undefined, async ({ host, requests }) => {
      for (const name of [`${host}/a/b:v1`, `${host}/a/b@${IMAGE.digest}`]) {
        assert.equal(digestOf(await readLayer(name)), layerDigest);
      }
      const manifest = requests.find(({ path }) => path.includes("manifests/v1"));
      assert.match(String(manifest?.headers.accept), /image\.index\.v1\+json, .*distribution\.manifest\.v2\+json/);
    });
  });

  it("compares what is named by its digest with it", async () => {
    const changed = (path: string): Misdeed | undefined =>
      path.includes("sha256") ? { bytes: Buffer.from("{}") } : undefined;
    await serve(changed, async ({ host }) => {
      await fails(
        withStore(`${host}/a/b@${IMAGE.digest}`, {}, async (store) => await store.root()),
        "SOURCE_CHECKSUM",
        /manifest sha256/,
      );
      await withStore(`${host}/a/b:v1`, {}, async (store) => {
        const root = await store.root();
        assert.ok(root.kind === "image");
        await fails(store.document(root.config, 1000), "SOURCE_CHECKSUM", /^blob sha256:\w+ has the digest/);
        await fails(store.document(root.config, 10), "SOURCE_UNAVAILABLE", /more than 10/);
      });
    });
  });

  it("does not read a manifest of any length", async () => {
    const endless = (): Misdeed => ({ bytes: Buffer.alloc(5 << 20, " "), framing: "chunked" });
    await serve(
      (path) => (path.includes("manifests") ? endless() : undefined),
      async ({ host }) => {
        await fails(readLayer(`${host}/a/b:v1`), "SOURCE_UNAVAILABLE", /more than 4194304 bytes/);
      },
    );
  });

  it("R09: refuses schema 1 by name, whatever it is served as", async () => {
    const old = { bytes: Buffer.from(`{"schemaVersion":1,"fsLayers":[]}`), headers: { "content-type": "text/plain" } };
    await serve(
      (path) => (path.includes("manifests") ? old : undefined),
      async ({ host }) => {
        await fails(readLayer(`${host}/a/b:v1`), "FORMAT_UNSUPPORTED", /schema 1/);
      },
    );
  });

  it("repeats the registry's reason, not its sentence", async () => {
    const errors = { errors: [{ code: "MANIFEST_UNKNOWN", message: "hunter2", detail: {} }] };
    const answers: [unknown, number, string, RegExp][] = [
      [
        errors,
        404,
        "SOURCE_NOT_FOUND",
        /^reading manifest v2 in 127\.0\.0\.1:\d+\/a\/b: manifest unknown\. Check the name/,
      ],
      [{}, 403, "SOURCE_DENIED", /: the registry answers 403\. Check user and password/],
      [{ errors: [{ code: "<script>" }] }, 404, "SOURCE_NOT_FOUND", /: the registry answers 404/],
      [{ errors: 5 }, 400, "SOURCE_UNAVAILABLE", /: the registry answers 400$/],
    ];
    for (const [body, status, code, text] of answers) {
      await withRefusals(status, JSON.stringify(body), async (host) => {
        await fails(readLayer(`${host}/a/b:v2`), code, text);
      });
    }
    await serve(
      (path) => (path.includes("blobs") ? { status: 404 } : undefined),
      async ({ host }) => {
        await fails(
          readLayer(`${host}/a/b:v1`),
          "SOURCE_NOT_FOUND",
          /^reading blob sha256:\w+ in .*: the registry answers 404/,
        );
      },
    );
  });

  it("gets a token for a stranger, and a new one when it expires in the middle of a blob", async () => {
    let valid = "t1";
    const tokens = await withTokenServer(
      () => valid,
      async (realm, asked) => {
        const misdeed = (path: string, _: number, request: IncomingMessage): Misdeed | undefined => {
          if (request.headers.authorization !== `Bearer ${valid}`)
            return challenge(`Bearer realm="${realm}",service="stub"`);
          if (!path.includes("blobs") || asked.length > 1) return undefined;
          valid = "t2";
          return { cutAfter: 100_000 };
        };
        await serve(misdeed, async ({ host }) => {
          assert.equal(digestOf(await readLayer(`${host}/a/b:v1`)), layerDigest);
        });
        return asked;
      },
    );
    assert.deepEqual(
      tokens.map((query) => query.get("scope")),
      ["repository:a/b:pull", "repository:a/b:pull"],
    );
  });

  it("N11: sends neither token nor headers to the host that a blob is redirected to", async () => {
    await withServer({ bytes: IMAGE.blobs.get(layerDigest) ?? Buffer.alloc(0), etag: `"blob"` }, async (storage) => {
      await withTokenServer(
        () => "t",
        async (realm) => {
          const misdeed = (path: string, _: number, request: IncomingMessage): Misdeed | undefined => {
            if (request.headers.authorization !== "Bearer t") return challenge(`Bearer realm="${realm}"`);
            return path.includes("blobs")
              ? { status: 307, headers: { location: `${storage.origin}/x?sig=s` } }
              : undefined;
          };
          await serve(misdeed, async ({ host }) => {
            assert.equal(
              digestOf(await readLayer(`${host}/a/b:v1`, { http: { headers: [["X-Secret", "s"]] } })),
              layerDigest,
            );
          });
        },
      );
      assert.ok(storage.requests.length > 0);
      for (const { headers } of storage.requests) {
        assert.deepEqual([headers.authorization, headers["x-secret"]], [undefined, undefined]);
      }
    });
  });

  it("sends user and password where the registry asks for them itself", async () => {
    const login = { kind: "password", user: "me", password: "hunter2" } as const;
    const misdeed = (_: string, __: number, request: IncomingMessage): Misdeed | undefined => {
      return request.headers.authorization === undefined ? challenge(`Basic realm="stub"`) : undefined;
    };
    await serve(misdeed, async ({ host, requests }) => {
      assert.equal(digestOf(await readLayer(`${host}/a/b:v1`, { login })), layerDigest);
      const sent = new Set(requests.map(({ headers }) => headers.authorization));
      assert.deepEqual([...sent], [undefined, `Basic ${Buffer.from("me:hunter2").toString("base64")}`]);
      await fails(readLayer(`${host}/a/b:v1`), "SOURCE_DENIED", /the registry answers 401/);
    });
  });

  it("reads a large blob in several ranges at once and in order, or as one stream where that failed before", async () => {
    const large = randomBytes(5 * 1024 * 1024 + 77);
    const artifact = buildArtifact([{ bytes: large, diffId: "", mediaType: "application/x-disk" }]);
    await withStubRegistry({ images: { "a/b:v1": artifact } }, async ({ host, requests }) => {
      for (const [asOneStream, ranges] of [
        [false, 6],
        [true, 0],
      ] as const) {
        const before = requests.length;
        assert.ok((await readLayer(`${host}/a/b:v1`, { asOneStream })).equals(large));
        const blobs = requests.slice(before).filter((request) => request.path.includes("/blobs/"));
        assert.equal(blobs.filter(({ headers }) => headers.range !== undefined).length, ranges);
      }
    });
  });

  it(
    "believes only known certificates, unless it is told to believe any",
    { skip: requireTools("openssl") },
    async () => {
      await withTemporaryFolder(async (folder) => {
        const authority = makeAuthority(folder);
        const tls = authority.issue("DNS:localhost", "IP:127.0.0.1");
        const folders = path.join(folder, "trusted");
        fs.mkdirSync(folders);
        fs.writeFileSync(path.join(folders, "ca.pem"), authority.certificate);
        await withStubRegistry({ images: { "a/b:v1": IMAGE }, tls }, async ({ host }) => {
          const name = `${host}/a/b:v1`;
          await fails(readLayer(name), "SOURCE_TLS", /was refused/);
          const trust = { folders: [folders], insecure: false };
          assert.equal(digestOf(await readLayer(name, { http: { trust } })), layerDigest);
          assert.equal(digestOf(await readLayer(name, { insecure: true })), layerDigest);
        });
      });
    },
  );

  it("speaks plain http with this machine and with registries that are called insecure, no other", async () => {
    await serve(undefined, async ({ host }) => {
      const port = host.split(":")[1] ?? "";
      // The same address as no list of names for this machine has it.
      const elsewhere = `127.1:${port}/a/b:v1`;
      await fails(readLayer(elsewhere), "SOURCE_TLS", /TLS connection/);
      assert.equal(digestOf(await readLayer(elsewhere, { insecure: true })), layerDigest);
      assert.equal(digestOf(await readLayer(`localhost:${port}/a/b:v1`)), layerDigest);
    });
  });
});

/** A server that answers everything with a status and a body. */
async function withRefusals(status: number, body: string, use: (host: string) => Promise<void>): Promise<void> {
  const server = http.createServer((_, response) => response.writeHead(status).end(body));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    await use(`127.0.0.1:${(server.address() as AddressInfo).port}`);
  } finally {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
}

/** Gives out the token of the moment. @returns what `use` did */
async function withTokenServer<T>(
  token: () => string,
  use: (realm: string, asked: readonly URLSearchParams[]) => Promise<T>,
): Promise<T> {
  const asked: URLSearchParams[] = [];
  const misdeed = (_: number, request: { url?: string | undefined }): Misdeed => {
    asked.push(new URL(request.url ?? "", "http://x").searchParams);
    return { bytes: Buffer.from(JSON.stringify({ token: token(), expires_in: 60 })) };
  };
  return await withServer(
    { bytes: Buffer.alloc(0), misdeed },
    async ({ origin }) => await use(`${origin}/token`, asked),
  );
}
