/**
 * From the error in a worker to what `kubectl describe datavolume` shows: the worker's own ending goes through the steps that
 * read it, and its sentence has to arrive whole, on one line, in the condition and in a warning.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { FormatError } from "../../../../formats/errors.ts";
import type { FormatErrorCode } from "../../../../formats/errors.ts";
import { SourceError, TargetError } from "../../../../importer/errors.ts";
import type { SourceErrorCode, TargetErrorCode } from "../../../../importer/errors.ts";
import type { FailureSite } from "../../../../importer/failure-text.ts";
import { consequences } from "../../../../importer/outcome.ts";
import type { ErrorCode } from "../../../../importer/outcome.ts";
import { failureEnding } from "../../../../importer/termination.ts";
import type { Condition } from "../../../../controller/api/cdi.ts";
import type { Claim, ContainerState, Pod } from "../../../../controller/api/kube.ts";
import { ImportDraft } from "../../../../controller/plan/draft.ts";
import { planHandover } from "../../../../controller/plan/handover/handover.ts";
import { findCondition } from "../../../../controller/plan/condition-times.ts";
import { planStatus } from "../../../../controller/plan/status/status.ts";
import { planWorker } from "../../../../controller/plan/worker/plan-worker.ts";
import { dataVolume, observed, pod, primeOf } from "../../../support/observed-import.ts";
import { ownClaim, ownPopulatedClaim } from "../../../support/status-pass.ts";

const SENTENCE = "The image needs a disk of 10737418240 bytes, but the volume has 1073741824";
const REMEDY = "A claim of 11Gi would do";
const SITE: FailureSite = { stage: "Transfer", source: "http", contentType: "kubevirt", endpoint: "http://host/disk" };
const BOUND = { phase: "Bound" } as const;

/** Those that the worker writes no message for, or that stand for a bug. */
const UNTOLD: readonly ErrorCode[] = ["INTERRUPTED", "INTERNAL", "USAGE"];
const CODES = (Object.keys(consequences) as ErrorCode[]).filter((code) => !UNTOLD.includes(code));

interface Story {
  readonly phase: string | undefined;
  readonly running: Condition | undefined;
  readonly warnings: readonly string[];
}

describe("an error of a worker", () => {
  for (const code of CODES) {
    it(`${code} arrives whole`, () => {
      const { message = "", state } = endingOf(errorOf(code));
      const said = sentenceIn(message);
      for (const { phase, running, warnings } of [tellLegacy(state), tellPopulator(state)]) {
        const isChecksum = code === "SOURCE_CHECKSUM";
        assert.equal(phase, isChecksum ? "Failed" : "ImportInProgress");
        assert.equal(running?.status, "False");
        const reasons = isChecksum ? ["ChecksumError"] : ["Error", "ImagePullFailed"];
        assert.ok(reasons.includes(running?.reason ?? ""), `KubeVirt knows no ${running?.reason}`);
        assert.ok(running?.message?.includes(said), `${running?.message} lacks ${said}`);
        assert.ok(!/[\r\n]/.test(running?.message ?? ""));
        assert.equal(warnings.at(-1), running?.message);
      }
    });
  }

  it("says what would help, and its code", () => {
    const { state } = endingOf(errorOf("TARGET_TOO_SMALL"));
    const text = tellLegacy(state).running?.message ?? "";
    assert.ok(text.startsWith("DataVolume too small to contain image: "), "scripts wait for these words");
    for (const part of [SENTENCE, REMEDY, "[TARGET_TOO_SMALL]"])
      assert.ok(text.includes(part), `${text} lacks ${part}`);
  });

  it("is told once, however long the pod is there", () => {
    const { state } = endingOf(errorOf("FORMAT_CORRUPT"));
    assert.equal(tellLegacy(state, 3).warnings.length, 1);
  });
});

describe("what no worker could say", () => {
  for (const [name, states, words] of [
    ["killed for its memory, twice", [{ terminated: { exitCode: 137, reason: "OOMKilled" } }], ["OOMKilled", "137"]],
    ["no image", [{ waiting: { reason: "ErrImagePull", message: "not found" } }], ["failed to pull image"]],
  ] as const) {
    it(name, () => {
      const { running } = tellLegacy(states[0]);
      for (const word of words) assert.ok(`${running?.reason} ${running?.message}`.includes(word), running?.message);
    });
  }
});

function errorOf(code: ErrorCode): Error {
  const details = { remedy: REMEDY, context: { algorithm: "sha256", expected: "00", actual: "11" } };
  if (code.startsWith("FORMAT_")) return new FormatError(code as FormatErrorCode, SENTENCE, details);
  if (code.startsWith("TARGET_")) return new TargetError(code as TargetErrorCode, SENTENCE, details);
  return new SourceError(code as SourceErrorCode, SENTENCE, details);
}

function endingOf(error: Error): { readonly message: string | undefined; readonly state: ContainerState } {
  const { exit, message } = failureEnding(error, SITE, { ownController: true, secrets: [] });
  const reason = exit === 0 ? "Completed" : "Error";
  return { message, state: { terminated: { exitCode: exit, reason, ...(message !== undefined && { message }) } } };
}

/** Of either form. */
function sentenceIn(message: string): string {
  return message.startsWith("{") ? (JSON.parse(message) as { message: string }).message : message;
}

function tellLegacy(state: ContainerState, passes = 1): Story {
  const target = ownClaim({ status: BOUND });
  return tell({ target, prime: undefined }, workerOf(target, state), passes);
}

function tellPopulator(state: ContainerState): Story {
  const target = ownPopulatedClaim();
  const prime = primeOf(target, { status: BOUND, annotations: { "cdi.kubevirt.io/storage.import.source": "http" } });
  return tell({ target, prime }, workerOf(prime, state), 1);
}

function tell(
  claims: { readonly target: Claim; readonly prime: Claim | undefined },
  worker: Pod,
  passes: number,
): Story {
  let seen = observed({ ...claims, worker, dataVolume: dataVolume() });
  const warnings: string[] = [];
  for (let pass = 0; pass < passes; pass++) {
    const draft = new ImportDraft(seen);
    for (const step of [planWorker, planHandover, planStatus]) step(draft);
    for (const action of draft.actions) {
      if (action.do === "event" && action.type === "Warning") warnings.push(action.message);
    }
    seen = draft.now;
  }
  const { phase, conditions } = seen.dataVolume?.status ?? {};
  return { phase, running: findCondition(conditions, "Running"), warnings };
}

/** A failure is started again by the kubelet, so the pod runs; what ended with 0 is over. */
function workerOf(claim: Claim, state: ContainerState): Pod {
  const phase = state.waiting !== undefined ? "Pending" : state.terminated?.exitCode === 0 ? "Succeeded" : "Running";
  return pod({
    owner: claim,
    status: { phase, containerStatuses: [{ name: "importer", restartCount: 1, state }] },
  });
}
