/**
 * A user deletes an object of an import, in each phase of it: the import begins again, or goes on, or ends without a trace, and
 * another one beside it does not notice.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { HttpSource } from "../../../controller/api/cdi.ts";
import { ANNOTATIONS } from "../../../controller/api/names.ts";
import { makeAuthority } from "../../support/certificates.ts";
import { withTemporaryFolder } from "../../support/temporary-folder.ts";
import { requireTools } from "../../support/tools.ts";
import { requireRunningCluster } from "../cluster.ts";
import { CSI_WAIT } from "../storage.ts";
import { clusterWithController } from "./controller.ts";
import { eventually } from "./eventually.ts";
import { withHeldImages } from "./held-images.ts";
import { assertEnds, DELETED, deleteObject, DISKS, objectsOf, untilOwnedAreGone } from "./import-objects.ts";
import type { Deleted, ImportObjects } from "./import-objects.ts";
import type { ImportOptions, Imports } from "./imports.ts";

const skip = requireRunningCluster() || requireTools("openssl");

interface Phase {
  readonly name: string;
  /** What a user finds to delete. */
  readonly deleted: readonly Deleted[];
  readonly keepVolume: readonly Deleted[];
  readonly source?: Partial<HttpSource>;
  readonly options?: (imports: Imports) => ImportOptions;
  /** The images come only when everything has been deleted. */
  readonly isHeld?: boolean;
  readonly until: (imports: Imports, name: string) => Promise<unknown>;
  /** Brings what the imports wait for. */
  readonly bring?: (imports: Imports) => Promise<void>;
}

describe("an object that a user deletes", { skip, concurrency: 2 }, () => {
  const cluster = clusterWithController();

  const phases: readonly Phase[] = [
    {
      name: "while the import is pending",
      deleted: DELETED,
      keepVolume: ["source", "worker", "nothing"],
      // No node has such a label: neither the worker has one, nor the volume.
      options: ({ namespace }) => ({
        storageClass: CSI_WAIT,
        annotations: {
          [ANNOTATIONS.immediateBind]: "",
          [ANNOTATIONS.placementNodeSelector]: JSON.stringify({ [`decant.test/${namespace}`]: "here" }),
        },
      }),
      until: async (imports, name) => {
        const { status } = await imports.untilStopped(name, "Unschedulable", /./);
        assert.equal(status?.phase, "Pending");
      },
      bring: async ({ namespace }) => await labelNode(`decant.test/${namespace}`, "here"),
    },
    {
      name: "while its worker is scheduled",
      deleted: DELETED,
      keepVolume: ["source", "worker", "nothing"],
      source: { certConfigMap: "authority" },
      until: async (imports, name) => await imports.until(name, ({ status }) => status?.phase === "ImportScheduled"),
      bring: async (imports) => {
        await withTemporaryFolder(async (folder) => {
          const data = { "ca.pem": makeAuthority(folder).certificate };
          await imports.create("configmaps", { metadata: { name: "authority" }, data });
        });
      },
    },
    {
      name: "while it is in progress",
      deleted: DELETED,
      keepVolume: ["source", "worker", "nothing"],
      isHeld: true,
      until: async (imports, name) => await imports.until(name, ({ status }) => status?.phase === "ImportInProgress"),
    },
    {
      name: "when it has succeeded",
      deleted: ["data-volume", "claim", "nothing"],
      keepVolume: ["nothing"],
      until: async (imports, name) => {
        await imports.untilSucceeded(name);
        await eventually(async () => {
          const { source, prime, worker } = await objectsOf(imports, name);
          assert.deepEqual({ source, prime, worker }, { source: undefined, prime: undefined, worker: undefined });
        });
      },
    },
  ];

  for (const { name, deleted, keepVolume, source, options, isHeld = false, until, bring } of phases) {
    it(name, async () => {
      await withHeldImages(cluster, DISKS, async ({ imports, urlOf, release }) => {
        if (!isHeld) release();
        for (const what of deleted) {
          const http = { ...source, url: urlOf(what) };
          await imports.start(what, { http }, { ...options?.(imports), volumeMode: "Block" });
        }
        await Promise.all(deleted.map(async (what) => await until(imports, what)));
        const before = new Map(
          await Promise.all(deleted.map(async (what) => [what, await objectsOf(imports, what)] as const)),
        );
        const remove = async ([what, objects]: readonly [Deleted, ImportObjects]): Promise<void> => {
          await deleteObject(imports, what, objects);
          await untilOwnedAreGone(imports, what, objects);
        };
        await Promise.all([...before].map(remove));
        try {
          release();
          await bring?.(imports);
          await assertEnds(cluster, imports, before, keepVolume);
        } finally {
          await labelNode(`decant.test/${imports.namespace}`, null);
        }
      });
    });
  }

  async function labelNode(label: string, value: string | null): Promise<void> {
    await cluster.api.request("PATCH", "/api/v1/nodes/node-2", { metadata: { labels: { [label]: value } } });
  }
});
