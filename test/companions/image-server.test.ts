/**
 * The image server as a stranger to everything: it serves one file and its environment, whatever it is asked for, and needs
 * nothing of the image that it runs in.
 */
import assert from "node:assert/strict";
import fs from "node:fs";
import http from "node:http";
import net from "node:net";
import os from "node:os";
import path from "node:path";
import { describe, it } from "node:test";
import { buildImageServer, withImageServer } from "../support/image-server.ts";
import type { ImageServer, ImageServerOptions } from "../support/image-server.ts";
import { sampleBytes, samples } from "../support/images.ts";
import { runDecant } from "../support/run-decant.ts";
import { withTemporaryFolder } from "../support/temporary-folder.ts";
import { requireRoot, requireTools } from "../support/tools.ts";

const program = await buildImageServer();
const bytes = sampleBytes("qcow2/two-partitions.qcow2");

interface Pod {
  readonly root: string;
  readonly disk: string;
  readonly shared: string;
}

/** The two volumes of a pod, the disk in one of them. */
async function inPod<T>(name: string, use: (pod: Pod) => Promise<T>): Promise<T> {
  return await withTemporaryFolder(async (root) => {
    const pod = { root, disk: path.join(root, "disk"), shared: path.join(root, "shared") };
    fs.mkdirSync(pod.disk);
    fs.mkdirSync(pod.shared);
    if (name !== "") fs.writeFileSync(path.join(pod.disk, name), bytes);
    return await use(pod);
  });
}

async function serving<T>(
  name: string,
  use: (server: ImageServer, pod: Pod) => Promise<T>,
  options: Partial<ImageServerOptions> = {},
): Promise<T> {
  return await inPod(name, async (pod) => {
    const all = { imageFolder: pod.disk, shared: pod.shared, ...options };
    return await withImageServer(program.path, all, async (server) => await use(server, pod));
  });
}

/** `target` is sent as it is, where fetch would tidy it. */
async function rawStatus(server: ImageServer, target: string, method = "GET"): Promise<number | undefined> {
  const { hostname, port } = new URL(server.origin());
  return await new Promise((resolve, reject) => {
    const request = http.request({ hostname, port, method, path: target, agent: false }, (answer) => {
      answer.resume().on("end", () => resolve(answer.statusCode));
    });
    request.on("error", reject).end();
  });
}

async function body(answer: Response): Promise<Buffer> {
  return Buffer.from(await answer.arrayBuffer());
}

