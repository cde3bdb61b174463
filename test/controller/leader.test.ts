/**
 * One controller at a time: the Lease is kept while the work begins, what ends it then, and who else is looked for.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LEASE } from "../../controller/api/kinds.ts";
import type { KubeObject } from "../../controller/api/kube.ts";
import type { FakeApiServer } from "../support/fake-api-server.ts";
import { isWrite, withFakeCluster } from "../support/fake-cluster.ts";
import { handClock } from "../support/hand-clock.ts";
import type { HandClock } from "../support/hand-clock.ts";
import { startController, until } from "../support/run-controller.ts";

/** So little at a time that a call is answered before it counts as silence. */
const STEP_MS = 200;
const RENEWALS = 4;

describe("a controller whose cache is not filled yet", () => {
  it("keeps its Lease, though the CRDs and the first lists take long", async () => {
    for (const slow of ["CustomResourceDefinition", "PersistentVolumeClaim"]) {
      await withFakeCluster(async ({ server }) => {
        const { promise: released, resolve: release } = Promise.withResolvers<void>();
        server.hold = async (_, kind) => (kind === slow ? await released : undefined);
        const clock = handClock();
        const controller = startController(server.connect(), { clock });
        await passTime(server, clock, () => renewals(server) >= RENEWALS);
        release();
        await controller.started;
        assert.equal(await controller.stop(), "stopped");
      });
    }
  });

  it("ends at once when it is told to, and gives the Lease back", async () => {
    for (const slow of ["CustomResourceDefinition", "PersistentVolumeClaim"]) {
      await withFakeCluster(async ({ server }) => {
        const { promise: asked, resolve: onAsked } = Promise.withResolvers<void>();
        server.hold = async (_, kind) => {
          if (kind !== slow) return;
          onAsked();
          await new Promise(() => undefined);
        };
        const controller = startController(server.connect());
        await asked;
        assert.equal(await controller.stop(), "stopped");
        assert.equal(holder(server), "");
        assert.deepEqual(server.calls.filter(isWrite), []);
      });
    }
  });

  it("ends when the Lease is taken from it", async () => {
    await withFakeCluster(async ({ server }) => {
      server.hold = async (_, kind) => (kind === "Pod" ? await new Promise(() => undefined) : undefined);
      const clock = handClock();
      const controller = startController(server.connect(), { clock });
      await passTime(server, clock, () => holder(server) === "replica");
      server.update(lease(server), { spec: { holderIdentity: "another" } });
      await passTimeUntil(controller.ended, server, clock);
      assert.equal(await controller.ended, "lost");
      assert.equal(holder(server), "another");
    });
  });
});

describe("a controller that holds the Lease", () => {
  it("ends when the API server is silent for too long", async () => {
    await withFakeCluster(async ({ server }) => {
      const clock = handClock();
      const controller = startController(server.connect(), { clock });
      await controller.started;
      server.hold = async (_, kind) => (kind === "Lease" ? await new Promise(() => undefined) : undefined);
      await passTimeUntil(controller.ended, server, clock);
      assert.equal(await controller.ended, "lost");
    });
  });
});

describe("a controller that is not alone", () => {
  for (const [name, namespace, isCompany] of [
    ["decant-controller", "elsewhere", true],
    ["cdi-controller-leader-election-helper", "cdi", true],
    ["cdi-controller-leader-election-helper", "decant", true],
    ["another-controller", "elsewhere", false],
  ] as const) {
    it(`${isCompany ? "refuses to work beside" : "does not mind"} the Lease ${namespace}/${name}`, async () => {
      await withFakeCluster(async ({ server }) => {
        server.create(leaseOf(namespace, name, new Date()));
        const controller = startController(server.connect());
        if (isCompany) {
          await assert.rejects(controller.ended, new RegExp(`it holds the Lease ${namespace}/${name}; stop it first$`));
          assert.deepEqual(
            server.calls.filter(({ verb }) => verb !== "list"),
            [],
          );
        } else {
          await controller.started;
          await controller.stop();
        }
      });
    });
  }

  it("does not mind one that has gone without a word", async () => {
    await withFakeCluster(async ({ server }) => {
      server.create(leaseOf("elsewhere", "decant-controller", new Date(Date.now() - 60_000)));
      const controller = startController(server.connect());
      await controller.started;
      await controller.stop();
    });
  });

  it("waits for another replica of its own", async () => {
    await withFakeCluster(async ({ server }) => {
      const clock = handClock();
      const first = startController(server.connect(), { identity: "first", clock });
      await first.started;
      const second = startController(server.connect(), { identity: "second", clock });
      await passTime(server, clock, () => renewals(server) >= RENEWALS);
      assert.equal(holder(server), "first");
      const waiting = second.lines.filter(({ msg }) => msg === "another replica works, and this one waits");
      assert.deepEqual(
        waiting.map(({ holder: who }) => who),
        ["first"],
        "it says once whom it waits for",
      );
      await first.stop();
      await passTimeUntil(second.started, server, clock);
      assert.equal(holder(server), "second");
      await second.stop();
    });
  });
});

async function passTime(server: FakeApiServer, clock: HandClock, isTrue: () => boolean): Promise<void> {
  await until(
    () => {
      clock.advance(STEP_MS);
      return isTrue();
    },
    () => shownCalls(server),
  );
}

async function passTimeUntil(promise: Promise<unknown>, server: FakeApiServer, clock: HandClock): Promise<void> {
  let isSettled = false;
  void promise.finally(() => (isSettled = true));
  await passTime(server, clock, () => isSettled);
}

function shownCalls(server: FakeApiServer): string {
  return server.calls.map(({ verb, kind }) => `${verb} ${kind}`).join(", ");
}

function lease(server: FakeApiServer) {
  return server.find("Lease", "decant-controller", "decant") ?? assert.fail("there is no Lease");
}

function holder(server: FakeApiServer): string | undefined {
  return server.find("Lease", "decant-controller", "decant")?.["spec"].holderIdentity;
}

function renewals(server: FakeApiServer): number {
  return server.calls.filter(({ verb, kind }) => verb === "patch" && kind === "Lease").length;
}

function leaseOf(namespace: string, name: string, renewed: Date): KubeObject {
  const { apiVersion, kind } = LEASE;
  const renewTime = renewed.toISOString().replace("Z", "000Z");
  const spec = { holderIdentity: "somebody", leaseDurationSeconds: 15, renewTime };
  return { apiVersion, kind, metadata: { namespace, name }, spec } as KubeObject;
}
