/**
 * Workers that somebody else ends: the kernel when they need more memory than they may have, the kubelet when the node has no
 * room for them. What the DataVolume says then, and that another worker does what is left.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Pod } from "../../../controller/api/kube.ts";
import { baseDisk } from "../../support/base-disk.ts";
import { requireTools } from "../../support/tools.ts";
import { requireRunningCluster } from "../cluster.ts";
import { clusterWithController, withSettings } from "./controller.ts";
import { withServedImages } from "./served-images.ts";

const skip = requireRunningCluster() || requireTools("nginx");
const MIB = 1024 * 1024;
/** A container starts with it, and Node.js does not. */
const TOO_LITTLE = "24M";

describe("a worker that is killed", { skip, concurrency: true }, () => {
  const cluster = clusterWithController();

  it("for its memory: the next one writes past the page cache", async () => {
    const disk = baseDisk(4 * MIB);
    await withServedImages(cluster, async ({ imports, urlOf, write }) => {
      write("disk", disk);
      // Of all workers in the cluster, so for as short a time as can be.
      const podResourceRequirements = { limits: { memory: TOO_LITTLE }, requests: { memory: "1M" } };
      const worker = await withSettings(cluster, { podResourceRequirements }, async () => {
        await imports.start("disk", { http: { url: urlOf("disk") } });
        return await imports.untilWorker("disk");
      });
      assert.deepEqual(environmentOf(worker, "CACHE_MODE"), [""]);
      await imports.untilStopped("disk", "OOMKilled", /./);
      await imports.untilEvent("disk", "Warning OOMKilled: ");
      const next = await imports.untilWorker("disk", ({ metadata }) => metadata.uid !== worker.metadata.uid);
      assert.deepEqual(environmentOf(next, "CACHE_MODE"), ["TRYNONE"]);
      await imports.untilSucceeded("disk");
      await imports.holds("disk", disk);
    });
  });

  it("by its node, which has no room for its log: replaced until there is", async () => {
    const disk = baseDisk(8 * MIB);
    // Of each connection; a node looks at its logs every ten seconds.
    const slow = { directives: `limit_rate ${32 * 1024};` };
    await withServedImages(
      cluster,
      async ({ imports, urlOf, write }) => {
        write("disk", disk);
        const limit = { type: "Container", default: { "ephemeral-storage": "1" } };
        await imports.create("limitranges", { metadata: { name: "no-room" }, spec: { limits: [limit] } });
        await imports.start("disk", { http: { url: urlOf("disk") } });
        const worker = await imports.untilWorker("disk");
        const message = /ephemeral/;
        const { status } = await imports.untilStopped("disk", "Evicted", message);
        assert.equal(status?.phase, "ImportScheduled");
        await imports.untilEvent("disk", "Warning Evicted: ", message);
        await imports.untilEvent("disk", "Warning ImportFailed: Failed to import into PVC disk");
        await imports.remove("limitranges", "no-room");
        await imports.untilWorker("disk", ({ metadata }) => metadata.uid !== worker.metadata.uid);
        await imports.untilSucceeded("disk");
        await imports.holds("disk", disk);
      },
      slow,
    );
  });
});

function environmentOf({ spec }: Pod, name: string): readonly string[] {
  const all = spec.containers.flatMap(({ env = [] }) => env);
  return all.filter((variable) => variable.name === name).map(({ value }) => value ?? "");
}
