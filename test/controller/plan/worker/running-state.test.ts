import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ContainerStatus, Pod } from "../../../../controller/api/kube.ts";
import { runningState } from "../../../../controller/plan/worker/running-state.ts";
import { pod } from "../../../support/observed-import.ts";
import { exitedWith } from "../../../support/worker-plan.ts";

const RUNNING = { running: {} };
const waiting = (reason: string, message?: string): NonNullable<ContainerStatus["state"]> => ({
  waiting: { reason, ...(message === undefined ? {} : { message }) },
});

function podWith(...statuses: readonly Partial<ContainerStatus>[]): Pod {
  const names = ["importer", "server"];
  const containerStatuses = statuses.map((one, index) => ({ name: names[index] ?? "", restartCount: 0, ...one }));
  const containers = names.map((name) => ({ name, image: `${name}-image` }));
  return pod({
    spec: { containers, initContainers: [{ name: "init", image: "init-image" }] },
    status: { containerStatuses },
  });
}

const stopped = (reason: string, message: string): object => ({ running: false, message, reason });

/** The rows of the contract's 5.8, and what lies between them. */
const ROWS: readonly (readonly [string, Pod, object | undefined])[] = [
  ["no statuses", pod(), undefined],
  [
    "all run",
    podWith({ state: RUNNING }, { state: RUNNING }),
    { running: true, message: "", reason: "Pod is running" },
  ],
  [
    "an image is not pulled",
    podWith({ state: RUNNING }, { state: waiting("ImagePullBackOff", "Back-off"), started: false }),
    stopped("ImagePullFailed", "failed to pull image: server-image"),
  ],
  [
    "our own image is not pulled",
    podWith({ state: waiting("ErrImagePull") }),
    stopped("ImagePullFailed", "failed to pull image: importer-image"),
  ],
  [
    "an image has no name",
    podWith({ state: waiting("PodInitializing") }, { state: waiting("InvalidImageName") }),
    stopped("ImagePullFailed", "failed to pull image: server-image"),
  ],
  [
    "an image was pulled before",
    podWith({ state: RUNNING }, { state: waiting("ImagePullBackOff"), started: true }),
    undefined,
  ],
  ["is made", podWith({ state: waiting("ContainerCreating") }), stopped("ContainerCreating", "")],
  [
    "a Secret is missing",
    podWith({ state: waiting("CreateContainerConfigError", `secret "keys" not found`) }),
    stopped("CreateContainerConfigError", `secret "keys" not found`),
  ],
  ["waits to be started again", podWith({ state: waiting("CrashLoopBackOff") }), undefined],
  [
    "waits to be started again after a failure",
    podWith({
      state: waiting("CrashLoopBackOff"),
      lastState: { terminated: { exitCode: 1, reason: "Error", message: "no route" } },
    }),
    stopped("Error", "no route"),
  ],
  ["done", podWith(exitedWith({ message: "Import Complete" })), stopped("Completed", "Import Complete")],
  ["done without a word", podWith(exitedWith("")), stopped("Completed", "Import Complete")],
  ["done with a text", podWith(exitedWith("done")), stopped("Completed", "done")],
  ["failed", podWith(exitedWith("no\nroute\n", 1)), stopped("Error", "no route")],
  ["failed with JSON", podWith(exitedWith({ message: "no" }, 1)), stopped("Error", `{"message":"no"}`)],
  [
    "failed without a word",
    podWith({ state: { terminated: { exitCode: 137 } } }),
    stopped("Error", "the worker ended with exit status 137 and without a word"),
  ],
  [
    "could not pull the image itself",
    podWith(exitedWith("Unable to process data: failed to pull image: 401", 1)),
    stopped("ImagePullFailed", "Unable to process data: failed to pull image: 401"),
  ],
  ["the disk serves on", podWith({ state: RUNNING }, exitedWith("")), undefined],
];

/** What is too small says it in many ways, and its figures are kept. */
const TOO_SMALL = [
  "virtual image size 2 is larger than the reported available storage 1. A larger PVC is required",
  "write: no space left on device",
  "file largest block is bigger than maxblock",
  "disk quota exceeded",
];

describe("what the containers of a worker pod are doing", () => {
  for (const [name, of, expected] of ROWS) {
    it(name, () => assert.deepEqual(runningState(of), expected));
  }

  for (const text of TOO_SMALL) {
    it(`too small: ${text}`, () => {
      const expected = stopped("Error", `DataVolume too small to contain image: ${text}`);
      assert.deepEqual(runningState(podWith(exitedWith(text, 1))), expected);
    });
  }

  it("is not told at length", () => {
    const long = runningState(podWith(exitedWith("ä".repeat(10_000), 1)));
    assert.ok(Buffer.byteLength(long?.message ?? "") <= 4096);
    assert.match(long?.message ?? "", /ä…$/);
  });

  it("keeps the figures of a JSON message", () => {
    const text = "size 2 is larger than the reported available storage 1. A claim of 2Mi would work";
    assert.equal(runningState(podWith(exitedWith({ message: text })))?.message, text);
  });
});
