import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import {
  assertFilled,
  IMMEDIATE,
  isWrite,
  shownCall,
  storageDataVolume,
  untilSucceeded,
  withFakeCluster,
} from "../support/fake-cluster.ts";
import { CSI_CLASS, LOCAL_CLASS } from "../support/observed-import.ts";
import { startController } from "../support/run-controller.ts";

/** For an import whose worker may have ended before it is seen, events included; writes.test.ts names each. */
const MAX_WRITES = 21;

describe("the controller", () => {
  it("takes a DataVolume to a bound claim with the disk, by a prime", async () => {
    await withFakeCluster(async ({ server, nodes }) => {
      const controller = startController(server.connect());
      await controller.started;
      const before = server.calls.length;
      server.create(storageDataVolume(CSI_CLASS));
      await untilSucceeded(server);
      await controller.stop();
      assertFilled(server, nodes);
      const writes = server.calls.slice(before).filter(isWrite);
      assert.deepEqual(
        writes.filter(({ isEmpty }) => isEmpty === true),
        [],
        "no patch says what is so already",
      );
      assert.ok(writes.length <= MAX_WRITES, `${writes.length} writes: ${writes.map(shownCall).join(", ")}`);
    });
  });

  it("takes a DataVolume to a bound claim with the disk, in place", async () => {
    await withFakeCluster(async ({ server, nodes }) => {
      const controller = startController(server.connect());
      await controller.started;
      server.create(storageDataVolume(LOCAL_CLASS, IMMEDIATE));
      await untilSucceeded(server);
      await controller.stop();
      assertFilled(server, nodes);
    });
  });

  it("writes nothing while nothing happens", async () => {
    await withFakeCluster(async ({ server }) => {
      server.create(storageDataVolume(CSI_CLASS));
      const controller = startController(server.connect());
      await untilSucceeded(server);
      await sleep(200);
      const before = server.calls.length;
      await sleep(1000);
      assert.deepEqual(server.calls.slice(before).filter(isWrite), []);
      await controller.stop();
    });
  });
});
