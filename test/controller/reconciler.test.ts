/**
 * What the API server refuses is told, and asked for again until the cause is gone.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Stored } from "../support/fake-api-server.ts";
import { assertFilled, storageDataVolume, untilSucceeded, withFakeCluster } from "../support/fake-cluster.ts";
import type { FakeCluster } from "../support/fake-cluster.ts";
import { CSI_CLASS, LOCAL_CLASS, NAME, NAMESPACE } from "../support/observed-import.ts";
import { startController, until } from "../support/run-controller.ts";

const QUOTA = {
  status: 403,
  reason: "Forbidden",
  message: "pods is forbidden: exceeded quota: small, requested: pods=1",
};
const IMMEDIATE = { "cdi.kubevirt.io/storage.bind.immediate.requested": "" };

describe("an import that the API server refuses something", () => {
  for (const [kind, storageClass] of [
    ["Pod", CSI_CLASS],
    ["Pod", LOCAL_CLASS],
    ["PersistentVolumeClaim", CSI_CLASS],
  ] as const) {
    it(`says so, asks seldom, and heals by itself: ${kind}, ${storageClass}`, async () => {
      await withFakeCluster(async ({ server, nodes }) => {
        let refused = 0;
        server.refuse = (call) => {
          if (call.verb !== "create" || call.kind !== kind) return undefined;
          refused += 1;
          return QUOTA;
        };
        const controller = startController(server.connect());
        await controller.started;
        server.create(storageDataVolume(storageClass, IMMEDIATE));
        await until(
          () => conditions({ server, nodes }).some(({ message }) => String(message).includes("exceeded quota")),
          () => JSON.stringify(server.find("DataVolume", NAME, NAMESPACE)),
        );
        assert.ok(refused <= 2, `it was asked for ${refused} times`);
        server.refuse = () => undefined;
        await untilSucceeded(server);
        await controller.stop();
        assertFilled(server, nodes);
      });
    });
  }
});

describe("a worker whose scratch space the API server refuses", () => {
  for (const storageClass of [CSI_CLASS, LOCAL_CLASS]) {
    it(`waits, says so, and goes on when there is room: ${storageClass}`, async () => {
      const hasScratch = (pod: Stored): boolean => {
        return pod["spec"].volumes.some(({ name }: Stored["volume"]) => name === "cdi-scratch-vol");
      };
      const endOf = (pod: Stored) => ({
        exitCode: 0,
        message: JSON.stringify({ scratchSpaceRequired: !hasScratch(pod), message: "Import Complete" }),
      });
      await withFakeCluster(
        async ({ server, nodes }) => {
          let refused = 0;
          server.refuse = ({ verb, name }) => {
            if (verb !== "create" || !name.endsWith("-scratch")) return undefined;
            refused += 1;
            return QUOTA;
          };
          const controller = startController(server.connect());
          await controller.started;
          server.create(storageDataVolume(storageClass, IMMEDIATE));
          await until(
            () => conditions({ server, nodes }).some(({ message }) => String(message).includes("exceeded quota")),
            () => JSON.stringify(server.find("DataVolume", NAME, NAMESPACE)),
          );
          assert.ok(refused <= 2, `it was asked for ${refused} times`);
          server.refuse = () => undefined;
          await untilSucceeded(server);
          await controller.stop();
        },
        { endOf },
      );
    });
  }
});

describe("an import of which the API server refuses a change", () => {
  for (const [verb, kind, storageClass] of [
    ["patch", "PersistentVolumeClaim", CSI_CLASS],
    ["patch", "PersistentVolumeClaim", LOCAL_CLASS],
    ["delete", "Pod", LOCAL_CLASS],
  ] as const) {
    it(`says so, does nothing that relies on it, and heals by itself: ${verb} ${kind}, ${storageClass}`, async () => {
      await withFakeCluster(async ({ server, nodes }) => {
        let refused = 0;
        server.refuse = (call) => {
          if (call.verb !== verb || call.kind !== kind) return undefined;
          refused += 1;
          return { status: 403, reason: "Forbidden", message: "a webhook says no" };
        };
        const controller = startController(server.connect());
        await controller.started;
        server.create(storageDataVolume(storageClass, IMMEDIATE));
        const said = (): boolean =>
          conditions({ server, nodes }).some(({ message }) => /a webhook says no/.test(String(message)));
        await until(
          () => (kind === "Pod" ? refused > 0 : said()),
          () => JSON.stringify(server.find("DataVolume", NAME, NAMESPACE)),
        );
        assert.ok(refused <= 2, `it was asked for ${refused} times`);
        assert.deepEqual(nodes.destroyed, []);
        server.refuse = () => undefined;
        await untilSucceeded(server);
        await controller.stop();
        assertFilled(server, nodes);
      });
    });
  }
});

function conditions({ server }: FakeCluster): readonly { readonly message?: unknown }[] {
  return server.find("DataVolume", NAME, NAMESPACE)?.["status"]?.conditions ?? [];
}
