/**
 * Disks in container images, out of a real registry and real archives, poured by the program itself.
 */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { before, describe, it } from "node:test";
import zlib from "node:zlib";
import { baseDisk } from "../support/base-disk.ts";
import {
  buildArtifact,
  buildImage,
  buildIndex,
  buildLayer,
  digestOf,
  file,
  symbolicLink,
  writeLayout,
} from "../support/build-image.ts";
import type { BuiltImage, BuiltLayer } from "../support/build-image.ts";
import { makeAuthority } from "../support/certificates.ts";
import { HTPASSWD, pushImage, signToken, withDockerRegistry } from "../support/docker-registry.ts";
import type { DockerRegistry, RegistrySettings } from "../support/docker-registry.ts";
import { withServer } from "../support/misbehaving-server.ts";
import { imageOf } from "../support/qemu-images.ts";
import { runDecant } from "../support/run-decant.ts";
import { withTemporaryFolder } from "../support/temporary-folder.ts";
import { requireTools } from "../support/tools.ts";

const DISK = baseDisk(8 * 1024 * 1024);
const MIB = 1024 * 1024;

const skip = requireTools("docker-registry", "qemu-img");
const skopeo = requireTools("skopeo");

interface Outcome {
  readonly status: number | null;
  readonly stderr: string;
  /** The disk that was written; undefined: there is none. */
  readonly disk: Buffer | undefined;
}

async function convert(
  source: string,
  options: readonly string[] = [],
  env: Record<string, string> = {},
): Promise<Outcome> {
  return await withTemporaryFolder(async (folder) => {
    const target = path.join(folder, "disk.raw");
    // Nobody's credentials but the test's.
    const home = { HOME: folder, XDG_RUNTIME_DIR: folder, DOCKER_CONFIG: folder, REGISTRY_AUTH_FILE: "" };
    const { status, stderr } = await runDecant(["convert", ...options, source, target], { env: { ...home, ...env } });
    return { status, stderr, disk: fs.existsSync(target) ? fs.readFileSync(target) : undefined };
  });
}

async function pours(source: string, options: readonly string[] = [], env: Record<string, string> = {}): Promise<void> {
  const { status, stderr, disk } = await convert(source, options, env);
  assert.equal(status, 0, stderr);
  assert.ok(disk?.equals(DISK), "another disk");
  assert.ok(!stderr.includes("hunter2"), stderr);
}

async function refuses(
  source: string,
  status: number,
  text: RegExp,
  options: readonly string[] = [],
  env: Record<string, string> = {},
): Promise<void> {
  const outcome = await convert(source, options, env);
  assert.match(outcome.stderr, text);
  assert.equal(outcome.status, status, outcome.stderr);
  assert.equal(outcome.disk, undefined);
  assert.ok(!outcome.stderr.includes("hunter2"), outcome.stderr);
}

/** A registry with images in it, guarded by `settings` once they are there. */
async function withImages(
  images: Readonly<Record<string, BuiltImage>>,
  settings: RegistrySettings,
  use: (registry: DockerRegistry, folder: string) => Promise<void>,
): Promise<void> {
  await withTemporaryFolder(async (folder) => {
    await withDockerRegistry(folder, {}, async (registry) => {
      for (const [name, image] of Object.entries(images)) {
        const [repository = "", tag = ""] = name.split(":");
        await pushImage(registry.host, repository, tag, image);
      }
      if (Object.keys(settings).length === 0) await use(registry, folder);
    });
    if (Object.keys(settings).length > 0)
      await withDockerRegistry(folder, settings, async (registry) => await use(registry, folder));
  });
}

