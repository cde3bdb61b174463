import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  assertFilled,
  IMMEDIATE,
  storageDataVolume,
  untilSucceeded,
  withFakeCluster,
  WRITES,
} from "../support/fake-cluster.ts";
import { CSI_CLASS, LOCAL_CLASS } from "../support/observed-import.ts";
import { startController } from "../support/run-controller.ts";

describe("a controller that is killed between any two calls", () => {
  for (const [path, storageClass, annotations] of [
    ["by a prime", CSI_CLASS, {}],
    ["in place", LOCAL_CLASS, IMMEDIATE],
  ] as const) {
    it(`is followed by one that comes to the same end: ${path}`, async () => {
      let round = 1;
      while (await killAndFollow(round, storageClass, annotations)) round += 1;
      assert.ok(round > 8, `${round} rounds`);
    });
  }
});

/**
 * Kills the controller instead of its write of this number.
 * @returns false if it made fewer
 */
async function killAndFollow(killAt: number, storageClass: string, annotations: object): Promise<boolean> {
  let writes = 0;
  await withFakeCluster(async ({ server, nodes }) => {
    server.create(storageDataVolume(storageClass, annotations as Record<string, string>));
    const { promise: killed, resolve: onKilled } = Promise.withResolvers<void>();
    const first = startController(server.connect(), {
      onCall: (verb) => {
        if (!WRITES.has(verb) || ++writes < killAt) return;
        onKilled();
        throw new Error("killed");
      },
    });
    await Promise.race([killed, untilSucceeded(server)]);
    await first.kill();
    const second = startController(server.connect());
    await untilSucceeded(server);
    await second.stop();
    assertFilled(server, nodes);
  });
  return writes >= killAt;
}
