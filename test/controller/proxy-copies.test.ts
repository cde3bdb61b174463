/**
 * The certificates of the proxy change while an import runs: its copy follows, with one patch and few questions, and once the
 * import is done nobody asks any more.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ApiClient } from "../../controller/api-client.ts";
import type { KubeObject } from "../../controller/api/kube.ts";
import { ClusterCache } from "../../controller/cache.ts";
import { EventWriter } from "../../controller/event-writer.ts";
import { ProxyCopies } from "../../controller/proxy-copies.ts";
import { Reconciler } from "../../controller/reconciler.ts";
import { FakeApiServer } from "../support/fake-api-server.ts";
import type { Stored } from "../support/fake-api-server.ts";
import { shownCall } from "../support/fake-cluster.ts";
import { cdiConfig, claim, NAME, NAMESPACE, settings } from "../support/observed-import.ts";
import { silentLog } from "../support/silent-log.ts";
import { legacyTarget } from "../support/worker-plan.ts";

const COPY = `import-proxy-cm-${NAME}`;
const MINUTE_MS = 60_000;
const ASKED_FOR = "get ConfigMap proxy-ca";

describe("the copy of the proxy's certificates", () => {
  it("follows the administrator's while the import runs", async () => {
    await withImport(async ({ server, asked, plan, pass, see }) => {
      let original = server.create(administrators({ "ca.pem": "old", "old.pem": "old" }));
      const copied = (): unknown => server.find("ConfigMap", COPY, NAMESPACE)?.["data"];
      await plan();
      assert.deepEqual(asked(), [ASKED_FOR, `create ConfigMap ${COPY}`, `create Pod importer-${NAME}`]);
      see("Pod", { status: { phase: "Running", containerStatuses: RUNNING } });
      assert.equal(await plan(), MINUTE_MS);
      assert.deepEqual(asked(), [`get ConfigMap ${COPY}`, `patch PersistentVolumeClaim ${NAME}`]);
      pass(MINUTE_MS);
      await plan();
      assert.deepEqual(asked(), [ASKED_FOR], "nothing has changed");

      original = server.update(original, { data: { "ca.pem": "new", "old.pem": null } });
      pass(MINUTE_MS - 1);
      await plan();
      assert.deepEqual(asked(), []);
      pass(1);
      await plan();
      assert.deepEqual(asked(), [ASKED_FOR, `get ConfigMap ${COPY}`, `patch ConfigMap ${COPY}`]);
      assert.deepEqual(copied(), { "ca.pem": "new" });
      await plan();
      assert.deepEqual(asked(), [`get ConfigMap ${COPY}`], "it is seen to be new");
      await plan();
      assert.deepEqual(asked(), []);

      server.delete(server.find("ConfigMap", COPY, NAMESPACE) ?? assert.fail());
      server.update(original, { data: { "ca.pem": "newer" } });
      pass(MINUTE_MS);
      await plan();
      assert.deepEqual(asked(), [ASKED_FOR, `get ConfigMap ${COPY}`, `create ConfigMap ${COPY}`]);
      assert.deepEqual(copied(), { "ca.pem": "newer" });

      see("Pod", { status: { phase: "Succeeded", containerStatuses: ENDED } });
      await plan();
      asked();
      server.update(original, { data: { "ca.pem": "last" } });
      pass(MINUTE_MS);
      assert.equal(await plan(), undefined);
      assert.ok(!asked().some((call) => call.includes(COPY)));
      assert.deepEqual(copied(), { "ca.pem": "newer" });
    });
  });

  it("holds the import up in nothing where it may not be read or changed", async () => {
    const refusal = { status: 403, reason: "Forbidden", message: "configmaps is forbidden" };
    for (const verb of ["get", "patch"]) {
      await withImport(async ({ server, plan, pass, see }) => {
        const original = server.create(administrators({ "ca.pem": "old" }));
        await plan();
        server.refuse = (call) => (call.verb === verb && call.name === COPY ? refusal : undefined);
        server.update(original, { data: { "ca.pem": "new" } });
        pass(MINUTE_MS);
        see("Pod", { status: { phase: "Succeeded", containerStatuses: ENDED } });
        await plan();
        await plan();
        const target = server.find("PersistentVolumeClaim", NAME, NAMESPACE);
        assert.equal(target?.metadata.annotations?.["cdi.kubevirt.io/storage.pod.phase"], "Succeeded", verb);
      });
    }
  });

  it("is remembered no longer than its claim", async () => {
    let questions = 0;
    const find = async (): Promise<KubeObject> => {
      questions += 1;
      return { ...administrators({}), binaryData: {} } as KubeObject;
    };
    const copies = new ProxyCopies({ client: { find }, log: silentLog() });
    const certificates = { data: {}, binaryData: {} };
    const look = async () => await copies.look(claim(), certificates);
    await look();
    assert.equal(await look(), undefined);
    assert.equal(questions, 1);
    copies.forget(claim().metadata.uid ?? "");
    await look();
    assert.equal(questions, 2);
    for (const none of [undefined, { missing: "it is missing" }]) {
      assert.equal(await copies.look(claim({ name: "another" }), none), undefined);
    }
    assert.equal(questions, 2);
  });
});

const RUNNING = [{ name: "importer", restartCount: 0, state: { running: {} } }];
const ENDED = [{ name: "importer", restartCount: 0, state: { terminated: { exitCode: 0, reason: "Completed" } } }];

interface Import {
  readonly server: FakeApiServer;
  /** Plans it. @returns in how many milliseconds it is to be planned again */
  readonly plan: () => Promise<number | undefined>;
  /** What the API server was asked since this was asked. */
  readonly asked: () => string[];
  readonly pass: (ms: number) => void;
  /** Somebody else changes the only object of the kind, and the controller sees it. */
  readonly see: (kind: string, change: Record<string, unknown>) => void;
}

/** A bound claim to be filled in place, in a cluster whose CDIConfig names the proxy's certificates. */
async function withImport(use: (made: Import) => Promise<void>): Promise<void> {
  const server = new FakeApiServer();
  await server.start();
  const connection = server.connect();
  const cache = new ClusterCache();
  const client = new ApiClient(connection);
  let time = Date.now();
  const reconciler = new Reconciler({
    client,
    cache,
    log: silentLog(),
    now: () => time,
    events: new EventWriter({ client, log: silentLog(), now: () => new Date(time), identity: "replica" }),
    namespace: "decant",
    settings: settings(),
    progressOf: () => undefined,
    isCrowded: () => false,
  });
  const see = (kind: string, change: Record<string, unknown>): void => {
    const [only = assert.fail(`there is no ${kind}`)] = server.all(kind);
    cache.apply(server.update(only, change));
  };
  try {
    cache.apply(server.create(cdiConfig({}, { importProxy: { trustedCAProxy: "proxy-ca" } })));
    server.create(legacyTarget());
    see("PersistentVolumeClaim", { status: { phase: "Bound" } });
    let from = server.calls.length;
    await use({
      server,
      plan: async () => {
        const result = await reconciler.work(`import/${NAMESPACE}/${NAME}`);
        assert.equal(result.result, "done");
        return "againAfterMs" in result ? result.againAfterMs : undefined;
      },
      asked: () => {
        const calls = server.calls.slice(from).filter(({ kind }) => kind !== "Event");
        from = server.calls.length;
        return calls.map(shownCall);
      },
      pass: (ms) => void (time += ms),
      see,
    });
  } finally {
    connection.close();
    await server.stop();
  }
}

function administrators(data: Readonly<Record<string, string>>): Stored {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { namespace: "decant", name: "proxy-ca" }, data };
}
