/**
 * The proxy's certificates beside a worker: made before its pod, mounted into it, and told of where there are none.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Claim, ConfigMap, Pod } from "../../../../controller/api/kube.ts";
import { ANNOTATIONS } from "../../../../controller/api/names.ts";
import { controllerReference } from "../../../../controller/api/ownership.ts";
import type { ObservedImport } from "../../../../controller/plan/observed.ts";
import { claimWithProxyCopy, proxyConfigMapName } from "../../../../controller/plan/worker/proxy-config-map.ts";
import { claim, NAMESPACE, observed } from "../../../support/observed-import.ts";
import { legacyTarget, planWith, populatorPair, workerIn, workerOf } from "../../../support/worker-plan.ts";
import type { WorkerPlan } from "../../../support/worker-plan.ts";

const data = { "ca.pem": "-----BEGIN CERTIFICATE-----" };
const CLUSTER = { proxyCertificates: { data, binaryData: {} } };
const VOLUMES = [{ name: "cdi-proxy-cert-vol", configMap: { name: proxyConfigMapName("fedora") } }];

describe("a worker behind a proxy with certificates of its own", () => {
  it("has a copy of them that goes with its claim", () => {
    for (const [objects, filled] of [
      [{ target: legacyTarget() }, "fedora"],
      [populatorPair(), "prime-target-uid"],
    ] as const) {
      const plan = planWith({ ...objects, cluster: CLUSTER });
      assert.deepEqual(plan.outline, [`create ConfigMap import-proxy-cm-${filled}`, `create Pod importer-${filled}`]);
      const [copy, pod] = createdIn(plan) as [ConfigMap, Pod];
      assert.deepEqual(copy.data, data);
      assert.equal(copy.metadata.namespace, "images");
      assert.deepEqual(copy.metadata.ownerReferences, pod.metadata.ownerReferences);
      const volume = pod.spec.volumes?.find(({ name }) => name === "cdi-proxy-cert-vol");
      assert.deepEqual(volume?.configMap, { name: `import-proxy-cm-${filled}` });
      const [container] = pod.spec.containers;
      const mount = container?.volumeMounts?.find(({ name }) => name === "cdi-proxy-cert-vol");
      assert.equal(mount?.mountPath, "/proxycerts/");
      assert.equal(container?.env?.find(({ name }) => name === "IMPORTER_PROXY_CERT_DIR")?.value, "/proxycerts/");
    }
  });

  it("has none where CDIConfig names none, or it asks nobody", () => {
    const blank = legacyTarget({ annotations: { [ANNOTATIONS.importSource]: "none" } });
    for (const plan of [planWith({ target: legacyTarget() }), planWith({ target: blank, cluster: CLUSTER })]) {
      assert.deepEqual(plan.outline, ["create Pod importer-fedora"]);
      assert.doesNotMatch(JSON.stringify(plan.actions), /proxycerts|cdi-proxy-cert-vol|IMPORTER_PROXY_CERT_DIR/);
    }
  });

  it("waits while they are missing, and says so once", () => {
    const missing = "ConfigMap decant/ca is missing";
    const cluster = { proxyCertificates: { missing } };
    const plan = planWith({ target: legacyTarget(), cluster });
    assert.deepEqual(plan.outline, ["again", "patch PersistentVolumeClaim fedora", "event ErrStartingPod"]);
    assert.equal(plan.annotations[ANNOTATIONS.runningMessage], missing);
    const told = legacyTarget({ annotations: plan.annotations });
    assert.deepEqual(planWith({ target: told, cluster }).outline, ["again"]);
  });

  it("says why its copy could not be made", () => {
    const name = proxyConfigMapName("fedora");
    const rejected = { do: "create", kind: "ConfigMap", name, reason: "Forbidden", message: "not allowed" } as const;
    const { outline, annotations } = planWith({ target: legacyTarget(), cluster: CLUSTER, rejected });
    assert.deepEqual(outline, ["patch PersistentVolumeClaim fedora", "event ErrStartingPod"]);
    assert.equal(annotations[ANNOTATIONS.runningMessage], "Error starting pod 'importer-fedora': not allowed");
  });
});

describe("the copy beside an import that is not done", () => {
  const target = legacyTarget();
  const worker = workerIn(target, "Pending", {}, { spec: { containers: [], volumes: VOLUMES } });
  const OLD = { "ca.pem": "old", "old.pem": "old" };
  const GONE = { binaryData: { "ca.pem": null, "old.pem": null } };
  const PATCH = { data: { ...data, "old.pem": null } };
  const rejected = {
    do: "patch",
    kind: "ConfigMap",
    name: proxyConfigMapName("fedora"),
    reason: "Forbidden",
    message: "no",
  } as const;

  for (const [what, proxyCopy, more, expected] of [
    ["is brought up to date", copyOf(target, { data: OLD }), {}, PATCH],
    ["loses what the administrator's has no more", copyOf(target, { data, binaryData: OLD }), {}, GONE],
    ["stays if it is the same", copyOf(target, { data }), {}, undefined],
    ["is made again if it is gone", "none", {}, "create"],
    ["is left alone if it is a stranger's", copyOf(claim({ uid: "another" }), { data: OLD }), {}, undefined],
    ["is not looked at in every pass", undefined, {}, undefined],
    ["is not patched while the API server refuses that", copyOf(target, { data: OLD }), { rejected }, undefined],
    ["is not made while the API server refuses that", "none", { rejected }, undefined],
    [
      "stays while the administrator's is missing",
      copyOf(target, { data: OLD }),
      { cluster: { proxyCertificates: { missing: "it is missing" } } },
      undefined,
    ],
  ] as const) {
    it(what, () => {
      const { actions } = planWith({ target, worker, proxyCopy, cluster: CLUSTER, ...more });
      const changes = actions.flatMap((action): unknown[] => {
        if (action.do === "create" && action.object.kind === "ConfigMap") return ["create"];
        return action.do === "patch" && action.object.kind === "ConfigMap" ? [action.patch] : [];
      });
      assert.deepEqual(changes, expected === undefined ? [] : [expected]);
    });
  }

  it("is brought up to date before another worker starts", () => {
    const plan = planWith({ target, proxyCopy: copyOf(target, { data: OLD }), cluster: CLUSTER });
    assert.deepEqual(plan.outline, ["patch ConfigMap import-proxy-cm-fedora", "create Pod importer-fedora"]);
    const same = planWith({ target, proxyCopy: copyOf(target, { data }), cluster: CLUSTER });
    assert.deepEqual(same.outline, ["create Pod importer-fedora"]);
  });

  for (const [what, objects, isLookedAt] of [
    ["a worker that mounts it", { target, worker }, true],
    ["one that does not", { target, worker: workerOf(target) }, false],
    ["no worker yet", { target }, false],
    ["a worker that was there before", { target: legacyTarget({ annotations: workedOn() }) }, true],
    ["an import that is done", { target: legacyTarget({ annotations: workedOn("Succeeded") }), worker }, false],
    ["one that has ended for good", { target: legacyTarget({ annotations: terminal() }), worker }, false],
    ["one that is to start again", { target: legacyTarget({ annotations: terminal("again") }) }, true],
  ] as const) {
    it(`is ${isLookedAt ? "" : "not "}looked at: ${what}`, () => {
      assert.equal(claimWithProxyCopy(observed(objects)) !== undefined, isLookedAt);
    });
  }
});

function workedOn(podPhase = "Pending"): Readonly<Record<string, string>> {
  return { [ANNOTATIONS.importPodName]: "importer-fedora", [ANNOTATIONS.podPhase]: podPhase };
}

function terminal(retry?: string): Readonly<Record<string, string>> {
  const asked = retry === undefined ? {} : { [ANNOTATIONS.retry]: retry };
  return { ...workedOn("Running"), [ANNOTATIONS.terminal]: "FORMAT_CORRUPT", ...asked };
}

function copyOf(
  owner: Claim,
  held: Pick<ConfigMap, "data" | "binaryData">,
): Exclude<ObservedImport["proxyCopy"], "none"> {
  const name = proxyConfigMapName(owner.metadata.name);
  const metadata = { name, namespace: NAMESPACE, uid: "copy-uid", ownerReferences: [controllerReference(owner)] };
  return { apiVersion: "v1", kind: "ConfigMap", metadata, ...held };
}

function createdIn({ actions }: WorkerPlan): readonly object[] {
  return actions.flatMap((action) => (action.do === "create" ? [action.object] : []));
}
