import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Pod } from "../../controller/api/kube.ts";
import { LABELS } from "../../controller/api/names.ts";
import { Backlog } from "../../controller/backlog.ts";
import { ClusterCache } from "../../controller/cache.ts";
import { NAMESPACE, pod } from "../support/observed-import.ts";

const START = Date.parse("2026-09-01T12:00:00Z");

describe("Backlog", () => {
  it("is full while many workers wait for a node, and not for ever", () => {
    const cache = new ClusterCache();
    let now = START + 1000;
    const backlog = new Backlog(cache, () => now);
    for (let number = 0; number < 63; number++) cache.apply(waitingWorker(number));
    assert.equal(backlog.isFull(NAMESPACE), false);
    cache.apply(waitingWorker(63));
    now += 100;
    assert.deepEqual([backlog.isFull(NAMESPACE), backlog.isFull("other")], [true, false]);
    now = START + 30_001;
    assert.equal(backlog.isFull(NAMESPACE), false, "workers that nobody places hold up nobody");
  });

  it("does not count workers that have a node or have ended", () => {
    const cache = new ClusterCache();
    for (let number = 0; number < 200; number++) {
      const waiting = waitingWorker(number);
      const ended: Pod = { ...waiting, status: { phase: "Succeeded" } };
      const placed: Pod = { ...waiting, spec: { ...waiting.spec, nodeName: "node-1" } };
      cache.apply(number % 2 === 0 ? ended : placed);
    }
    assert.equal(new Backlog(cache, () => START).isFull(NAMESPACE), false);
  });
});

function waitingWorker(number: number): Pod {
  const metadata = { creationTimestamp: new Date(START).toISOString(), labels: { [LABELS.workerRole]: "importer" } };
  return pod({ name: `importer-${number}`, uid: `uid-${number}`, metadata, status: { phase: "Pending" } });
}