describe("image server", { skip: program.skip }, () => {
  it("says that it is ready with the file's name, for its user only, when it can be asked", async () => {
    await serving("my disk.qcow2", async (server, { shared }) => {
      const ready = path.join(shared, "ready");
      assert.equal(fs.readFileSync(ready, "utf8"), "my disk.qcow2");
      assert.equal(fs.statSync(ready).mode & 0o777, 0o600);
      assert.deepEqual(fs.readdirSync(shared), ["ready"]);
      const answer = await fetch(`${server.origin()}/my%20disk.qcow2`);
      assert.equal(answer.status, 200);
      assert.ok((await body(answer)).equals(bytes));
    });
  });

  it("serves ranges of what its validators name", async () => {
    await serving("disk.img", async (server) => {
      const url = `${server.origin()}/disk.img`;
      const head = await fetch(url, { method: "HEAD" });
      const etag = head.headers.get("etag") ?? "";
      assert.match(etag, /^"[0-9a-f]+-[0-9a-f]+"$/);
      assert.ok(Date.parse(head.headers.get("last-modified") ?? "") > 0);
      assert.equal(head.headers.get("accept-ranges"), "bytes");
      assert.equal(head.headers.get("content-length"), String(bytes.length));
      assert.equal(head.headers.get("content-type"), "application/octet-stream");

      const part = await fetch(url, { headers: { range: "bytes=100-299", "if-range": etag } });
      assert.equal(part.status, 206);
      assert.equal(part.headers.get("content-range"), `bytes 100-299/${bytes.length}`);
      assert.ok((await body(part)).equals(bytes.subarray(100, 300)));

      const other = await fetch(url, { headers: { range: "bytes=100-299", "if-range": '"other"' } });
      assert.equal(other.status, 200);
      assert.ok((await body(other)).equals(bytes));

      const beyond = await fetch(url, { headers: { range: `bytes=${bytes.length}-` } });
      assert.equal(beyond.status, 416);
    });
  });

  it("tells its environment as JSON", async () => {
    const env = { INSTANCETYPE_KUBEVIRT_IO_DEFAULT_INSTANCETYPE: "u1.small", TEXT: 'a "quoted" = ü' };
    await serving(
      "disk.img",
      async (server) => {
        const info = (await (await fetch(`${server.origin()}/info`)).json()) as { env: string[] };
        assert.deepEqual(Object.keys(info), ["env"]);
        for (const [name, value] of Object.entries(env)) assert.ok(info.env.includes(`${name}=${value}`), name);
      },
      { env },
    );
  });

  it("serves nothing else", async () => {
    await serving("disk.img", async (server, { root, disk }) => {
      fs.writeFileSync(path.join(root, "secret"), "secret");
      fs.mkdirSync(path.join(disk, "folder"));
      fs.writeFileSync(path.join(disk, "folder", "inside"), "secret");
      fs.writeFileSync(path.join(disk, "late"), "secret");
      const targets = ["/", "/folder", "/folder/", "/folder/inside", "/late", "/secret", "/../secret", "/disk.img/"];
      targets.push("/disk.img/../../secret", "/%2e%2e/secret", "/..%2fsecret", "//disk.img", "/index.html", "*");
      targets.push("/shared/ready", "/etc/passwd", "//etc/passwd", "/disk.img%00", "/info/", "/debug/pprof/");
      const got = await Promise.all(targets.map(async (target) => [target, await rawStatus(server, target)]));
      assert.deepEqual(
        got.filter(([, status]) => status !== 404 && status !== 400),
        [],
      );
      const methods = ["POST", "PUT", "DELETE", "OPTIONS"];
      const statuses = await Promise.all(methods.map((method) => rawStatus(server, "/disk.img", method)));
      assert.deepEqual(statuses, [405, 405, 405, 405]);
      assert.equal(await rawStatus(server, "/disk.img"), 200);
    });
  });

  it("is there for this machine only", async () => {
    await serving("disk.img", async (server) => {
      const { port } = new URL(server.origin());
      const addresses = Object.values(os.networkInterfaces()).flatMap((list) => list ?? []);
      const outside = addresses.filter(({ internal, family }) => !internal && family === "IPv4");
      const reached = await Promise.all(outside.map(async ({ address }) => await connects(Number(port), address)));
      assert.ok(reached.every((isOpen) => !isOpen));
      assert.equal(await connects(Number(port), "127.0.0.1"), true);
      // A listener on all addresses would be written as one of IPv6.
      assert.doesNotMatch(server.stderr(), /on \[::\]:|on 0\.0\.0\.0:/);
    });
  });

  it("does not serve a file that took the place of the one it found", async () => {
    await serving("disk.img", async (server, { disk }) => {
      const file = path.join(disk, "disk.img");
      fs.rmSync(file);
      fs.symlinkSync("/etc/passwd", file);
      assert.equal(await rawStatus(server, "/disk.img"), 500);
    });
  });

  it("goes away when it is done, with the two files", async () => {
    await serving("disk.img", async (server, { shared }) => {
      fs.writeFileSync(path.join(shared, "done"), "");
      assert.equal(await server.ended, 0);
      assert.deepEqual(fs.readdirSync(shared), []);
    });
  });

  it("goes away at once when it is told to, in the middle of an answer too", async () => {
    await serving("disk.img", async (server) => {
      const waiting = net.connect(Number(new URL(server.origin()).port), "127.0.0.1");
      waiting.on("error", () => undefined);
      await new Promise<void>((resolve) => waiting.write("GET /disk.img HTTP/1.1\r\n", () => resolve()));
      server.child.kill("SIGTERM");
      assert.equal(await server.ended, 143);
      waiting.destroy();
    });
  });

  const refusals: [string, (pod: Pod) => void, RegExp][] = [
    ["no file", ({ disk }) => fs.mkdirSync(path.join(disk, "folder")), /holds 0 files/],
    [
      "two files",
      ({ disk }) => ["a", "b"].forEach((name) => fs.writeFileSync(path.join(disk, name), "")),
      /holds 2 files.*: a, b$/m,
    ],
    ["no directory", ({ disk }) => fs.rmdirSync(disk), /no such file or directory/],
    ["a link to outside", ({ disk }) => fs.symlinkSync("../shared/x", path.join(disk, "disk.img")), /leads out/],
    ["a link to nothing", ({ disk }) => fs.symlinkSync("nothing", path.join(disk, "disk.img")), /no such file/],
    ["a directory behind a link", linkedFolder, /not a regular file/],
    ["a disk named info", ({ disk }) => fs.writeFileSync(path.join(disk, "info"), ""), /must not be named/],
  ];
  for (const [what, prepare, text] of refusals) {
    it(`refuses ${what}, and is not ready then`, async () => {
      await inPod("", async (pod) => {
        fs.writeFileSync(path.join(pod.shared, "x"), "secret");
        prepare(pod);
        await withImageServer(program.path, { imageFolder: pod.disk, shared: pod.shared }, async (server) => {
          assert.equal(await server.ended, 1);
          assert.match(server.stderr(), text);
          assert.deepEqual(fs.readdirSync(pod.shared), ["x"]);
        });
      });
    });
  }

  it("follows a link that stays inside", async () => {
    await inPod("", async ({ disk, shared }) => {
      fs.mkdirSync(path.join(disk, "store"));
      fs.writeFileSync(path.join(disk, "store", "1"), bytes);
      fs.symlinkSync("store/1", path.join(disk, "disk.img"));
      await withImageServer(program.path, { imageFolder: disk, shared }, async (server) => {
        assert.ok((await body(await fetch(`${server.origin()}/disk.img`))).equals(bytes));
      });
    });
  });

  it("is a source that decant pours from", async () => {
    await serving("my disk.qcow2", async (server, { root }) => {
      const disk = path.join(root, "disk.raw");
      const url = `${server.origin()}/my%20disk.qcow2`;
      const { status, stderr, stdout } = await runDecant(["convert", "--digest", "--json", url, disk]);
      assert.equal(status, 0, stderr);
      const sample = samples().find(({ name }) => name === "qcow2/two-partitions.qcow2");
      assert.equal((JSON.parse(stdout) as { digest: string }).digest, sample?.contentSha256);
    });
  });
});

