import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { KubeObject, Pod } from "../../controller/api/kube.ts";
import { ANNOTATIONS, LABELS } from "../../controller/api/names.ts";
import { mountedClaims } from "../../controller/api/pods.ts";
import { ClusterCache } from "../../controller/cache.ts";
import { endingOf, hasScratch } from "../../controller/plan/worker/ending.ts";
import { runningState, workerStatus } from "../../controller/plan/worker/running-state.ts";
import { progressPageOf } from "../../controller/progress.ts";
import { NAMESPACE } from "../support/observed-import.ts";
import { legacyTarget, planWith } from "../support/worker-plan.ts";

describe("ClusterCache", () => {
  it("keeps the newer version, whichever way and in whatever order they come", () => {
    const cache = new ClusterCache();
    for (const [version, expected] of [
      ["9", "9"],
      ["10", "10"],
      ["9", "10"],
      ["99999999999999999999", "99999999999999999999"],
      ["100000000000000000000", "100000000000000000000"],
      ["11", "100000000000000000000"],
    ] as const) {
      cache.apply(claim("a", { resourceVersion: version }));
      assert.equal(cache.claims.get(NAMESPACE, "a")?.metadata.resourceVersion, expected);
    }
  });

  it("tells of a change once, though it hears of it twice", () => {
    const changes: string[] = [];
    const cache = new ClusterCache((kind, before, after) => {
      changes.push(`${kind} ${before?.metadata.resourceVersion} ${after?.metadata.resourceVersion}`);
    });
    cache.apply(claim("a", { resourceVersion: "1" }));
    cache.apply(claim("a", { resourceVersion: "2" }));
    cache.apply(claim("a", { resourceVersion: "2" }));
    cache.forget(claim("a", {}));
    cache.forget(claim("a", {}));
    const kind = "PersistentVolumeClaim";
    assert.deepEqual(changes, [`${kind} undefined 1`, `${kind} 1 2`, `${kind} 2 undefined`]);
  });

  it("does not bring back what was deleted, and takes another one of its name", () => {
    const cache = new ClusterCache();
    cache.apply(claim("a", { resourceVersion: "1" }));
    cache.forget(claim("a", { resourceVersion: "3" }));
    cache.apply(claim("a", { resourceVersion: "2" }));
    assert.equal(cache.claims.get(NAMESPACE, "a"), undefined);
    cache.apply(claim("a", { resourceVersion: "4", uid: "second" }));
    cache.forget(claim("a", { resourceVersion: "3" }));
    assert.equal(cache.claims.get(NAMESPACE, "a")?.metadata.uid, "second");
  });

  it("drops what a list does not have, unless it is younger than the list", () => {
    const cache = new ClusterCache();
    cache.apply(claim("old", { resourceVersion: "5" }));
    cache.apply(claim("young", { resourceVersion: "12" }));
    cache.replace("PersistentVolumeClaim", [claim("listed", { resourceVersion: "8" })], "10");
    assert.deepEqual([...cache.claims.all()].map(({ metadata }) => metadata.name).sort(), ["listed", "young"]);
  });

  it("finds pods by the claims that they mount, until they have ended", () => {
    const cache = new ClusterCache();
    cache.apply(pod("user", "1", { phase: "Running" }));
    assert.equal(cache.pods.by("claim", `${NAMESPACE}/disk`).length, 1);
    cache.apply(pod("user", "2", { phase: "Succeeded" }));
    assert.equal(cache.pods.by("claim", `${NAMESPACE}/disk`).length, 0);
    assert.equal(cache.pods.size, 0, "nothing is kept of a pod that has ended");
  });

  it("counts workers by node until they have ended, and keeps them", () => {
    const cache = new ClusterCache();
    const labels = { [LABELS.workerRole]: "importer" };
    cache.apply(pod("worker", "1", { phase: "Running", labels }));
    assert.deepEqual([...cache.pods.counts("workerNode")], [["node-1", 1]]);
    cache.apply(pod("worker", "2", { phase: "Failed", labels }));
    assert.deepEqual([...cache.pods.counts("workerNode")], []);
    assert.equal(cache.pods.size, 1);
  });

  it("keeps of a worker what is asked of it, and not the rest", () => {
    const cache = new ClusterCache();
    const target = legacyTarget({
      annotations: { [ANNOTATIONS.importRequiresScratch]: "true", [ANNOTATIONS.importRequiresDirectIo]: "true" },
    });
    const made = planWith({ target }).after.worker ?? assert.fail();
    const waiting = { waiting: { reason: "ErrImagePull" } };
    const killed = { exitCode: 137, reason: "OOMKilled" };
    const whole: Pod = {
      ...made,
      metadata: { ...made.metadata, uid: "pod-uid", resourceVersion: "1" },
      spec: { ...made.spec, nodeName: "node-1", initContainers: [{ name: "init", image: "the/init:1" }] },
      status: {
        phase: "Running",
        podIP: "10.0.0.1",
        conditions: [
          { type: "Ready", status: "True" },
          { type: "PodScheduled", status: "False", reason: "Unschedulable", message: "no node" },
        ],
        containerStatuses: [{ name: "importer", restartCount: 2, image: "x", lastState: { terminated: killed } }],
        initContainerStatuses: [{ name: "init", restartCount: 0, state: waiting }],
      },
    };
    cache.apply(whole);
    const kept = cache.pods.get(NAMESPACE, whole.metadata.name) ?? assert.fail();
    assert.ok(JSON.stringify(kept).length < JSON.stringify(whole).length / 2);
    for (const ask of [progressPageOf, hasScratch, runningState, mountedClaims, workerStatus]) {
      assert.notEqual(ask(whole), undefined, ask.name);
      assert.deepEqual(ask(kept), ask(whole), ask.name);
    }
    assert.equal(endingOf(kept), undefined, "it writes past the page cache, so the kubelet starts it again");
    assert.deepEqual(kept.status?.conditions, whole.status?.conditions?.slice(1));
    assert.deepEqual(kept.metadata, whole.metadata);
    assert.equal(kept.spec.nodeName, "node-1");
  });

  it("keeps neither histories nor second copies nor other people's containers", () => {
    const cache = new ClusterCache();
    const annotations = { "kubectl.kubernetes.io/last-applied-configuration": "{}", mine: "yes" };
    const metadata = { annotations, managedFields: [{ manager: "kubectl" }], resourceVersion: "1" };
    cache.apply(claim("a", metadata));
    cache.apply(pod("user", "1", { phase: "Running" }));
    assert.deepEqual(cache.claims.get(NAMESPACE, "a")?.metadata, {
      name: "a",
      namespace: NAMESPACE,
      uid: "a-uid",
      resourceVersion: "1",
      annotations: { mine: "yes" },
    });
    assert.deepEqual(cache.pods.get(NAMESPACE, "user")?.spec, {
      containers: [],
      nodeName: "node-1",
      volumes: [{ name: "disk", persistentVolumeClaim: { claimName: "disk" } }],
    });
  });
});

function claim(name: string, metadata: object): KubeObject {
  return {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: { name, namespace: NAMESPACE, uid: `${name}-uid`, ...metadata },
  };
}

function pod(name: string, resourceVersion: string, { phase, labels = {} }: { phase: string; labels?: object }): Pod {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: NAMESPACE, uid: `${name}-uid`, resourceVersion, labels },
    spec: {
      nodeName: "node-1",
      containers: [{ name: "main", image: "whatever" }],
      volumes: [
        { name: "disk", persistentVolumeClaim: { claimName: "disk" } },
        { name: "rest", emptyDir: {} },
      ],
    },
    status: { phase },
  } as unknown as Pod;
}
