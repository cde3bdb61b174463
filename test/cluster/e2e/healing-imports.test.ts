/**
 * Imports that fail for what somebody can mend: a condition and an event say what it is, and when it is mended they go on by
 * themselves. Nobody touches the DataVolume.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Pod } from "../../../controller/api/kube.ts";
import { ANNOTATIONS } from "../../../controller/api/names.ts";
import { isWorker } from "../../../controller/api/pods.ts";
import { baseDisk } from "../../support/base-disk.ts";
import { buildImage, buildLayer, file } from "../../support/build-image.ts";
import { makeAuthority } from "../../support/certificates.ts";
import { tlsDirectives } from "../../support/nginx.ts";
import { withTemporaryFolder } from "../../support/temporary-folder.ts";
import { requireTools } from "../../support/tools.ts";
import { requireRunningCluster } from "../cluster.ts";
import type { Cluster } from "../cluster.ts";
import { CSI_WAIT } from "../storage.ts";
import { clusterWithController } from "./controller.ts";
import { withGuestRegistry } from "./guest-registry.ts";
import { Imports } from "./imports.ts";
import { withServedImages } from "./served-images.ts";

const skip = requireRunningCluster() || requireTools("nginx", "openssl", "docker-registry");
const DISK = baseDisk(4 * 1024 * 1024);
const IMAGE = buildImage([buildLayer([file("disk/disk.img", DISK)])]);

describe("an import that goes on when its cause is gone", { skip, concurrency: 4 }, () => {
  const cluster = clusterWithController();

  it("404: until the file is there", async () => {
    await withServedImages(cluster, async ({ imports, urlOf, write }) => {
      await imports.start("disk", { http: { url: urlOf("disk") } });
      const message = /expected status code 200, got 404\. Status: 404 Not Found.*\[SOURCE_NOT_FOUND\]$/;
      const { status } = await imports.untilStopped("disk", "Error", message);
      assert.equal(status?.phase, "ImportInProgress");
      await imports.untilEvent("disk", "Warning Error: ", message);
      write("disk", DISK);
      const done = await imports.untilSucceeded("disk");
      assert.ok((done.status?.restartCount ?? 0) >= 1, JSON.stringify(done.status));
      await imports.holds("disk", DISK);
    });
  });

  it("a name that nobody knows: tried again", async () => {
    await cluster.withNamespace(async (namespace) => {
      const imports = new Imports(cluster, namespace);
      await imports.start("disk", { http: { url: "http://nobody.test/disk" } });
      const message = /lookup nobody\.test: no such host.*\[SOURCE_UNAVAILABLE\]$/;
      await imports.untilStopped("disk", "Error", message);
      await imports.untilEvent("disk", "Warning Error: ", message);
      await imports.until("disk", ({ status }) => (status?.restartCount ?? 0) >= 1);

      // Case K06: nothing has to be killed by hand.
      const worker = await imports.untilWorker("disk");
      await imports.remove("datavolumes", "disk");
      await imports.untilGone("datavolumes", "disk");
      await imports.untilGone("pods", worker.metadata.name);
      await imports.untilGone("persistentvolumeclaims", worker.metadata.name.replace("importer-", ""));
      await imports.untilGone("persistentvolumeclaims", "disk");
      assert.deepEqual(await imports.all("persistentvolumeclaims"), []);
    });
  });

  // Case K15: no crash loop.
  it("an authority's certificate in a ConfigMap that is not there: until it is", async () => {
    await withTemporaryFolder(async (folder) => {
      const authority = makeAuthority(folder);
      const directives = tlsDirectives(folder, authority.issue(`DNS:${cluster.hostName}`));
      const secured = { directives, scheme: "https" } as const;
      await withServedImages(
        cluster,
        async ({ imports, urlOf, write }) => {
          write("disk", DISK);
          await imports.start("untrusted", { http: { url: urlOf("disk") } });
          await imports.start("disk", { http: { url: urlOf("disk"), certConfigMap: "authority" } });
          const message = /configmap "authority" not found/;
          const { status } = await imports.untilStopped("disk", "ContainerCreating", message);
          assert.equal(status?.phase, "ImportScheduled");
          assert.equal(status?.restartCount, undefined);
          await imports.untilEvent("disk", "Warning ContainerCreating: ", message);
          await imports.untilStopped("untrusted", "Error", /\[SOURCE_TLS\]$/);

          const data = { "ca.pem": authority.certificate };
          await imports.create("configmaps", { metadata: { name: "authority" }, data });
          await imports.untilSucceeded("disk");
          await imports.holds("disk", DISK);
        },
        secured,
      );
    });
  });

  it("a tag that is not there, pulled by the pod or by the node: until it is pushed", async () => {
    await withGuestRegistry(cluster, async ({ forPod, forNode, authority, push }) => {
      await cluster.withNamespace(async (namespace) => {
        const imports = new Imports(cluster, namespace);
        await imports.create("configmaps", { metadata: { name: "authority" }, data: { "ca.pem": authority } });
        const node = { url: `${forNode}/guests/disk:late`, pullMethod: "node" } as const;
        const pod = { url: `${forPod}/guests/disk:late`, certConfigMap: "authority" };
        await imports.start("node", { registry: node });
        await imports.start("pod", { registry: pod });
        await imports.untilStopped("node", "ImagePullFailed", /^failed to pull image: .*\/guests\/disk:late$/);
        await imports.untilStopped("pod", "ImagePullFailed", /failed to pull image: .*late.*\[SOURCE_NOT_FOUND\]$/);
        for (const name of ["node", "pod"]) {
          await imports.untilEvent(name, "Warning ImagePullFailed: ", /failed to pull image/);
        }
        await push("guests/disk", "late", IMAGE);
        for (const name of ["node", "pod"]) {
          await imports.untilSucceeded(name);
          await imports.holds(name, DISK);
        }
      });
    });
  });

  // Case K02: the volume is made where the DataVolume's annotation says, by the worker as its first consumer.
  it("no node fits: until one does, and the disk is there", async () => {
    await withServedImages(cluster, async ({ imports, urlOf, write }) => {
      write("disk", DISK);
      const label = `decant.test/${imports.namespace}`;
      const annotations = {
        [ANNOTATIONS.immediateBind]: "",
        [ANNOTATIONS.placementNodeSelector]: JSON.stringify({ [label]: "here" }),
      };
      await imports.start("disk", { http: { url: urlOf("disk") } }, { annotations, storageClass: CSI_WAIT });
      const message = /^Importer pod cannot be scheduled: 0\/2 nodes are available/;
      await imports.untilStopped("disk", "Unschedulable", message);
      await imports.untilEvent("disk", "Warning Unschedulable: ", message);
      const labelNode = async (value: string | null): Promise<void> => {
        await cluster.api.request("PATCH", "/api/v1/nodes/node-2", { metadata: { labels: { [label]: value } } });
      };
      await labelNode("here");
      try {
        await imports.untilSucceeded("disk");
      } finally {
        await labelNode(null);
      }
      await imports.holds("disk", DISK);
      // The worker may be there still: it goes once the volume is the target's.
      const readers = (await imports.all<Pod>("pods")).filter((pod) => !isWorker(pod));
      assert.deepEqual(
        readers.map(({ spec }) => spec.nodeName),
        ["node-2"],
      );
    });
  });

  // Case K07: a quota that has just room for what an import needs, and limits that every pod must have.
  it("a quota: until there is room, and then it needs no more than its claim twice", async () => {
    await withServedImages(cluster, async ({ imports, urlOf, write }) => {
      write("disk", DISK);
      const quota = { pods: "0", persistentvolumeclaims: "0", "limits.memory": "600M", "requests.cpu": "1" };
      await imports.create("resourcequotas", { metadata: { name: "quota" }, spec: { hard: quota } });
      await untilUsed(cluster, imports.namespace);
      await imports.start("disk", { http: { url: urlOf("disk") } });
      const exceeded = /exceeded quota: quota/;
      const first = await imports.untilSays("disk", "Bound", "ErrExceededQuota", exceeded);
      assert.equal(first.status?.phase, "Pending");

      const raise = async (hard: object): Promise<void> => {
        await imports.patch("resourcequotas", "quota", { spec: { hard } });
      };
      // The claim, but not the one that is filled in its place.
      await raise({ persistentvolumeclaims: "1" });
      await imports.untilSays(
        "disk",
        "Bound",
        "ErrExceededQuota",
        /^target PVC disk Pending and .*|exceeded quota: quota/,
      );
      await raise({ persistentvolumeclaims: "2" });
      await imports.untilStopped(
        "disk",
        "ErrExceededQuota",
        /^Error starting pod 'importer-prime-.*exceeded quota: quota/,
      );
      await imports.untilEvent("disk", "Warning ErrExceededQuota: ", exceeded);
      await raise({ pods: "1" });
      await imports.untilSucceeded("disk");
    });
  });
});

/** Until then it allows everything. */
async function untilUsed(cluster: Cluster, namespace: string): Promise<void> {
  const place = `/api/v1/namespaces/${namespace}/resourcequotas/quota`;
  await cluster.api.until<{ readonly status?: { readonly used?: object } }>(
    place,
    (q) => q?.status?.used !== undefined,
  );
}
