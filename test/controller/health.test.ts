import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ClusterCache } from "../../controller/cache.ts";
import { serveHealth } from "../../controller/health.ts";
import { createMetrics } from "../../controller/metrics.ts";
import { dataVolume } from "../support/observed-import.ts";

describe("the health server", () => {
  it("says whether it lives, is ready, and what it counts", async () => {
    const cache = new ClusterCache();
    const conditions = [{ type: "Running", status: "False", reason: "Completed" }] as const;
    cache.apply(dataVolume({ status: { phase: "Succeeded", conditions } }));
    const metrics = createMetrics({ queue: () => ({ depth: 3, scheduled: 1 }), cache });
    metrics.countCall("patch", "DataVolume");
    let isReady = false;
    const server = await serveHealth({ port: 0, isReady: () => isReady, metrics });
    const get = async (path: string, method = "GET") =>
      await fetch(`http://127.0.0.1:${server.port}${path}`, { method });
    try {
      assert.equal((await get("/healthz")).status, 200);
      assert.equal((await get("/readyz")).status, 503);
      isReady = true;
      assert.equal((await get("/readyz")).status, 200);
      assert.equal((await get("/elsewhere")).status, 404);
      assert.equal((await get("/healthz", "POST")).status, 405);
      const page = await (await get("/metrics")).text();
      for (const line of [
        'decant_controller_api_calls_total{verb="patch",kind="DataVolume"} 1',
        "decant_controller_queue_depth 3",
        'decant_controller_imports{phase="Succeeded",reason="Completed"} 1',
        'decant_controller_objects{kind="DataVolume"} 1',
      ]) {
        assert.ok(page.includes(`${line}\n`), line);
      }
    } finally {
      await server.close();
    }
  });
});
