/**
 * Where disks come from, each with its own way to be trusted and paid for: a registry pulled by the pod and by the node, a
 * bucket, a server that wants secret headers or a password, an archive, nothing at all. What is seen of an import meanwhile.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Claim } from "../../../controller/api/kube.ts";
import { ANNOTATIONS } from "../../../controller/api/names.ts";
import { baseDisk } from "../../support/base-disk.ts";
import { buildImage, buildLayer, file } from "../../support/build-image.ts";
import { buildTar } from "../../support/build-tar.ts";
import { goProgram } from "../../support/go-programs.ts";
import { sampleBytes } from "../../support/images.ts";
import { requireTools } from "../../support/tools.ts";
import { withVersitygw } from "../../support/versitygw.ts";
import { requireRunningCluster } from "../cluster.ts";
import { LOCAL_PATH } from "../storage.ts";
import { clusterWithController } from "./controller.ts";
import { withGuestRegistry } from "./guest-registry.ts";
import { conditionOf, Imports } from "./imports.ts";
import type { EventObject } from "./imports.ts";
import { withServedImages } from "./served-images.ts";

const skip = requireRunningCluster() || requireTools("nginx", "openssl", "docker-registry");
const versitygw = await goProgram("versitygw");
const MIB = 1024 * 1024;
const DISK = baseDisk(4 * MIB);
const PREFERENCE = "INSTANCETYPE_KUBEVIRT_IO_DEFAULT_PREFERENCE=fedora";
const IMAGE = buildImage([buildLayer([file("disk/disk.img", DISK)])], { environment: [PREFERENCE] });
const SECRET = "hunter2";

describe("a disk from", { skip, concurrency: 4 }, () => {
  const cluster = clusterWithController();

  it("a registry, pulled by the pod with a private authority, and by the node", async () => {
    await withGuestRegistry(cluster, async ({ forPod, forNode, authority, push }) => {
      await push("guests/disk", "v1", IMAGE);
      await cluster.withNamespace(async (namespace) => {
        const imports = new Imports(cluster, namespace);
        await imports.create("configmaps", { metadata: { name: "authority" }, data: { "ca.crt": authority } });
        const ofPod = { url: `${forPod}/guests/disk:v1`, certConfigMap: "authority" };
        await imports.start("by-pod", { registry: ofPod });
        await imports.start("by-node", { registry: { url: `${forNode}/guests/disk:v1`, pullMethod: "node" } });
        for (const name of ["by-pod", "by-node"]) {
          await imports.untilSucceeded(name);
          await imports.holds(name, DISK);
        }
        const { metadata } = await imports.get("by-pod");
        assert.equal(metadata.labels?.["instancetype.kubevirt.io/default-preference"], "fedora");
        await neededOneWorkerEach(imports, 2);
      });
    });
  });

  it("a bucket, with its keys in a Secret", { skip: versitygw.skip }, async () => {
    await withVersitygw(versitygw.path, "images", async ({ endpoint, credentials, put }) => {
      await put("images/disk.qcow2", sampleBytes("qcow2/zlib.qcow2"));
      const { port } = new URL(endpoint);
      await cluster.expose(Number(port), async () => {
        await cluster.withNamespace(async (namespace) => {
          const imports = new Imports(cluster, namespace);
          const { accessKeyId, secretAccessKey } = credentials;
          const stringData = { accessKeyId, secretKey: secretAccessKey };
          await imports.create("secrets", { metadata: { name: "keys" }, stringData });
          const url = `http://${cluster.hostName}:${port}/images/disk.qcow2`;
          await imports.start("disk", { s3: { url, secretRef: "keys" } });
          await imports.start("anybody", { s3: { url } });
          await imports.untilSucceeded("disk");
          await imports.holds("disk", sampleBytes("raw/patterned.raw"));
          await imports.untilStopped("anybody", "Error", /could not get s3 object: .*\[SOURCE_DENIED\]$/);
        });
      });
    });
  });

  it("a server that wants a password and a secret header, which nothing shows", async () => {
    const directives = `
      location / { if ($http_x_token != "${SECRET}") { return 403; } if ($http_x_plain != "$a {b}") { return 403; }
        if ($http_authorization != "Basic ${Buffer.from(`me:${SECRET}`).toString("base64")}") { return 401; } }`;
    await withServedImages(
      cluster,
      async ({ imports, urlOf, write }) => {
        write("disk", DISK);
        const stringData = { token: `X-Token: ${SECRET}` };
        await imports.create("secrets", { metadata: { name: "headers" }, stringData });
        const login = { accessKeyId: "me", secretKey: SECRET };
        await imports.create("secrets", { metadata: { name: "login" }, stringData: login });
        const http = { url: urlOf("disk"), extraHeaders: ["X-Plain: plain"], secretRef: "login" };
        await imports.start("disk", { http: { ...http, secretExtraHeaders: ["headers"] } });
        await imports.start("denied", { http });
        await imports.untilSucceeded("disk");
        await imports.holds("disk", DISK);
        await imports.untilStopped("denied", "Error", /got 403\. Status: 403 Forbidden.*\[SOURCE_DENIED\]$/);
        for (const plural of ["pods", "persistentvolumeclaims", "events"]) {
          assert.doesNotMatch(JSON.stringify(await imports.all(plural)), /hunter2/, plural);
        }
        assert.doesNotMatch(JSON.stringify(await imports.get("denied")), /hunter2/);
        const { metadata } = await imports.untilWorker("denied");
        const log = await cluster.kubectl(["logs", "-n", imports.namespace, metadata.name, "-c", "importer"]);
        assert.match(log, /SOURCE_DENIED/);
        assert.doesNotMatch(log, /hunter2/);
      },
      { directives: directives.replace("$a {b}", "plain") },
    );
  });

  it("an archive, whose files the claim then has", async () => {
    await withServedImages(cluster, async ({ imports, urlOf, write }) => {
      write("files.tar", buildTar([file("readme", "hello"), file("folder/disk", DISK)]));
      await imports.start("files", { http: { url: urlOf("files.tar") } }, { spec: { contentType: "archive" } });
      await imports.untilSucceeded("files");
      await imports.holds("files", DISK, "folder/disk");
      await imports.holds("files", Buffer.from("hello"), "readme");
    });
  });

  it("nowhere: a blank disk, and a blank device without a worker", async () => {
    await cluster.withNamespace(async (namespace) => {
      const imports = new Imports(cluster, namespace);
      await imports.start("disk", { blank: {} });
      await imports.start("device", { blank: {} }, { volumeMode: "Block" });
      await imports.untilSucceeded("device");
      await imports.untilSucceeded("disk");
      await imports.holds("disk", Buffer.alloc(16 * MIB));
      await neededOneWorkerEach(imports, 1);
    });
  });

  // Cases K09 and K10: its page answers while bytes come slowly, and no mesh holds the pod open.
  it("a registry that is slow, with progress meanwhile", async () => {
    const layer = buildLayer([file("disk/disk.img", baseDisk(16 * MIB))], "none");
    await withGuestRegistry(
      cluster,
      async ({ forPod, authority, push }) => {
        await push("guests/disk", "v1", buildImage([layer]));
        await cluster.withNamespace(async (namespace) => {
          const imports = new Imports(cluster, namespace);
          await imports.create("configmaps", { metadata: { name: "authority" }, data: { "ca.crt": authority } });
          const registry = { url: `${forPod}/guests/disk:v1`, certConfigMap: "authority" };
          await imports.start("disk", { registry });
          const seen = await imports.until("disk", ({ status }) => /^[1-9]\d?\.\d\d%$/.test(status?.progress ?? ""));
          assert.equal(seen.status?.phase, "ImportInProgress");
          const { metadata } = await imports.untilWorker("disk");
          assert.equal(metadata.labels?.["istio.io/dataplane-mode"], "none");
          assert.equal(metadata.annotations?.["sidecar.istio.io/inject"], "false");
          assert.equal(metadata.annotations?.["linkerd.io/inject"], "disabled");
          assert.equal((await imports.untilSucceeded("disk")).status?.progress, "100.0%");
        });
      },
      { bytesPerSecond: MIB / 4 },
    );
  });

  // Case K13.
  it("a class whose driver cannot follow a rebind: nothing is made that would be bound empty", async () => {
    await cluster.withNamespace(async (namespace) => {
      const imports = new Imports(cluster, namespace);
      const options = { storageClass: LOCAL_PATH, annotations: { [ANNOTATIONS.usePopulator]: "true" } };
      await imports.start("disk", { blank: {} }, options);
      const message = /storage class local-path has no CSIDriver rancher\.io\/local-path/;
      await imports.untilSays("disk", "Bound", "NoCSIDriverForPopulator", message);
      assert.deepEqual(await imports.all("persistentvolumeclaims"), []);
      // Without the annotation it is filled in its place, when it has one.
      await imports.patch("datavolumes", "disk", { metadata: { annotations: { [ANNOTATIONS.usePopulator]: null } } });
      await imports.until("disk", (found) => conditionOf(found, "Bound")?.reason !== "NoCSIDriverForPopulator");
      assert.equal((await imports.all("persistentvolumeclaims")).length, 1);
    });
  });
});

/** Cases K01 and K08: one volume for each disk, and no pod before the one that does the work. */
async function neededOneWorkerEach(imports: Imports, workers: number): Promise<void> {
  const events = await imports.all<EventObject>("events");
  const names = events.map(({ involvedObject }) => involvedObject.name);
  assert.equal(new Set(names.filter((name) => name.startsWith("importer-"))).size, workers, names.join(" "));
  assert.deepEqual(
    names.filter((name) => name.endsWith("-scratch")),
    [],
  );
  const restarts = await imports.all<Claim>("persistentvolumeclaims");
  for (const { metadata } of restarts) assert.equal(metadata.annotations?.[ANNOTATIONS.podRestarts] ?? "0", "0");
}
