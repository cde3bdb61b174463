/**
 * What a person sees of an import: `kubectl get dv -w` while it goes on, and `kubectl describe` when it fails.
 */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { baseDisk } from "../../support/base-disk.ts";
import { requireTools } from "../../support/tools.ts";
import { requireRunningCluster } from "../cluster.ts";
import { readState } from "../state.ts";
import { clusterWithController } from "./controller.ts";
import { withServedImages } from "./served-images.ts";

const MIB = 1024 * 1024;
/** Of each connection: some 16 s for the disk with all of them, long enough to be asked for progress. */
const SLOWLY = { directives: `limit_rate ${MIB / 8};` };
const MOST_LINES = 12;

const skip = requireRunningCluster() || requireTools("nginx");

describe("kubectl", { skip }, () => {
  const cluster = clusterWithController();

  it("get dv -w tells an import from its beginning to its end, in lines that differ", async () => {
    await withServedImages(
      cluster,
      async ({ imports, urlOf, write }) => {
        write("disk", baseDisk(24 * MIB));
        const lines = await whileWatching(imports.namespace, async () => {
          await imports.start("disk", { http: { url: urlOf("disk") } });
          await imports.untilSucceeded("disk");
        });
        const [header = "", ...rows] = lines;
        assert.deepEqual(header.split(/\s+/), ["NAME", "PHASE", "PROGRESS", "RESTARTS", "AGE"]);
        const said = rows.map((row) => row.split(/\s+/).slice(1, -1).join(" ")).filter((row) => row !== "");
        assert.equal(said.at(-1), "Succeeded 100.0%", lines.join("\n"));
        assert.ok(
          said.some((row) => /^ImportInProgress \d+\.\d\d%$/.test(row)),
          lines.join("\n"),
        );
        const repeated = said.filter((row, index) => row === said[index - 1]);
        // A worker that starts slowly has its reason in a condition, which these columns do not show.
        assert.ok(repeated.length <= 1 && repeated.every((row) => row === "ImportScheduled N/A"), lines.join("\n"));
        assert.ok(said.length >= 3 && said.length <= MOST_LINES, lines.join("\n"));
      },
      SLOWLY,
    );
  });

  it("describe dv says in one line why an import fails, and how often it was tried", async () => {
    await withServedImages(cluster, async ({ imports, urlOf }) => {
      await imports.start("gone", { http: { url: urlOf("nothing-here") } });
      await imports.until("gone", ({ status }) => (status?.restartCount ?? 0) > 0);
      await imports.untilStopped("gone", "Error", /404/);
      const text = await cluster.kubectl(["describe", "dv", "gone", "-n", imports.namespace]);
      const why = text.split("\n").filter((line) => /^\s+Message:.*404/.test(line));
      assert.equal(why.length, 1, text);
      assert.match(text, /^\s+Warning\s+Error\s.*404/m);
      const row = await cluster.kubectl(["get", "dv", "gone", "-n", imports.namespace, "--no-headers"]);
      assert.match(row, /^gone\s+ImportInProgress\s+N\/A\s+[1-9]\d*\s/);
    });
  });

  /** @returns what it wrote, without empty lines */
  async function whileWatching(namespace: string, use: () => Promise<void>): Promise<string[]> {
    const args = ["--kubeconfig", cluster.kubeconfig, "get", "dv", "-w", "-n", namespace];
    const child = spawn(readState()?.running?.kubectl ?? "", args, { stdio: ["ignore", "pipe", "inherit"] });
    let text = "";
    child.stdout.setEncoding("utf8").on("data", (part: string) => (text += part));
    const ended = new Promise((resolve) => child.on("close", resolve));
    try {
      await use();
      // The last line is on its way.
      const deadline = Date.now() + 10_000;
      while (!text.includes("Succeeded") && Date.now() < deadline) await sleep(50);
    } finally {
      child.kill();
      await ended;
    }
    return text.split("\n").filter((line) => line !== "");
  }
});
