import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { workerPaths } from "../../../importer/worker/paths.ts";

describe("workerPaths", () => {
  const contract = {
    data: "/data",
    device: "/dev/cdi-block-volume",
    scratch: "/scratch",
    terminationLog: "/dev/termination-log",
    extraHeaders: "/extraheaders",
    metricsPort: 8443,
  };

  it("are the contract's", () => {
    assert.deepEqual(workerPaths({}), contract);
    assert.deepEqual(workerPaths({ DECANT_DATA_DIR: "", DECANT_METRICS_PORT: "http" }), contract);
  });

  it("are another runtime's where it says so", () => {
    const env = {
      DECANT_DATA_DIR: "/a",
      DECANT_BLOCK_DEVICE: "/b",
      DECANT_SCRATCH_DIR: "/c",
      DECANT_TERMINATION_LOG: "/d",
      DECANT_EXTRA_HEADERS_DIR: "/e",
      DECANT_METRICS_PORT: "0",
    };
    assert.deepEqual(Object.values(workerPaths(env)), ["/a", "/b", "/c", "/d", "/e", 0]);
  });
});
