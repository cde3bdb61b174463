/**
 * The proxy's certificates beside a worker: made before its pod, mounted into it, and told of where there are none.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ConfigMap, Pod } from "../../../../controller/api/kube.ts";
import { ANNOTATIONS } from "../../../../controller/api/names.ts";
import { proxyConfigMapName } from "../../../../controller/plan/worker/proxy-config-map.ts";
import { legacyTarget, planWith, populatorPair } from "../../../support/worker-plan.ts";
import type { WorkerPlan } from "../../../support/worker-plan.ts";

const data = { "ca.pem": "-----BEGIN CERTIFICATE-----" };
const CLUSTER = { proxyCertificates: { data } };

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

function createdIn({ actions }: WorkerPlan): readonly object[] {
  return actions.flatMap((action) => (action.do === "create" ? [action.object] : []));
}
