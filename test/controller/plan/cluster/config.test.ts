/**
 * Contract 1.8: each field of CDIConfig's status with and without something in its spec, and a CDI object that decides.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Cdi, CdiConfig, CdiConfigSpec } from "../../../../controller/api/cdi.ts";
import { planConfig } from "../../../../controller/plan/cluster/config.ts";
import type { ObservedConfig } from "../../../../controller/plan/cluster/config.ts";
import { applyPatch } from "../../../../controller/plan/draft.ts";
import { cdiConfig, storageClass } from "../../../support/observed-import.ts";

const storageClasses = [storageClass({ name: "slow" }), storageClass({ name: "fast" })];

const DEFAULTS = {
  importProxy: { HTTPProxy: "", HTTPSProxy: "", noProxy: "", trustedCAProxy: "" },
  scratchSpaceStorageClass: "",
  defaultPodResourceRequirements: {
    limits: { cpu: "750m", memory: "600M" },
    requests: { cpu: "100m", memory: "60M" },
  },
  filesystemOverhead: { global: "0.06", storageClass: { fast: "0.06", slow: "0.06" } },
  preallocation: false,
};

function cdi(config: CdiConfigSpec | undefined, annotations: Record<string, string> = {}): Cdi {
  return {
    apiVersion: "cdi.kubevirt.io/v1beta1",
    kind: "CDI",
    metadata: { name: "cdi", uid: "cdi-uid", annotations },
    spec: config === undefined ? {} : { config },
  };
}

/** CDIConfig as it is after the plan. */
function after(observed: Partial<ObservedConfig>): CdiConfig {
  const seen: ObservedConfig = { config: cdiConfig(), cdi: undefined, storageClasses, ...observed };
  const [action, ...others] = planConfig(seen);
  assert.deepEqual(others, []);
  if (action?.do === "create") return action.object as CdiConfig;
  assert.ok(seen.config !== undefined);
  return action?.do === "patch" ? applyPatch(seen.config, action.patch) : seen.config;
}

const STATUS: readonly [string, CdiConfigSpec, object][] = [
  ["nothing", {}, {}],
  [
    "a proxy",
    { importProxy: { HTTPSProxy: "http://proxy.test:3128", noProxy: "local" } },
    { importProxy: { ...DEFAULTS.importProxy, HTTPSProxy: "http://proxy.test:3128", noProxy: "local" } },
  ],
  ["a class of scratch space", { scratchSpaceStorageClass: "fast" }, { scratchSpaceStorageClass: "fast" }],
  ["one that is not there", { scratchSpaceStorageClass: "gone" }, {}],
  [
    "some resources",
    { podResourceRequirements: { limits: { memory: "1G" }, requests: { cpu: "1" } } },
    {
      defaultPodResourceRequirements: {
        limits: { cpu: "750m", memory: "1G" },
        requests: { cpu: "1", memory: "60M" },
      },
    },
  ],
  [
    "overheads",
    { filesystemOverhead: { global: "0.1", storageClass: { fast: "0.2", gone: "0.3" } } },
    { filesystemOverhead: { global: "0.1", storageClass: { fast: "0.2", slow: "0.1" } } },
  ],
  [
    "overheads that are none",
    { filesystemOverhead: { global: "2", storageClass: { fast: "-1" } } },
    { filesystemOverhead: DEFAULTS.filesystemOverhead },
  ],
  ["preallocation", { preallocation: true }, { preallocation: true }],
  ["pull secrets", { imagePullSecrets: [{ name: "pull" }] }, { imagePullSecrets: [{ name: "pull" }] }],
  ["an upload proxy", { uploadProxyURLOverride: "https://upload.test" }, { uploadProxyURL: "https://upload.test" }],
];

describe("CDIConfig's status", () => {
  for (const [name, spec, differences] of STATUS) {
    it(name, () => {
      assert.deepEqual(after({ config: cdiConfig(spec) }).status, { ...DEFAULTS, ...differences });
    });
  }

  it("is not written again", () => {
    const config = after({ config: cdiConfig({ preallocation: true }) });
    assert.deepEqual(planConfig({ config, cdi: undefined, storageClasses }), []);
  });

  it("has no entry of a class that is gone, and keeps what others computed", () => {
    const config = after({});
    const old = {
      ...config,
      status: { ...config.status, uploadProxyCA: "certificate", uploadProxyURL: "https://old.test" },
    };
    assert.deepEqual(after({ config: old, storageClasses: [storageClass({ name: "fast" })] }).status, {
      ...DEFAULTS,
      filesystemOverhead: { global: "0.06", storageClass: { fast: "0.06" } },
      uploadProxyCA: "certificate",
    });
  });
});

describe("CDIConfig", () => {
  it("is made where there is none, with the gate that CDI's releases have", () => {
    const made = after({ config: undefined });
    assert.equal(made.metadata.name, "config");
    assert.deepEqual(made.spec, { featureGates: ["HonorWaitForFirstConsumer"] });
    assert.deepEqual(made.status, DEFAULTS);
  });

  const asked: CdiConfigSpec = { featureGates: ["DataVolumeClaimAdoption"], preallocation: true };
  const before = cdiConfig({ featureGates: ["HonorWaitForFirstConsumer"], insecureRegistries: ["a:5000"] });

  for (const [name, object, wanted] of [
    ["a CDI object's settings replace all", cdi(asked), asked],
    ["one that says nothing decides nothing", cdi(undefined), before.spec],
    ["unless it has the authority", cdi(undefined, { "cdi.kubevirt.io/configAuthority": "" }), {}],
  ] as const) {
    it(name, () => {
      assert.deepEqual(after({ config: before, cdi: object }).spec, wanted);
    });
  }

  it("is made from a CDI object that is there", () => {
    const made = after({ config: undefined, cdi: cdi(asked) });
    assert.deepEqual(made.spec, asked);
    assert.equal(made.status?.preallocation, true);
  });

  it("is left alone by a CDI object that goes", () => {
    const going = cdi(asked);
    const metadata = { ...going.metadata, deletionTimestamp: "2026-09-01T12:00:00Z" };
    assert.deepEqual(after({ config: before, cdi: { ...going, metadata } }).spec, before.spec);
  });
});