describe("decant convert docker://", { skip }, () => {
  let qcow2: Buffer;
  let image: BuiltImage;

  before(() => {
    qcow2 = imageOf(DISK, "qcow2");
    image = buildImage([buildLayer([{ name: "disk/", type: "5" }, file("disk/my disk ü.qcow2", qcow2)])]);
  });

  it("pours a containerDisk by tag and by digest, and tells what came", async () => {
    await withImages({ "team/disk:v1": image }, {}, async ({ host }) => {
      await pours(`docker://${host}/team/disk:v1`);
      await pours(`http://${host}/team/disk@${image.digest}`, ["--source", "registry"]);
      const { stdout } = await runDecant(["convert", "--json", `docker://${host}/team/disk:v1`, "null:"]);
      const result = JSON.parse(stdout) as { readonly bytesRead: number; readonly format: string };
      assert.equal(result.format, "qcow2");
      assert.equal(result.bytesRead, [...image.blobs.values()][0]?.length);
      const inspected = await runDecant(["inspect", "--json", `docker://${host}/team/disk:v1`]);
      assert.equal(
        (JSON.parse(inspected.stdout) as { virtualSize: number }).virtualSize,
        DISK.length,
        inspected.stderr,
      );
      const missing = /reading manifest v2 in 127\.0\.0\.1:\d+\/team\/disk: manifest unknown/;
      await refuses(`docker://${host}/team/disk:v2`, 5, missing);
    });
  });

  it("R02, R04: takes the topmost version, follows links, and refuses two disks", async () => {
    const old = buildLayer([file("disk/x.qcow2", "old"), file("disk/y.qcow2", "old too")]);
    const images = {
      "replaced:v1": buildImage([
        old,
        buildLayer([file("./disk/x.qcow2", qcow2), file("./disk/.wh.y.qcow2", "")]),
        buildLayer([]),
      ]),
      "linked:v1": buildImage([
        buildLayer([file("srv/x.qcow2", qcow2)]),
        buildLayer([symbolicLink("disk/x", "../../srv/x.qcow2")]),
      ]),
      "two:v1": buildImage([buildLayer([file("disk/a.qcow2", qcow2), file("disk/b.qcow2", qcow2)])]),
      "astray:v1": buildImage([buildLayer([symbolicLink("disk/x", "../../../../etc/passwd")])]),
    };
    await withImages(images, {}, async ({ host }) => {
      await pours(`docker://${host}/replaced:v1`);
      await pours(`docker://${host}/linked:v1`);
      await refuses(
        `docker://${host}/two:v1`,
        3,
        /2 files in its folder \/disk: "disk\/a.qcow2", "disk\/b.qcow2".*--member/,
      );
      await pours(`docker://${host}/two:v1`, ["--member", "b.qcow2"]);
      await refuses(`docker://${host}/astray:v1`, 3, /holds no file "\/etc\/passwd"/);
    });
  });

  it("R05: unpacks layers by their content", async () => {
    const zstd = buildLayer([file("disk/x.qcow2", qcow2)], "zstd", "application/vnd.oci.image.layer.v1.tar+gzip");
    const packed = buildLayer([file("disk/x.qcow2.gz", zlib.gzipSync(qcow2))]);
    const images = {
      "zstd:v1": buildImage([zstd]),

      "packed:v1": buildImage([packed]),
    };
    await withImages(images, {}, async ({ host }) => {
      for (const name of Object.keys(images)) await pours(`docker://${host}/${name}`);
    });
  });

  it("R06: chooses the platform", async () => {
    const other = buildImage([buildLayer([file("disk/x", "other")])], { architecture: "arm64" });
    const platform = (architecture: string) => ({ platform: { os: "linux", architecture } });
    const index = buildIndex([
      { image: other, fields: platform("arm64") },
      { image, fields: platform("amd64") },
    ]);
    await withImages({ "a:v1": index, "b:v1": image }, {}, async ({ host }) => {
      await pours(`docker://${host}/a:v1`, ["--architecture", "amd64"]);
      const none =
        /no image found in image index for architecture "s390x", variant "", OS "linux"\. It has "linux\/arm64", "linux\/amd64"/;
      await refuses(`docker://${host}/a:v1`, 3, none, ["--architecture", "s390x"]);
      const wrong =
        /Error validating architecture: manifest image architecture: "amd64" doesn't match requested architecture: "arm64"/;
      await refuses(`docker://${host}/b:v1`, 3, wrong, ["--architecture", "arm64"]);
    });
  });

  it("R07: pours artifacts, also packed, and in ranges where they are large", async () => {
    const blob = (bytes: Buffer, title: string): BuiltLayer => {
      return {
        bytes,
        diffId: "",
        mediaType: "application/vnd.test.disk",
        annotations: { "org.opencontainers.image.title": title },
      };
    };
    const images = {
      "raw:v1": buildArtifact([blob(DISK, "disk.raw")]),
      "zstd:v1": buildArtifact([blob(zlib.zstdCompressSync(DISK), "disk.raw.zst")]),
      "two:v1": buildArtifact([blob(qcow2, "disk.qcow2"), blob(Buffer.from("read me"), "README")]),
    };
    await withImages(images, {}, async ({ host, log }) => {
      for (const name of ["raw:v1", "zstd:v1"]) await pours(`docker://${host}/${name}`);
      await refuses(`docker://${host}/two:v1`, 3, /the artifact holds 2 files: "disk.qcow2", "README"/);
      await pours(`docker://${host}/two:v1`, ["--member", "disk.qcow2"]);
      assert.match(log(), /http.response.status=206/);
      await pours(`docker://${host}/raw@${images["raw:v1"].digest}`);
    });
  });

  it("refuses bootc images", async () => {
    const bootc = buildImage([buildLayer([file("disk/x.qcow2", qcow2)])], { labels: { "containers.bootc": "1" } });
    await withImages({ "bootc:v1": bootc }, {}, async ({ host }) => {
      await refuses(`docker://${host}/bootc:v1`, 3, /bootc image detected: /);
    });
  });

  it("finds the password in docker's file", async () => {
    await withImages({ "a:v1": image }, { htpasswd: HTPASSWD }, async ({ host }, folder) => {
      const config = path.join(folder, "auth.json");
      const auth = (password: string): void => {
        fs.writeFileSync(
          config,
          JSON.stringify({ auths: { [host]: { auth: Buffer.from(`me:${password}`).toString("base64") } } }),
        );
      };
      auth("hunter2");
      await pours(`docker://${host}/a:v1`, [], { REGISTRY_AUTH_FILE: config });
      auth("wrong");
      await refuses(`docker://${host}/a:v1`, 5, /unauthorized.*Check user and password/, [], {
        REGISTRY_AUTH_FILE: config,
      });
    });
  });

  it("gets a token that the registry verifies", { skip: requireTools("openssl") }, async () => {
    await withTemporaryFolder(async (keys) => {
      const authority = makeAuthority(keys);
      const signer = authority.issue("DNS:localhost");
      const misdeed = () => ({ bytes: Buffer.from(JSON.stringify({ token: signToken("a", signer) })) });
      await withServer({ bytes: Buffer.alloc(0), misdeed }, async (tokens) => {
        const token = { realm: `${tokens.origin}/token`, authority: authority.certificate };
        await withImages({ "a:v1": image, "b:v1": image }, { token }, async ({ host }) => {
          await pours(`docker://${host}/a:v1`);
          assert.match(tokens.requests[0]?.path ?? "", /service=decant\+test\+registry&scope=repository%3Aa%3Apull/);
          await refuses(`docker://${host}/b:v1`, 5, /unauthorized|denied/);
        });
      });
    });
  });

  it(
    "believes a certificate that it is given, and any if it is told to",
    { skip: requireTools("openssl") },
    async () => {
      await withTemporaryFolder(async (keys) => {
        const authority = makeAuthority(keys);
        await withImages({ "a:v1": image }, { tls: authority.issue("IP:127.0.0.1") }, async ({ host }) => {
          await refuses(`docker://${host}/a:v1`, 5, /TLS connection .* was refused/);
          await pours(`docker://${host}/a:v1`, ["--cacert", path.join(keys, "ca.pem")]);
          await pours(`docker://${host}/a:v1`, ["--insecure"]);
        });
      });
    },
  );

  it("C19: leaves the holes of a dense layer out of the disk", { skip: requireTools("tar", "zstd") }, async () => {
    await withTemporaryFolder(async (folder) => {
      fs.mkdirSync(path.join(folder, "disk"));
      const raw = path.join(folder, "disk", "disk.img");
      fs.writeFileSync(raw, DISK);
      fs.truncateSync(raw, 256 * MIB);
      execFileSync("sh", ["-c", "tar cf layer.tar disk && zstd -q -1 layer.tar"], { cwd: folder });
      const bytes = fs.readFileSync(path.join(folder, "layer.tar.zst"));
      const diffId = digestOf(fs.readFileSync(path.join(folder, "layer.tar")));
      await withImages({ "a:v1": buildImage([{ bytes, diffId }]) }, {}, async ({ host }) => {
        const target = path.join(folder, "target.raw");
        const { status, stderr } = await runDecant(["convert", `docker://${host}/a:v1`, target]);
        assert.equal(status, 0, stderr);
        const { size, blocks } = fs.statSync(target);
        assert.equal(size, 256 * MIB);
        assert.ok(blocks * 512 <= DISK.length + MIB, `${blocks * 512} bytes are allocated`);
      });
    });
  });
});

