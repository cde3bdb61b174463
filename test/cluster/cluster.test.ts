/**
 * That the test cluster is a Kubernetes in all that decant's controller relies on: what binds a claim, where, and when not,
 * and what a restricted pod can write to.
 */
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { after, describe, it } from "node:test";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Claim } from "../../controller/api/kube.ts";
import { DECANT_IMAGE } from "../support/decant-tarball.ts";
import { pushImage, withDockerRegistry } from "../support/docker-registry.ts";
import { withTemporaryFolder } from "../support/temporary-folder.ts";
import { requireTools } from "../support/tools.ts";
import { openCluster, requireRunningCluster } from "./cluster.ts";
import { buildBusyboxImage } from "./images.ts";
import { claim, runPod, volumeFile } from "./objects.ts";
import type { ClaimOptions, VolumeObject } from "./objects.ts";
import { CSI_IMMEDIATE, CSI_WAIT, LOCAL_PATH } from "./storage.ts";

const skip = requireRunningCluster() || requireTools("docker-registry", "buildah", "debootstrap");
const MiB = 1024 * 1024;
const OTHER_KIND = { apiGroup: "cdi.kubevirt.io", kind: "VolumeImportSource", name: "nobody-knows-it" };

describe("test cluster", { skip }, () => {
  const cluster = openCluster();
  after(() => cluster.close());

  const claimPath = (namespace: string, name: string): string => {
    return `/api/v1/namespaces/${namespace}/persistentvolumeclaims/${name}`;
  };
  const createClaim = async (namespace: string, name: string, options: ClaimOptions): Promise<void> => {
    await cluster.api.request("POST", path.dirname(claimPath(namespace, name)), claim(namespace, name, options));
  };
  const untilPhase = async (namespace: string, name: string, phase: string): Promise<Claim> => {
    return await cluster.api.until<Claim>(claimPath(namespace, name), (found) => found?.status?.phase === phase);
  };
  const volumeOf = async ({ spec }: Claim): Promise<VolumeObject> => {
    return await cluster.api.get<VolumeObject>(`/api/v1/persistentvolumes/${spec.volumeName}`);
  };

  it("gives a restricted pod a filesystem and a block device of the size that it claims", async () => {
    await cluster.withNamespace(async (namespace) => {
      // Two that are bound at once may come to be on two nodes.
      await createClaim(namespace, "folder", { storageClass: CSI_WAIT });
      await createClaim(namespace, "device", { storageClass: CSI_WAIT, volumeMode: "Block", size: "32Mi" });
      const script = `
        exec > /dev/termination-log
        id -u; id -G; grep -E '^(CapEff|CapBnd|NoNewPrivs|Seccomp):' /proc/self/status
        dd if=/dev/urandom of=/data/some bs=1M count=8 2>/dev/null
        dd if=/data/some of=/dev/target bs=1M conv=fsync 2>/dev/null
        sha256sum < /data/some; head -c ${8 * MiB} /dev/target | sha256sum; blockdev --getsize64 /dev/target
        df -k /data | tail -n 1; if dd if=/dev/zero of=/data/more bs=1M count=64 2>/tmp/why; then exit 1; fi; cat /tmp/why`;
      const { message } = await runPod(cluster, namespace, "writer", {
        script,
        folders: { "/data": "folder" },
        devices: { "/dev/target": "device" },
      });
      const [user, groups, ...lines] = message.split("\n");
      assert.deepEqual([user, groups], ["107", "107"], message);
      assert.deepEqual(
        lines.slice(0, 4).map((line) => line.split("\t")[1]),
        ["0".repeat(16), "0".repeat(16), "1", "2"],
      );
      const [ofFolder, ofDevice, size, table] = lines.slice(4);
      assert.equal(ofFolder, ofDevice, message);
      assert.equal(Number(size), 32 * MiB);
      const [, blocks] = (table ?? "").split(/\s+/);
      assert.ok(Number(blocks) > 40 * 1024 && Number(blocks) < 64 * 1024, "the filesystem takes nothing for itself");
      assert.match(message, /No space left on device/);
    });
  });

  it("removes the volume of a claim that is deleted", async () => {
    await cluster.withNamespace(async (namespace) => {
      await createClaim(namespace, "short", { storageClass: CSI_IMMEDIATE });
      const volume = await volumeOf(await untilPhase(namespace, "short", "Bound"));
      assert.equal(fs.statSync(volumeFile(cluster, volume)).size, 64 * MiB);
      await cluster.api.request("DELETE", claimPath(namespace, "short"));
      await cluster.api.untilGone(`/api/v1/persistentvolumes/${volume.metadata.name}`);
      assert.equal(fs.existsSync(volumeFile(cluster, volume)), false);
    });
  });

  for (const storageClass of [CSI_WAIT, LOCAL_PATH]) {
    it(`binds a claim of ${storageClass} on the node of its first consumer`, async () => {
      await cluster.withNamespace(async (namespace) => {
        await createClaim(namespace, "late", { storageClass });
        const script = "echo here > /data/file; cat /data/file > /dev/termination-log";
        const pod = { script, folders: { "/data": "late" }, node: "node-2" };
        assert.equal((await cluster.api.get<Claim>(claimPath(namespace, "late"))).status?.phase, "Pending");
        assert.deepEqual(await runPod(cluster, namespace, "consumer", pod), { node: "node-2", message: "here\n" });
        const volume = await volumeOf(await untilPhase(namespace, "late", "Bound"));
        assert.match(JSON.stringify(volume.spec.nodeAffinity), /"node-2"/);
        assert.doesNotMatch(JSON.stringify(volume.spec.nodeAffinity), /"node-1"/);
      });
    });
  }

  it("leaves a claim alone that somebody else is to fill, and binds it to a volume that is handed over", async () => {
    await cluster.withNamespace(async (namespace) => {
      await createClaim(namespace, "target", { storageClass: CSI_IMMEDIATE, dataSourceRef: OTHER_KIND });
      await createClaim(namespace, "prime", { storageClass: CSI_IMMEDIATE });
      const volume = await volumeOf(await untilPhase(namespace, "prime", "Bound"));
      const target = await cluster.api.get<Claim>(claimPath(namespace, "target"));
      assert.equal(target.status?.phase, "Pending");
      const place = `/api/v1/persistentvolumes/${volume.metadata.name}`;
      await cluster.api.request("PATCH", place, { spec: { persistentVolumeReclaimPolicy: "Retain" } });
      const claimRef = { namespace, name: "target", uid: target.metadata.uid, resourceVersion: null };
      await cluster.api.request("PATCH", place, { spec: { claimRef } });
      const bound = await untilPhase(namespace, "target", "Bound");
      assert.equal(bound.spec.volumeName, volume.metadata.name);
      await untilPhase(namespace, "prime", "Lost");
      await cluster.api.request("PATCH", place, { spec: { persistentVolumeReclaimPolicy: "Delete" } });
    });
  });

  it("lets pods reach servers of this machine, and the API with the rights of their service account", async () => {
    const server = createServer((_, response) => response.end("hello"));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    try {
      await cluster.withNamespace(async (namespace) => {
        const { port } = server.address() as AddressInfo;
        await cluster.expose(port, async (origin) => {
          const script = `
            exec > /dev/termination-log; wget -q -O - http://${origin}/; wget -q -O - http://${cluster.hostName}:${port}/
            wget -q -O - http://nobody.test/ 2>&1 | grep -o 'bad address'
            nc -w 5 $KUBERNETES_SERVICE_HOST $KUBERNETES_SERVICE_PORT < /dev/null && echo reached`;
          const { message } = await runPod(cluster, namespace, "caller", { script });
          assert.equal(message, "hellohellobad address\nreached\n");
        });
        const kubeconfig = await cluster.kubeconfigFor(namespace, "default");
        await assert.rejects(cluster.kubectl(["get", "pods", "-n", namespace], { kubeconfig }), /forbidden/);
      });
    } finally {
      await new Promise((resolve) => server.close(resolve));
    }
  });

  it("pulls images from a registry of this machine", async () => {
    await withTemporaryFolder(async (folder) => {
      await withDockerRegistry(folder, {}, async ({ host }) => {
        await pushImage(host, "guests/tools", "v1", buildBusyboxImage());
        const port = Number(host.split(":")[1]);
        cluster.trustRegistry(port);
        await cluster.expose(port, async (origin) => {
          await cluster.withNamespace(async (namespace) => {
            const script = "echo pulled > /dev/termination-log";
            const { message } = await runPod(cluster, namespace, "guest", {
              script,
              image: `${origin}/guests/tools:v1`,
            });
            assert.equal(message, "pulled\n");
          });
        });
      });
    });
  });

  it("runs decant's own image", async () => {
    await cluster.loadDecantImage();
    await cluster.withNamespace(async (namespace) => {
      const script = "decant --version > /dev/termination-log";
      const { message } = await runPod(cluster, namespace, "worker", {
        script,
        image: DECANT_IMAGE,
        pullPolicy: "Never",
      });
      assert.match(message, /^decant \d/);
    });
  });
});