describe(
  "image server in an image of its own",
  { skip: program.skip || requireRoot() || requireTools("chroot") },
  () => {
    /** What a container without anything else looks like. */
    async function inEmptyRoot(prepare: (root: string) => void, check: (server: ImageServer) => Promise<void>) {
      await withTemporaryFolder(async (root) => {
        fs.copyFileSync(program.path, path.join(root, "server"));
        fs.mkdirSync(path.join(root, "disk"));
        fs.mkdirSync(path.join(root, "shared"));
        fs.writeFileSync(path.join(root, "disk", "disk.img"), bytes);
        prepare(root);
        await withImageServer("", { imageFolder: "/disk", shared: "/shared", chroot: root }, check);
      });
    }

    it("needs nothing else there: no libc, no /etc/hosts, no /proc, no /dev", async () => {
      await inEmptyRoot(
        () => undefined,
        async (server) => {
          assert.ok((await body(await fetch(`${server.origin()}/disk.img`))).equals(bytes));
        },
      );
    });

    for (const name of ["sysroot", "ostree"]) {
      it(`refuses an operating system's image, known by /${name}`, async () => {
        await inEmptyRoot(
          (root) => fs.mkdirSync(path.join(root, name)),
          async (server) => {
            assert.equal(await server.ended, 1);
            assert.match(server.stderr(), /bootc image detected/);
          },
        );
      });
    }
  },
);

function linkedFolder({ disk }: Pod): void {
  fs.mkdirSync(path.join(disk, "folder"));
  fs.symlinkSync("folder", path.join(disk, "disk.img"));
}

async function connects(port: number, host: string): Promise<boolean> {
  return await new Promise((resolve) => {
    const socket = net.connect(port, host, () => {
      socket.destroy();
      resolve(true);
    });
    socket.on("error", () => resolve(false));
  });
}
