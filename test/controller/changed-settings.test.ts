/**
 * Settings of the cluster reach the next plan: what is planned after the controller has shown that it saw a change goes by it, and
 * while there are no settings no claim is made that would have to go by them.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ANNOTATIONS, CONFIG_NAME, GATE_HONOR_WAIT_FOR_FIRST_CONSUMER, primeName } from "../../controller/api/names.ts";
import type { FakeApiServer, Stored } from "../support/fake-api-server.ts";
import { storageDataVolume, withFakeCluster } from "../support/fake-cluster.ts";
import { CSI_CLASS, NAME, NAMESPACE } from "../support/observed-import.ts";
import { startController, until } from "../support/run-controller.ts";

const ROUNDS = 6;

describe("changed settings", () => {
  it("a gate that the controller has seen holds for every claim that is made after", async () => {
    await withFakeCluster(async ({ server }) => {
      const controller = startController(server.connect());
      await controller.started;
      for (let round = 0; round < ROUNDS; round++) {
        const isOn = round % 2 === 0;
        await setGates(server, isOn ? [GATE_HONOR_WAIT_FOR_FIRST_CONSUMER] : [], `https://${round}.example.org`);
        const claim = await madeClaim(server, `disk-${round}`);
        assert.equal(claim.metadata.annotations?.[ANNOTATIONS.immediateBind], isOn ? undefined : "", `round ${round}`);
      }
      await controller.stop();
    });
  });

  it("somebody deletes CDIConfig: nothing is made that would have to wait by it", async () => {
    await withFakeCluster(async ({ server }) => {
      const name = "waiting";
      const volumeBindingMode = "WaitForFirstConsumer";
      const waiting = { provisioner: "rancher.io/local-path", volumeBindingMode } as const;
      server.create({ apiVersion: "storage.k8s.io/v1", kind: "StorageClass", metadata: { name }, ...waiting });
      const controller = startController(server.connect());
      await controller.started;
      await madeClaim(server, "for-its-consumer", name);
      let isAsked = false;
      server.refuse = ({ verb, kind }) => {
        if (verb !== "create" || kind !== "CDIConfig") return undefined;
        isAsked = true;
        return { status: 403, reason: "Forbidden", message: "not now" };
      };
      const before = server.calls.length;
      server.delete(config(server));
      await until(
        () => isAsked,
        () => "nobody makes a new one",
      );
      const refused = server.calls.length;
      server.create(storageDataVolume(CSI_CLASS));
      await until(
        () => server.calls.slice(refused).some(({ kind }) => kind === "CDIConfig"),
        () => "nobody tries again",
      );
      assert.equal(server.find("PersistentVolumeClaim", NAME, NAMESPACE), undefined);
      server.refuse = () => undefined;
      const claim = await untilClaim(server, NAME);
      assert.equal(claim.metadata.annotations?.[ANNOTATIONS.immediateBind], undefined, "the new one has the gate");
      const workers = (): readonly string[] => {
        const made = server.calls.slice(before).filter(({ verb, kind }) => verb === "create" && kind === "Pod");
        return made.map((call) => call.name);
      };
      await until(
        () => workers().length > 0,
        () => "nobody fills the claim",
      );
      assert.deepEqual(workers(), [`importer-${primeName(claim.metadata.uid ?? "")}`]);
      await controller.stop();
    });
  });
});

function config(server: FakeApiServer): Stored {
  const found = server.find("CDIConfig", CONFIG_NAME);
  assert.ok(found);
  return found;
}

/** Until the controller has seen them: the address shows in the status. */
async function setGates(server: FakeApiServer, featureGates: readonly string[], address: string): Promise<void> {
  server.patch(config(server), { spec: { featureGates, uploadProxyURLOverride: address } });
  await until(
    () => config(server)["status"]?.uploadProxyURL === address,
    () => JSON.stringify(config(server)),
  );
}

async function madeClaim(server: FakeApiServer, name: string, storageClass = CSI_CLASS): Promise<Stored> {
  const dataVolume = storageDataVolume(storageClass);
  server.create({ ...dataVolume, metadata: { ...dataVolume.metadata, name } });
  return await untilClaim(server, name);
}

async function untilClaim(server: FakeApiServer, name: string): Promise<Stored> {
  const find = (): Stored | undefined => server.find("PersistentVolumeClaim", name, NAMESPACE);
  await until(
    () => find() !== undefined,
    () => `there is no ${name}`,
  );
  return find() as Stored;
}
