/**
 * What an import costs the API server: every write, in its order, where the controller sees each thing that happens. Whoever
 * adds one changes the golden file, and has to say what for.
 *
 * What is not seen one by one (a worker that has ended by the time that anybody looks) costs less; plan/crash.test.ts counts
 * that.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { KubeObject } from "../../controller/api/kube.ts";
import type { Call, FakeApiServer, Stored } from "../support/fake-api-server.ts";
import {
  assertFilled,
  IMMEDIATE,
  isWrite,
  storageDataVolume,
  untilSucceeded,
  withFakeCluster,
} from "../support/fake-cluster.ts";
import { golden } from "../support/golden.ts";
import { CSI_CLASS, LOCAL_CLASS, NAME, NAMESPACE } from "../support/observed-import.ts";
import { startController, until } from "../support/run-controller.ts";

/** For a real import, with events; and from the end of its worker until it has Succeeded, where each is a round trip. */
const MAX_WRITES = 22;
const MAX_WRITES_AFTER_END = 7;

const SOURCE: KubeObject = {
  apiVersion: "cdi.kubevirt.io/v1beta1",
  kind: "VolumeImportSource",
  metadata: { namespace: NAMESPACE, name: "shared" },
  spec: { source: { http: { url: "http://images.example.org/disk.qcow2" } } },
} as KubeObject;

const CLAIM: KubeObject = {
  apiVersion: "v1",
  kind: "PersistentVolumeClaim",
  metadata: { namespace: NAMESPACE, name: NAME },
  spec: {
    storageClassName: CSI_CLASS,
    accessModes: ["ReadWriteOnce"],
    resources: { requests: { storage: "10Gi" } },
    dataSourceRef: { apiGroup: "cdi.kubevirt.io", kind: SOURCE.kind, name: SOURCE.metadata.name },
  },
} as KubeObject;

const IMPORTS: Readonly<Record<string, readonly KubeObject[]>> = {
  "a DataVolume, by a prime": [storageDataVolume(CSI_CLASS)],
  "a DataVolume, in place": [storageDataVolume(LOCAL_CLASS, IMMEDIATE)],
  "a claim made by hand": [SOURCE, CLAIM],
};

interface Costs {
  readonly writes: readonly Call[];
  /** Of them, those until the worker ended, and until the import had succeeded. */
  readonly untilEnd: number;
  readonly untilSuccess: number;
  readonly reads: readonly Call[];
}

const costs: Record<string, Costs> = {};
for (const [name, objects] of Object.entries(IMPORTS)) costs[name] = await costsOf(objects);

describe("the writes of an import", () => {
  it("are those of the golden file", () => {
    const text = Object.entries(costs)
      .map(([name, cost]) => story(name, cost))
      .join("\n");
    assert.equal(
      text,
      golden("controller/writes.txt", () => text),
    );
  });

  for (const [name, { writes, untilEnd, untilSuccess, reads }] of Object.entries(costs)) {
    it(`are few, and each changes something: ${name}`, () => {
      assert.ok(writes.length <= MAX_WRITES, `${writes.length} writes`);
      assert.ok(untilSuccess - untilEnd <= MAX_WRITES_AFTER_END, `${untilSuccess - untilEnd} after the worker's end`);
      const empty = writes.filter(({ isEmpty }) => isEmpty === true);
      assert.deepEqual(empty, []);
      assert.deepEqual(reads, []);
    });
  }
});

async function costsOf(objects: readonly KubeObject[]): Promise<Costs> {
  let untilEnd = 0;
  let writesSoFar = (): number => 0;
  const result = Promise.withResolvers<Costs>();
  const endOf = () => {
    untilEnd = writesSoFar();
    return { exitCode: 0, message: JSON.stringify({ message: "Import Complete" }) };
  };
  await withFakeCluster(
    async ({ server, nodes }) => {
      const controller = startController(server.connect());
      await controller.started;
      const before = server.calls.length;
      const calls = (): Call[] => server.calls.slice(before).filter(({ kind }) => kind !== "Lease");
      writesSoFar = () => calls().filter(isWrite).length;
      for (const object of objects) server.create(object);
      if (objects.includes(CLAIM)) await untilBound(server);
      else await untilSucceeded(server);
      await controller.stop();
      assertFilled(server, nodes);
      const writes = calls().filter(isWrite);
      // Of a claim made by hand, all but what is cleared away in the end.
      const untilSuccess =
        writes.findIndex(saysSucceeded) + 1 || writes.findLastIndex(({ verb }) => verb !== "delete") + 1;
      result.resolve({ writes, untilEnd, untilSuccess, reads: calls().filter((call) => !isWrite(call)) });
    },
    { isPatient: true, endOf },
  );
  return await result.promise;
}

async function untilBound(server: FakeApiServer): Promise<void> {
  const claims = (): Stored[] => server.all("PersistentVolumeClaim");
  const isDone = (): boolean => claims().length === 1 && claims()[0]?.["status"].phase === "Bound";
  await until(isDone, () => JSON.stringify(claims()));
}

function saysSucceeded({ kind, body }: Call): boolean {
  return kind === "DataVolume" && body?.["status"]?.phase === "Succeeded";
}

/** As a reader of the diff wants it: what happened in between, too. */
function story(name: string, { writes, untilEnd, untilSuccess }: Costs): string {
  const lines = writes.map((call) => `  ${shown(call)}`);
  lines.splice(untilSuccess, 0, "  -- it has succeeded");
  lines.splice(untilEnd, 0, "  -- the worker has ended");
  const kinds = Map.groupBy(writes, ({ verb, kind }) => `${verb} ${kind}`);
  const counts = [...kinds].map(([kind, { length }]) => `${length} ${kind}`).sort();
  return [`${name}: ${writes.length} writes`, ...lines, `  = ${counts.join(", ")}`, ""].join("\n");
}

/** Without UIDs, which differ from run to run; of a patch, what it is about. */
function shown({ verb, kind, name, body }: Call): string {
  if (kind === "Event") return `${verb} ${kind} ${body?.["reason"]} of ${body?.["involvedObject"].kind}`;
  const role = name.startsWith("prime-") ? "prime" : name === NAME ? "target" : "";
  const which = kind === "PersistentVolumeClaim" ? ` ${role}` : "";
  return `${verb} ${kind}${which}${verb === "patch" ? `: ${changed(body)}` : ""}`;
}

function changed(body: Call["body"]): string {
  const { metadata, ...rest } = body ?? ({} as Stored);
  const { uid: _, resourceVersion: __, ...meta } = metadata;
  const status = Object.hasOwn(rest, "status") ? [`status ${rest["status"].phase ?? ""}`.trim()] : [];
  const others = Object.keys(rest).filter((key) => key !== "status");
  const spec = Object.keys(rest["spec"] ?? {});
  return [...Object.keys(meta), ...others.flatMap((key) => (key === "spec" ? spec : key)), ...status].join(", ");
}
