/**
 * What clients see and send: kubectl's columns and short names, objects as programs in Go write them, status by itself, two
 * versions of CDI; and what the controller does to CRDs that are older, newer or somebody else's.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { allCrds } from "../../../controller/crds/all-crds.ts";
import { OWNER_LABEL, SCHEMA_ANNOTATION } from "../../../controller/crds/definition.ts";
import { ensureCrds } from "../../../controller/ensure-crds.ts";
import type { ObservedCrd } from "../../../controller/ensure-crds.ts";
import type { Api } from "../api.ts";
import { askKubectl, provideApiServer } from "../api-server.ts";
import { requireControlPlane } from "../control-plane.ts";
import type { ControlPlane } from "../control-plane.ts";
import { changed, createCrds, folderOf, goodObject } from "./good-objects.ts";
import type { Sample } from "./good-objects.ts";

const skip = await requireControlPlane();

const CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const FIRST = `${CRDS}/datavolumes.cdi.kubevirt.io`;
const NEVER = "1-000000000000";

describe("clients of the CRDs", { skip }, () => {
  let controlPlane: ControlPlane;
  let api: Api;
  provideApiServer(async (server) => {
    ({ controlPlane, api } = server);
    await createCrds(api);
  });

  it("kubectl shows phase, progress, restarts and age of a DataVolume, by its short names and among all", async () => {
    const path = folderOf("DataVolume");
    const object = await api.request<Sample>("POST", path, named("DataVolume", "fedora"));
    assert.equal(object.status, undefined);
    const condition = { type: "Running", status: "True", reason: "Pod is running", lastTransitionTime: null };
    const status = { claimName: "fedora", phase: "ImportInProgress", progress: "45.31%", restartCount: 2 };
    const body = changed(object, { status: { ...status, conditions: [condition] } });
    await api.request("PUT", `${path}/fedora/status`, body);
    for (const name of ["dv", "dvs", "datavolume", "all"]) {
      const lines = kubectl("get", name);
      assert.ok(
        lines.some((line) => /^NAME +PHASE +PROGRESS +RESTARTS +AGE$/.test(line)),
        lines.join("\n"),
      );
      const row = /^(datavolume\.cdi\.kubevirt\.io\/)?fedora +ImportInProgress +45\.31% +2 +\d+s$/;
      assert.ok(
        lines.some((line) => row.test(line)),
        lines.join("\n"),
      );
    }
  });

  it("the status of a DataVolume is written by itself, and with the rest where a kind has none of its own", async () => {
    const status = { phase: "Succeeded" };
    const path = `${folderOf("DataVolume")}/alone`;
    await api.request("POST", folderOf("DataVolume"), changed(named("DataVolume", "alone"), { status }));
    assert.equal((await api.get<Sample>(path)).status, undefined);
    await api.request("PATCH", path, { status });
    assert.equal((await api.get<Sample>(path)).status, undefined);
    await api.request("PATCH", `${path}/status`, { status });
    assert.deepEqual((await api.get<Sample>(path)).status, status);

    const config = { status: { filesystemOverhead: { global: "0.06", storageClass: { csi: "0.06" } } } };
    await api.request("POST", folderOf("CDIConfig"), changed(named("CDIConfig", "config"), config));
    assert.deepEqual((await api.get<Sample>(`${folderOf("CDIConfig")}/config`)).status, config.status);
  });

  it("objects pass as programs in Go write them, and what nobody knows is left out", async () => {
    const object = {
      ...named("DataVolume", "from-go"),
      metadata: { name: "from-go", creationTimestamp: null, annotations: {}, labels: {} },
      spec: {
        source: { blank: {}, http: null },
        storage: { resources: { requests: { storage: "1Gi" } }, selector: null, newField: 1 },
        checkpoints: null,
        anotherField: { a: 1 },
      },
      status: { conditions: null },
    };
    const made = await api.request<Sample>("POST", folderOf("DataVolume"), object);
    const spec = { source: { blank: {} }, storage: { resources: { requests: { storage: "1Gi" } } } };
    assert.deepEqual(made.spec, spec);
    const cron = goodObject("DataImportCron");
    const source = { registry: { url: "docker://registry.example.org/fedora" } };
    const template = {
      metadata: { creationTimestamp: null },
      spec: { source, storage: { resources: { requests: { storage: "1Gi" } } } },
      status: {},
    };
    const metadata = { name: "from-go", creationTimestamp: null };
    await api.request("POST", folderOf("DataImportCron"), { ...cron, metadata, spec: { ...cron.spec, template } });
  });

  it("every kind can be made, and read back by its columns", async () => {
    for (const { spec } of allCrds()) {
      const { kind, plural, shortNames = [] } = spec.names;
      await api.request("POST", `${folderOf(kind)}?fieldValidation=Strict`, named(kind, "every-kind"));
      const names = [plural, ...shortNames].map((name) => (name === "cdi" ? "cdi.v1beta1.cdi.kubevirt.io" : name));
      for (const name of names)
        assert.ok(
          kubectl("get", name).some((line) => /^every-kind\b/.test(line)),
          name,
        );
    }
    assert.match(kubectl("get", "cdis")[0] ?? "", /^NAME +AGE +PHASE$/);
    assert.match(kubectl("get", "dic")[0] ?? "", /^NAME +FORMAT$/);
    assert.match(kubectl("explain", "dv.spec.source.http.url").join("\n"), /The image's URL/);
  });

  it("a CDI of the older version is one of the newer, too", async () => {
    const cdi = { ...named("CDI", "older"), apiVersion: "cdi.kubevirt.io/v1alpha1" };
    const spec = { config: { featureGates: ["HonorWaitForFirstConsumer"] }, infra: { nodeSelector: { a: "b" } } };
    await api.request("POST", folderOf("CDI", "v1alpha1"), changed(cdi, { spec }));
    assert.deepEqual((await api.get<Sample>(`${folderOf("CDI")}/older`)).spec, spec);
  });

  it("a cluster as it was made is ready, and an older schema is brought up to date", async () => {
    assert.deepEqual(ensureCrds(allCrds(), await observed()), { kind: "accepted", actions: [], isReady: true });
    const columns = { versions: [{ ...allCrds()[0]?.spec.versions[0], additionalPrinterColumns: [] }] };
    await api.request("PATCH", FIRST, { metadata: { annotations: { [SCHEMA_ANNOTATION]: NEVER } }, spec: columns });
    const decision = ensureCrds(allCrds(), await observed());
    assert.ok(decision.kind === "accepted" && decision.actions.length === 1);
    const [action] = decision.actions;
    assert.ok(action?.do === "patch");
    const { uid, resourceVersion, patch } = action;
    await api.request("PATCH", FIRST, changed(patch, { metadata: { uid, resourceVersion } }));
    assert.deepEqual(ensureCrds(allCrds(), await observed()), { kind: "accepted", actions: [], isReady: true });
    const { spec } = await api.get<{ readonly spec: typeof columns & object }>(FIRST);
    assert.equal(spec.versions[0]?.additionalPrinterColumns?.length, 4);
  });

  it("those of another installation are refused, until they are handed over as the sentence says", async () => {
    await api.request("PATCH", FIRST, {
      metadata: { labels: { [OWNER_LABEL]: null }, annotations: { [SCHEMA_ANNOTATION]: null } },
    });
    const refused = ensureCrds(allCrds(), await observed());
    assert.ok(refused.kind === "refused");
    const command = /kubectl (label crd .*)$/.exec(refused.sentence)?.[1] ?? assert.fail(refused.sentence);
    kubectl(...command.split(" "));
    const decision = ensureCrds(allCrds(), await observed());
    assert.ok(decision.kind === "accepted" && decision.actions.length === 1);
  });

  async function observed(): Promise<readonly ObservedCrd[]> {
    return (await api.get<{ readonly items: readonly ObservedCrd[] }>(CRDS)).items;
  }

  /** @returns lines */
  function kubectl(...args: readonly string[]): string[] {
    return askKubectl(controlPlane, args).split("\n");
  }
});

function named(kind: string, name: string): Sample {
  return changed(goodObject(kind), { metadata: { name } });
}
