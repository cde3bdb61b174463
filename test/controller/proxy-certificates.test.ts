/**
 * The ConfigMap with the proxy's certificates: asked for as seldom as does, and by the whole controller brought to a worker.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ApiError } from "../../controller/api-error.ts";
import type { KubeObject } from "../../controller/api/kube.ts";
import { ProxyCertificates } from "../../controller/proxy-certificates.ts";
import { isWrite, storageDataVolume, untilSucceeded, withFakeCluster } from "../support/fake-cluster.ts";
import { cdiConfig, CSI_CLASS } from "../support/observed-import.ts";
import { startController } from "../support/run-controller.ts";
import { silentLog } from "../support/silent-log.ts";

const configNaming = (trustedCAProxy: string) => cdiConfig({}, { importProxy: { trustedCAProxy } });
const NOT_FOUND = new ApiError(404, "NotFound", "not found");
const CERTIFICATES = { "ca.pem": "one" };
const FOUND = { data: CERTIFICATES, binaryData: {} };

describe("ProxyCertificates", () => {
  it("asks once for all who plan at a moment, and again after a minute", async () => {
    const { certificates, asked, pass } = prepare(() => ({ data: CERTIFICATES }));
    await Promise.all([1, 2, 3].map(async () => await certificates.refresh(configNaming("ca"))));
    assert.deepEqual(certificates.found, FOUND);
    assert.deepEqual(asked, ["decant/ca"]);
    pass(59_000);
    await certificates.refresh(configNaming("ca"));
    assert.equal(asked.length, 1);
    pass(1000);
    await certificates.refresh(configNaming("ca"));
    assert.equal(asked.length, 2);
  });

  it("asks nobody where CDIConfig names none, and forgets when it names another", async () => {
    const { certificates, asked } = prepare((name) => ({ data: { name } }));
    for (const config of [undefined, cdiConfig(), configNaming("")]) await certificates.refresh(config);
    assert.deepEqual([certificates.found, asked], [undefined, []]);
    await certificates.refresh(configNaming("a"));
    await certificates.refresh(configNaming("b"));
    assert.deepEqual(certificates.found, { data: { name: "b" }, binaryData: {} });
    await certificates.refresh(configNaming(""));
    assert.equal(certificates.found, undefined);
    assert.deepEqual(asked, ["decant/a", "decant/b"]);
  });

  it("is the same object for as long as it says the same, and tells when it is due", async () => {
    let data = { ...CERTIFICATES };
    const { certificates, pass } = prepare(() => ({ data }));
    assert.equal(certificates.dueInMs, undefined);
    await certificates.refresh(configNaming("ca"));
    const { found } = certificates;
    assert.equal(certificates.dueInMs, 60_000);
    data = { ...CERTIFICATES };
    pass(60_000);
    await certificates.refresh(configNaming("ca"));
    assert.equal(certificates.found, found);
    data = { "ca.pem": "another" };
    pass(60_000);
    await certificates.refresh(configNaming("ca"));
    assert.notEqual(certificates.found, found);
  });

  it("says what is missing, and notices soon that it is there", async () => {
    let isThere = false;
    const { certificates, pass } = prepare(() => (isThere ? { data: CERTIFICATES } : NOT_FOUND));
    await certificates.refresh(configNaming("ca"));
    assert.match(JSON.stringify(certificates.found), /ConfigMap decant\/ca is missing, which CDIConfig names/);
    isThere = true;
    pass(5000);
    await certificates.refresh(configNaming("ca"));
    assert.deepEqual(certificates.found, FOUND);
  });

  it("keeps what it has while the API server does not answer, not when it is gone", async () => {
    let answer: object = { data: CERTIFICATES };
    const { certificates, pass } = prepare(() => answer);
    const ask = async (): Promise<void> => {
      pass(60_000);
      await certificates.refresh(configNaming("ca"));
    };
    await ask();
    answer = new ApiError(503, "", "overloaded");
    await ask();
    assert.deepEqual(certificates.found, FOUND);
    answer = NOT_FOUND;
    await ask();
    assert.match(JSON.stringify(certificates.found), /is missing/);
  });

  it("takes nothing but texts", async () => {
    for (const [data, wanted] of [
      [undefined, {}],
      ["text", {}],
      [{ "ca.pem": "one", number: 1, nothing: null }, CERTIFICATES],
    ] as const) {
      const { certificates } = prepare(() => ({ data, binaryData: data }));
      await certificates.refresh(configNaming("ca"));
      assert.deepEqual(certificates.found, { data: wanted, binaryData: wanted });
    }
  });

  it("come to the worker in its own namespace", async () => {
    await withFakeCluster(async ({ server }) => {
      const metadata = { namespace: "decant", name: "proxy-ca" };
      server.create({ apiVersion: "v1", kind: "ConfigMap", metadata, data: CERTIFICATES } as KubeObject);
      const { metadata: named, ...config } = cdiConfig({ importProxy: { trustedCAProxy: "proxy-ca" } });
      server.create({ ...config, metadata: { name: named.name } });
      const controller = startController(server.connect());
      await controller.started;
      server.create(storageDataVolume(CSI_CLASS));
      await untilSucceeded(server);
      await controller.stop();
      const made = server.calls.filter((call) => isWrite(call) && /^(ConfigMap|Pod)$/.test(call.kind));
      assert.deepEqual(
        made.slice(0, 2).map(({ verb, kind }) => `${verb} ${kind}`),
        ["create ConfigMap", "create Pod"],
      );
      assert.deepEqual(made[0]?.body?.["data"], CERTIFICATES);
      assert.equal(made[0]?.body?.metadata.namespace, "images");
    });
  });
});

function prepare(answer: (name: string) => object) {
  const asked: string[] = [];
  let time = 0;
  const get = async (_: unknown, name: string, namespace?: string): Promise<KubeObject> => {
    asked.push(`${namespace}/${name}`);
    const given = answer(name);
    if (given instanceof Error) throw given;
    return given as KubeObject;
  };
  const log = silentLog();
  const certificates = new ProxyCertificates({ client: { get }, log, now: () => time, namespace: "decant" });
  return { certificates, asked, pass: (ms: number) => (time += ms) };
}