describe("decant convert oci-archive:", { skip: skip || skopeo }, () => {
  it("reads what skopeo writes, by name and alone", async () => {
    await withTemporaryFolder(async (folder) => {
      const image = buildImage([buildLayer([file("disk/x.raw", DISK)])]);
      writeLayout(path.join(folder, "layout"), [{ tag: "v1", image }]);
      const archive = path.join(folder, "image.tar");
      execFileSync("skopeo", [
        "--insecure-policy",
        "copy",
        "-q",
        `oci:${folder}/layout:v1`,
        `oci-archive:${archive}:v1`,
      ]);
      await pours(`oci-archive:${archive}`);
      await pours(`oci-archive:${archive}:v1`);
      await refuses(`oci-archive:${archive}:v2`, 3, /holds no image "v2".*It has "v1"/);
      const zstd = ["--dest-compress-format", "zstd", "--dest-compress"];
      await withDockerRegistry(folder, {}, async ({ host }) => {
        const pushed = `docker://${host}/a:v1`;
        execFileSync("skopeo", [
          "--insecure-policy",
          "copy",
          "-q",
          "--dest-tls-verify=false",
          ...zstd,
          `oci-archive:${archive}:v1`,
          pushed,
        ]);
        await pours(pushed);
      });
    });
  });

  it("honours the whiteouts that umoci writes", { skip: requireTools("umoci", "tar") }, async () => {
    await withTemporaryFolder(async (folder) => {
      const run = (...args: string[]): void => {
        execFileSync("umoci", args, { cwd: folder, stdio: ["ignore", "ignore", "pipe"] });
      };
      fs.writeFileSync(path.join(folder, "old.raw"), "old");
      fs.writeFileSync(path.join(folder, "disk.raw"), DISK);
      run("init", "--layout", "layout");
      run("new", "--image", "layout:v1");
      run("insert", "--rootless", "--image", "layout:v1", "old.raw", "/disk/old.raw");
      run("insert", "--rootless", "--image", "layout:v1", "disk.raw", "/disk/disk.raw");
      run("insert", "--rootless", "--image", "layout:v1", "--tag", "gone", "--whiteout", "/disk/disk.raw");
      run("insert", "--rootless", "--image", "layout:gone", "--whiteout", "/disk");
      execFileSync("tar", ["cf", "../image.tar", "."], { cwd: path.join(folder, "layout") });
      const archive = path.join(folder, "image.tar");
      await pours(`oci-archive:${archive}:v1`);
      await refuses(`oci-archive:${archive}:gone`, 3, /Failed to find VM disk image file/);
    });
  });
});
