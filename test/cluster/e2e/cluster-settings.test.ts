/**
 * What an administrator sets in CDIConfig for the workers of all imports, and where it leads: through a proxy, to a registry that
 * asks nodes for a password, to scratch space of another class.
 */
import assert from "node:assert/strict";
import fs from "node:fs";
import { describe, it } from "node:test";
import { ANNOTATIONS } from "../../../controller/api/names.ts";
import { proxyConfigMapName } from "../../../controller/plan/worker/proxy-config-map.ts";
import { baseDisk } from "../../support/base-disk.ts";
import { buildImage, buildLayer, file } from "../../support/build-image.ts";
import { dataFirst } from "../../support/build-qcow2.ts";
import { makeAuthority } from "../../support/certificates.ts";
import { HTPASSWD, pushImage, withDockerRegistry } from "../../support/docker-registry.ts";
import { withSquid } from "../../support/squid.ts";
import { withTemporaryFolder } from "../../support/temporary-folder.ts";
import { requireTools } from "../../support/tools.ts";
import { requireRunningCluster } from "../cluster.ts";
import { volumeFile } from "../objects.ts";
import { LOCAL_PATH } from "../storage.ts";
import { clusterWithController, CONTROLLER_NAMESPACE, withSettings } from "./controller.ts";
import { Imports } from "./imports.ts";
import { withServedImages } from "./served-images.ts";

const skip = requireRunningCluster() || requireTools("nginx", "openssl", "docker-registry", "squid");
const CONFIG_MAPS = `/api/v1/namespaces/${CONTROLLER_NAMESPACE}/configmaps`;
const DISK = baseDisk(4 * 1024 * 1024);
const SECRET = "hunter2";
/** Only the proxy knows it. */
const FAR = "images.elsewhere.test";

describe("what CDIConfig says for all imports", { skip }, () => {
  const cluster = clusterWithController();

  it("a proxy over TLS, with a password and an authority of its own, but for some names", async () => {
    await withTemporaryFolder(async (folder) => {
      const authority = makeAuthority(folder);
      const tls = authority.issue(`DNS:${cluster.hostName}`);
      await withSquid({ auth: { user: "me", password: SECRET }, tls, hosts: [FAR] }, async ({ host, log }) => {
        const port = Number(host.split(":")[1]);
        const address = `https://me:${SECRET}@${cluster.hostName}:${port}`;
        const noProxy = cluster.hostName;
        const importProxy = { HTTPProxy: address, HTTPSProxy: address, noProxy, trustedCAProxy: "proxy-authority" };
        const data = { "ca.pem": authority.certificate };
        await cluster.api.request("POST", CONFIG_MAPS, { metadata: { name: "proxy-authority" }, data });
        try {
          await cluster.expose(port, async () => {
            await withSettings(cluster, { importProxy }, async () => {
              await withServedImages(cluster, async ({ imports, urlOf, write }) => {
                write("disk", DISK);
                await imports.start("near", { http: { url: urlOf("disk") } });
                await imports.start("far", { http: { url: urlOf("disk").replace(cluster.hostName, FAR) } });
                for (const name of ["near", "far"]) {
                  await imports.untilSucceeded(name);
                  await imports.holds(name, DISK);
                }
                assert.doesNotMatch(JSON.stringify(await imports.all("events")), /hunter2/);
                // It goes with the claim that was filled in the target's place.
                for (const name of ["near", "far"]) {
                  await imports.untilGone("configmaps", proxyConfigMapName(await imports.primeName(name)));
                }
                assert.equal((await imports.all("configmaps")).length, 1, "Kubernetes' own");
              });
            });
          });
        } finally {
          await cluster.api.request("DELETE", `${CONFIG_MAPS}/proxy-authority`);
        }
        const lines = log().join("\n");
        assert.match(lines, new RegExp(`^GET http://${FAR}:\\d+/disk 20\\d me `, "m"));
        assert.ok(!lines.includes(`//${cluster.hostName}`), lines);
      });
    });
  });

  it("Secrets that nodes pull an image's disk with", async () => {
    await withTemporaryFolder(async (folder) => {
      const image = buildImage([buildLayer([file("disk/disk.img", DISK)])]);
      await withDockerRegistry(folder, {}, async ({ host }) => await pushImage(host, "guests/disk", "v1", image));
      await withDockerRegistry(folder, { htpasswd: HTPASSWD }, async ({ host }) => {
        const port = Number(host.split(":")[1]);
        cluster.trustRegistry(port);
        await cluster.expose(port, async (origin) => {
          await cluster.withNamespace(async (namespace) => {
            const imports = new Imports(cluster, namespace);
            const auths = { [origin]: { auth: Buffer.from(`me:${SECRET}`).toString("base64") } };
            await imports.create("secrets", {
              metadata: { name: "pull" },
              type: "kubernetes.io/dockerconfigjson",
              stringData: { ".dockerconfigjson": JSON.stringify({ auths }) },
            });
            const registry = { url: `docker://${origin}/guests/disk:v1`, pullMethod: "node" } as const;
            await imports.start("denied", { registry });
            await imports.untilStopped("denied", "ImagePullFailed", /^failed to pull image: /);
            await withSettings(cluster, { imagePullSecrets: [{ name: "pull" }] }, async () => {
              await imports.start("disk", { registry });
              await imports.untilSucceeded("disk");
              await imports.holds("disk", DISK);
            });
          });
        });
      });
    });
  });

  it("the class of scratch space, for the rare image that needs some", async () => {
    // 31 MiB, and memory holds 24: a device has no room beside the disk, and this server cannot be asked for parts.
    const clusters = 500;
    const image = dataFirst(clusters);
    const content = image.subarray(65_536, (1 + clusters) * 65_536);
    await withSettings(cluster, { scratchSpaceStorageClass: LOCAL_PATH }, async () => {
      await withServedImages(
        cluster,
        async ({ imports, urlOf, write, gets }) => {
          write("disk.qcow2", image);
          await imports.start("disk", { http: { url: urlOf("disk.qcow2") } }, { volumeMode: "Block" });
          const scratchName = `${await imports.primeName("disk")}-scratch`;
          const scratch = await imports.untilClaim(scratchName);
          assert.equal(scratch.spec.storageClassName, LOCAL_PATH);
          const worker = await imports.untilWorker("disk", ({ metadata: { uid } }) => {
            return uid === scratch.metadata.ownerReferences?.[0]?.uid;
          });
          const { status } = await imports.untilSucceeded("disk");
          assert.equal(status?.restartCount ?? 0, 0);
          assert.equal(gets("disk.qcow2"), 2);
          const target = await imports.claim("disk");
          assert.equal(target.metadata.annotations?.[ANNOTATIONS.importRequiresScratch], undefined);
          const device = fs.openSync(volumeFile(cluster, await imports.volumeOf(target)), "r");
          const found = Buffer.alloc(content.length);
          fs.readSync(device, found, 0, found.length, 0);
          fs.closeSync(device);
          assert.ok(found.equals(content));
          await imports.untilGone("pods", worker.metadata.name);
          await imports.untilGone("persistentvolumeclaims", scratchName);
        },
        { directives: "max_ranges 0; etag off;" },
      );
    });
  });
});
