import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Pod } from "../../../../controller/api/kube.ts";
import { endingOf } from "../../../../controller/plan/worker/ending.ts";
import type { Ending } from "../../../../controller/plan/worker/ending.ts";
import { pod } from "../../../support/observed-import.ts";
import { exitedWith, legacyTarget, workerIn, workerOf } from "../../../support/worker-plan.ts";

const target = legacyTarget();
const KILLED = { exitCode: 137, reason: "OOMKilled" };
const PAST_CACHE = {
  spec: { containers: [{ name: "importer", image: "i", env: [{ name: "CACHE_MODE", value: "TRYNONE" }] }] },
};
const SCRATCH = { spec: { containers: [], volumes: [{ name: "cdi-scratch-vol" }] } };
const MISMATCH = "Unable to process data: checksum mismatch: expected md5:1";

const ROWS: readonly (readonly [string, Pod, Ending | undefined])[] = [
  ["new", pod(), undefined],
  ["runs", workerIn(target, "Running", { state: { running: {} } }), undefined],
  ["failed, and is started again", workerIn(target, "Running", exitedWith("no route", 1)), undefined],
  ["succeeded", workerIn(target, "Succeeded", exitedWith({ message: "Import Complete" })), { how: "complete" }],
  ["succeeded without a word", workerIn(target, "Succeeded", exitedWith("")), { how: "complete" }],
  [
    "is done, but not all of its pod",
    workerIn(target, "Running", exitedWith({ message: "Import Complete" })),
    undefined,
  ],
  [
    "asks for scratch space",
    workerIn(target, "Succeeded", exitedWith({ scratchSpaceRequired: true })),
    { how: "scratch" },
  ],
  [
    "asks for scratch space that it has",
    workerIn(target, "Succeeded", exitedWith({ scratchSpaceRequired: true }), SCRATCH),
    {
      how: "terminal",
      code: "INTERNAL",
      message: "the worker asked for scratch space, although it had some",
      isChecksum: false,
    },
  ],
  [
    "says that the checksum differs",
    workerIn(target, "Succeeded", exitedWith({ message: MISMATCH })),
    { how: "terminal", code: "INTERNAL", message: MISMATCH, isChecksum: true },
  ],
  [
    "succeeded with a text, as others' workers do",
    workerIn(target, "Succeeded", exitedWith("Import Complete")),
    { how: "complete" },
  ],
  [
    "had more to say than the kubelet keeps",
    workerIn(target, "Succeeded", exitedWith('{"message":"the image is too la')),
    {
      how: "terminal",
      code: "INTERNAL",
      message:
        "the worker's message is cut off, so that it is not known whether the disk is whole: " +
        '{"message":"the image is too la',
      isChecksum: false,
    },
  ],
  [
    "says that no restart helps",
    workerIn(target, "Running", exitedWith({ message: "too small", code: "TARGET_TOO_SMALL", terminal: true })),
    { how: "terminal", code: "TARGET_TOO_SMALL", message: "too small", isChecksum: false },
  ],
  [
    "says so and failed all the same",
    workerIn(target, "Running", exitedWith({ message: "too small", terminal: true }, 1)),
    undefined,
  ],
  [
    "ran out of memory",
    workerIn(target, "Running", { state: { terminated: KILLED } }),
    { how: "out of memory", terminated: KILLED },
  ],
  [
    "ran out of memory before",
    workerIn(target, "Running", { state: { running: {} }, lastState: { terminated: KILLED } }),
    { how: "out of memory", terminated: KILLED },
  ],
  [
    "ran out of memory past the cache",
    workerIn(target, "Running", { state: { terminated: KILLED } }, PAST_CACHE),
    undefined,
  ],
  [
    "was evicted",
    workerOf(target, { status: { phase: "Failed", reason: "Evicted", message: "The node was low on memory." } }),
    { how: "failed", reason: "Evicted", message: "The node was low on memory." },
  ],
  [
    "failed without a word",
    workerOf(target, { status: { phase: "Failed" } }),
    { how: "failed", reason: "Error", message: "pod importer-fedora failed" },
  ],
];

describe("how a worker pod ended", () => {
  for (const [name, of, expected] of ROWS) it(name, () => assert.deepEqual(endingOf(of), expected));
});
