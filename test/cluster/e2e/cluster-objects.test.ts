/**
 * What clients of KubeVirt CDI look for before there is any import (contract 1 and 12): kinds, settings, profiles of storage
 * classes; and what they ask of a claim that is there already.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { CdiConfig, StorageProfile } from "../../../controller/api/cdi.ts";
import type { KubeObject } from "../../../controller/api/kube.ts";
import { ANNOTATIONS, API_VERSION } from "../../../controller/api/names.ts";
import { requireRunningCluster } from "../cluster.ts";
import type { Cluster } from "../cluster.ts";
import { claim } from "../objects.ts";
import { CSI_IMMEDIATE, LOCAL_PATH } from "../storage.ts";
import { clusterWithController } from "./controller.ts";
import { eventually } from "./eventually.ts";
import { conditionOf, Imports } from "./imports.ts";
import { isControlledBy } from "./known-objects.ts";

const skip = requireRunningCluster();
const PLACE = `/apis/${API_VERSION}`;
const CONFIG = `${PLACE}/cdiconfigs/config`;
const CDIS = `${PLACE}/cdis`;

interface Discovered {
  readonly resources: readonly { readonly name: string; readonly shortNames?: readonly string[] }[];
}

describe("what clients look for", { skip }, () => {
  const cluster = clusterWithController();

  it("every kind is served, and DataVolumes have a status of their own", async () => {
    const { resources } = await cluster.api.get<Discovered>(PLACE);
    const names = resources.map(({ name }) => name);
    // Without one of these, KubeVirt's controllers do not start, or leave machines without a phase.
    for (const name of ["cdiconfigs", "cdis", "datasources", "datavolumes", "datavolumes/status", "storageprofiles"]) {
      assert.ok(names.includes(name), name);
    }
    for (const name of ["dataimportcrons", "volumeclonesources", "volumeimportsources", "volumeuploadsources"]) {
      assert.ok(names.includes(name), name);
    }
    const dataVolumes = resources.find(({ name }) => name === "datavolumes");
    assert.deepEqual(dataVolumes?.shortNames, ["dv", "dvs"]);
  });

  it("CDIConfig has a value for every setting", async () => {
    const { items } = await cluster.api.get<{ readonly items: readonly KubeObject[] }>(
      "/apis/storage.k8s.io/v1/storageclasses",
    );
    const storageClass = Object.fromEntries(items.map(({ metadata }) => [metadata.name, "0.06"]));
    const { status } = await cluster.api.get<CdiConfig>(CONFIG);
    assert.deepEqual(status, {
      importProxy: { HTTPProxy: "", HTTPSProxy: "", noProxy: "", trustedCAProxy: "" },
      scratchSpaceStorageClass: "",
      defaultPodResourceRequirements: {
        limits: { cpu: "750m", memory: "600M" },
        requests: { cpu: "100m", memory: "60M" },
      },
      filesystemOverhead: { global: "0.06", storageClass },
      preallocation: false,
    });
  });

  // KubeVirt CDI does not know it either: a DataVolume has to say how it wants its claim.
  it("each class has a profile, which says what it lacks", async () => {
    const { spec, status } = await cluster.api.get<StorageProfile>(`${PLACE}/storageprofiles/${LOCAL_PATH}`);
    assert.deepEqual(spec, {});
    const { conditions, ...known } = status ?? {};
    assert.deepEqual(known, {
      claimPropertySets: [],
      cloneStrategy: "copy",
      dataImportCronSourceFormat: "pvc",
      provisioner: "rancher.io/local-path",
      storageClass: LOCAL_PATH,
    });
    assert.deepEqual(
      conditions?.map(({ type, status: is, reason }) => [type, is, reason]),
      [["Recognized", "False", "UnrecognizedProvisioner"]],
    );
  });

  it("settings of a CDI object are those of CDIConfig within seconds", async () => {
    const config = { filesystemOverhead: { global: "0.08" }, insecureRegistries: ["registry.test:5000"] };
    await cluster.api.request("POST", CDIS, {
      apiVersion: API_VERSION,
      kind: "CDI",
      metadata: { name: "cdi", annotations: { [ANNOTATIONS.configAuthority]: "" } },
      spec: { config },
    });
    try {
      const { spec, status } = await cluster.api.until<CdiConfig>(
        CONFIG,
        (found) => found?.status?.filesystemOverhead?.global === "0.08",
      );
      assert.deepEqual(spec, config);
      assert.equal(status?.filesystemOverhead?.storageClass?.[LOCAL_PATH], "0.08");
    } finally {
      await cluster.api.request("DELETE", `${CDIS}/cdi`);
      await untilUsual(cluster);
    }
  });

  it("a claim that is there is adopted where that is allowed, as KubeVirt always does", async () => {
    await cluster.withNamespace(async (namespace) => {
      const imports = new Imports(cluster, namespace);
      await imports.create("persistentvolumeclaims", claim(namespace, "disk", { storageClass: CSI_IMMEDIATE }));
      await imports.untilClaim("disk", ({ status }) => status?.phase === "Bound");
      const annotations = { [ANNOTATIONS.allowClaimAdoption]: "true" };
      await imports.start("disk", { blank: {} }, { annotations });
      const dataVolume = await imports.untilSucceeded("disk");
      assert.equal(dataVolume.status?.claimName, "disk");
      assert.equal(conditionOf(dataVolume, "Ready")?.status, "True");
      isControlledBy(await imports.claim("disk"), dataVolume);
      assert.deepEqual(await imports.all("pods"), []);
    });
  });
});

/** A controller that has not seen yet that the CDI object is gone writes its settings again. */
async function untilUsual({ api }: Cluster): Promise<void> {
  await eventually(async () => {
    await api.request("PATCH", CONFIG, { spec: { filesystemOverhead: null, insecureRegistries: null } });
    await sleep(200);
    const { spec, status } = await api.get<CdiConfig>(CONFIG);
    assert.deepEqual([spec.filesystemOverhead, status?.filesystemOverhead?.global], [undefined, "0.06"]);
  });
}
