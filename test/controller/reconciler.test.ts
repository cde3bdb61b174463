/**
 * What the API server refuses is told, and asked for again until the cause is gone; nothing is done meanwhile that relies on it.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Call, Stored } from "../support/fake-api-server.ts";
import {
  assertFilled,
  IMMEDIATE,
  storageDataVolume,
  untilSucceeded,
  withFakeCluster,
} from "../support/fake-cluster.ts";
import type { FakeCluster } from "../support/fake-cluster.ts";
import type { FakeNodesOptions } from "../support/fake-nodes.ts";
import { CSI_CLASS, LOCAL_CLASS, NAME, NAMESPACE } from "../support/observed-import.ts";
import { startController, until } from "../support/run-controller.ts";

const QUOTA = "pods is forbidden: exceeded quota: small, requested: pods=1";
const WEBHOOK = 'admission webhook "guard.example.org" denied the request: not today';

interface Row {
  readonly what: string;
  readonly message: string;
  readonly isIt: (call: Call) => boolean;
  readonly workers?: FakeNodesOptions;
  /** Once the import has succeeded, its status says nothing of it any more. */
  readonly isAfterEnd?: true;
}

const ROWS: readonly Row[] = [
  { what: "a worker", message: QUOTA, isIt: ({ verb, kind }) => verb === "create" && kind === "Pod" },
  {
    what: "a claim",
    message: QUOTA,
    isIt: ({ verb, kind }) => verb === "create" && kind === "PersistentVolumeClaim",
  },
  {
    what: "scratch space",
    message: QUOTA,
    isIt: ({ verb, name }) => verb === "create" && name.endsWith("-scratch"),
    workers: { endOf: wantsScratch },
  },
  {
    what: "a change of a claim",
    message: WEBHOOK,
    isIt: ({ verb, kind }) => verb === "patch" && kind === "PersistentVolumeClaim",
  },
  {
    what: "the removal of what has done its work",
    message: WEBHOOK,
    isIt: ({ verb, kind }) => verb === "delete" && (kind === "Pod" || kind === "PersistentVolumeClaim"),
    isAfterEnd: true,
  },
];

describe("an import that the API server refuses something", () => {
  for (const storageClass of [CSI_CLASS, LOCAL_CLASS]) {
    for (const { what, message, isIt, workers, isAfterEnd } of ROWS) {
      it(`says so, asks seldom, and heals by itself: ${what}, ${storageClass}`, async () => {
        const useCluster = async ({ server, nodes }: FakeCluster): Promise<void> => {
          let refused = 0;
          server.refuse = (call) => {
            if (!isIt(call)) return undefined;
            refused += 1;
            return { status: 403, reason: "Forbidden", message };
          };
          const controller = startController(server.connect());
          await controller.started;
          server.create(storageDataVolume(storageClass, IMMEDIATE));
          const conditions = (): Stored[] => server.find("DataVolume", NAME, NAMESPACE)?.["status"]?.conditions ?? [];
          await until(
            () => (isAfterEnd ? refused > 0 : conditions().some(({ message: said = "" }) => said.includes(message))),
            () => JSON.stringify(conditions()),
          );
          assert.ok(refused <= 2, `it was asked for ${refused} times`);
          assert.deepEqual(nodes.destroyed, []);
          server.refuse = () => undefined;
          await untilSucceeded(server);
          await controller.stop();
          // What was on scratch space goes with it.
          if (workers === undefined) assertFilled(server, nodes);
        };
        await withFakeCluster(useCluster, workers);
      });
    }
  }
});

function wantsScratch(pod: Stored): { readonly exitCode: number; readonly message: string } {
  const hasScratch = pod["spec"].volumes.some(({ name }: Stored["volume"]) => name === "cdi-scratch-vol");
  return { exitCode: 0, message: JSON.stringify({ scratchSpaceRequired: !hasScratch, message: "Import Complete" }) };
}
