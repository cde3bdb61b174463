/**
 * Annotations and labels are texts that anybody may have written: whatever one of them says, on whichever object of an import, in
 * whichever state of it, a plan is made, it asks for nothing that the API has no room for, and it says the same the second time.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { KubeObject } from "../../../controller/api/kube.ts";
import { ANNOTATIONS, LABELS } from "../../../controller/api/names.ts";
import { applyPatch } from "../../../controller/plan/draft.ts";
import type { ObservedImport } from "../../../controller/plan/observed.ts";
import { planImport } from "../../../controller/plan/plan.ts";
import {
  cdiConfig,
  claim,
  dataVolume,
  importSource,
  observed,
  populatedClaim,
  primeOf,
  volumeOf,
} from "../../support/observed-import.ts";
import { exitedWith, legacyTarget, workerIn } from "../../support/worker-plan.ts";

const KIB = 1024;
/** Of all annotations of an object together: the API's limit. */
const MOST_ANNOTATIONS = 256 * KIB;
const MOST_MESSAGE = 32 * KIB;

const TEXTS: readonly (readonly [string, string])[] = [
  ["nothing", ""],
  ["garbage of 250 KiB", `{"a":[${"x".repeat(250 * KIB)}`],
  ["brackets, 100,000 deep", "[".repeat(100_000)],
  ["a list of 20,000", `[${Array.from({ length: 20_000 }, () => "{}").join(",")}]`],
  ["JSON of another type", '{"__proto__":{"terminal":true},"constructor":1,"length":-1}'],
  ["null", "null"],
  ["a huge number", "1e308"],
  ["a negative number", "-1"],
  ["no number", "NaN"],
  ["lines, quotes and half a character", 'a\r\n"b"\u0000\ud800'],
  ["slashes", "///../../"],
];

const NAMES = {
  annotations: [...Object.values(ANNOTATIONS), `${ANNOTATIONS.importExtraHeaders}0`],
  labels: Object.values(LABELS),
} as const;

const config = cdiConfig({ featureGates: ["HonorWaitForFirstConsumer"] });
const made = dataVolume();
const target = populatedClaim({ owner: made, annotations: { [ANNOTATIONS.createdForDataVolume]: "dv-uid" } });
const prime = primeOf(target, { status: { phase: "Bound" }, spec: { volumeName: "pvc-1" } });
const worker = workerIn(prime, "Running", { state: { running: {} } });
const inPlace = legacyTarget({ owner: made, annotations: { [ANNOTATIONS.createdForDataVolume]: "dv-uid" } });
const filled = primeOf(target, {
  status: { phase: "Bound" },
  spec: { volumeName: "pvc-1" },
  annotations: { [ANNOTATIONS.podPhase]: "Succeeded" },
});

/** States of an import, in which each object is given each text. */
const STATES: Readonly<Record<string, Partial<Omit<ObservedImport, "cluster">>>> = {
  "a new DataVolume": { dataVolume: made },
  "a target without its prime": { dataVolume: made, target, source: importSource() },
  "a running worker": { dataVolume: made, target, source: importSource(), prime, worker },
  "a worker that has ended": {
    dataVolume: made,
    target,
    source: importSource(),
    prime,
    worker: workerIn(prime, "Succeeded", exitedWith({ message: "Import Complete" })),
  },
  "a filled volume": { dataVolume: made, target, source: importSource(), prime: filled, volume: volumeOf(filled) },
  "a claim in place": { dataVolume: made, target: inPlace },
  "a claim in place and its worker": {
    dataVolume: made,
    target: inPlace,
    worker: workerIn(inPlace, "Running", exitedWith("no route", 1)),
  },
  "a claim made by hand": { target: populatedClaim(), source: importSource() },
  "anybody's claim": { target: claim() },
};

const PARTS = ["dataVolume", "target", "source", "prime", "worker", "volume"] as const;

for (const [state, objects] of Object.entries(STATES)) {
  describe(`${state}, with a text of a stranger`, () => {
    for (const [what, text] of TEXTS) {
      it(what, () => {
        for (const part of PARTS) {
          const object: KubeObject | undefined = objects[part];
          if (object === undefined) continue;
          for (const map of ["annotations", "labels"] as const) {
            for (const name of NAMES[map]) {
              const marked = applyPatch(object, { metadata: { [map]: { [name]: text } } });
              check({ ...objects, [part]: marked }, `${map} ${name} of ${part}`);
            }
          }
        }
      });
    }
  });
}

function check(objects: Partial<Omit<ObservedImport, "cluster">>, where: string): void {
  const seen = observed({ ...objects, cluster: { config } });
  const actions = planImport(seen);
  assert.ok(actions.length < 20, where);
  for (const action of actions) {
    if (action.do === "event") assert.ok(Buffer.byteLength(action.message) <= MOST_MESSAGE, where);
    if (action.do !== "patch" || action.object.kind === "PersistentVolume") continue;
    const before = PARTS.map((part): KubeObject | undefined => seen[part]).find(
      (one) => one?.kind === action.object.kind && one.metadata.name === action.object.name,
    );
    const written = Object.entries((action.patch["metadata"] as KubeObject["metadata"] | undefined)?.annotations ?? {});
    // What was there already, the API server had room for.
    const copied = written.filter(([name]) => before?.metadata.annotations?.[name] === undefined);
    const length = copied.reduce((sum, [name, value]) => sum + name.length + Buffer.byteLength(value ?? ""), 0);
    assert.ok(length < MOST_ANNOTATIONS / 4, `${where}: ${length} bytes of annotations on ${action.object.name}`);
  }
}
