/**
 * The contract between controller and worker: what goes into the environment here comes out of the worker's readConfig.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Claim, EnvironmentVariable } from "../../../../controller/api/kube.ts";
import { ANNOTATIONS } from "../../../../controller/api/names.ts";
import type { ClusterFacts } from "../../../../controller/plan/observed.ts";
import { workerEnvironment } from "../../../../controller/plan/worker/environment.ts";
import { readRequest } from "../../../../controller/plan/worker/worker-request.ts";
import { readConfig } from "../../../../importer/config.ts";
import type { WorkerConfig } from "../../../../importer/config.ts";
import { cdiConfig, claim, dataVolume, facts, populatedClaim, primeOf } from "../../../support/observed-import.ts";

/** The variables in the contract's section 13, which are there even when empty. */
const ALWAYS = `
  IMPORTER_SOURCE IMPORTER_ENDPOINT IMPORTER_CONTENTTYPE IMPORTER_IMAGE_SIZE OWNER_UID
  FILESYSTEM_OVERHEAD INSECURE_TLS IMPORTER_DISK_ID IMPORTER_UUID IMPORTER_BACKING_FILE
  IMPORTER_THUMBPRINT IMPORTER_PULL_METHOD IMPORTER_READY_FILE IMPORTER_DONE_FILE IMPORTER_CURRENT_CHECKPOINT
  IMPORTER_PREVIOUS_CHECKPOINT IMPORTER_FINAL_CHECKPOINT http_proxy https_proxy no_proxy
  PREALLOCATION CACHE_MODE IMPORTER_REGISTRY_IMAGE_ARCHITECTURE IMPORTER_CHECKSUM
`
  .trim()
  .split(/\s+/);

function environmentOf(of: Claim, cluster: ClusterFacts = facts()): readonly EnvironmentVariable[] {
  return workerEnvironment(of, readRequest(of), cluster);
}

/** As the kubelet hands it to the worker. */
function asRun(variables: readonly EnvironmentVariable[], secret: Record<string, string> = {}): Record<string, string> {
  const env: Record<string, string> = {};
  for (const { name, value, valueFrom } of variables) {
    env[name] = valueFrom === undefined ? expand(value ?? "", env) : (secret[valueFrom.secretKeyRef?.key ?? ""] ?? "");
  }
  return env;
}

/** Kubernetes' rule: `$$` is one, `$(NAME)` of a known variable is its value, anything else stays. */
function expand(value: string, env: Record<string, string>): string {
  return value.replaceAll(/\$\$|\$\(([^)]*)\)/g, (whole, name: string | undefined) => {
    return name === undefined ? "$" : (env[name] ?? whole);
  });
}

function configOf(of: Claim, cluster?: ClusterFacts, secret?: Record<string, string>): WorkerConfig {
  return readConfig(asRun(environmentOf(of, cluster), secret));
}

describe("the environment of a worker", () => {
  it("has every variable of the contract, and ours", () => {
    const blank = claim({ annotations: { [ANNOTATIONS.importSource]: "none" } });
    assert.deepEqual(
      environmentOf(blank).map(({ name }) => name),
      [...ALWAYS, "DECANT_CONTROLLER"],
    );
    const config = configOf(blank);
    assert.equal(config.source, "none");
    assert.equal(config.endpoint, "");
    assert.equal(config.ownController, true);
  });

  it("arrives as it was asked for: http", () => {
    const config = configOf(
      claim({
        owner: dataVolume(),
        annotations: {
          [ANNOTATIONS.importSource]: "http",
          [ANNOTATIONS.importEndpoint]: "https://images.example.org/disk.qcow2?a=$(IMPORTER_SECRET_KEY)&b=$$c&d=$e$",
          [ANNOTATIONS.importSecret]: "keys",
          [ANNOTATIONS.importCertConfigMap]: "ca",
          [ANNOTATIONS.importInsecureSkipVerify]: "true",
          [ANNOTATIONS.importChecksum]: `sha256:${"a".repeat(64)}`,
          [ANNOTATIONS.contentType]: "archive",
          [ANNOTATIONS.preallocationRequested]: "true",
          [ANNOTATIONS.importRequiresDirectIo]: "true",
          [`${ANNOTATIONS.importExtraHeaders}1`]: "X-Second: $(OWNER_UID)",
          [`${ANNOTATIONS.importExtraHeaders}0`]: "X-First: 1",
        },
      }),
      facts({
        config: cdiConfig(
          {},
          {
            filesystemOverhead: { global: "0.1" },
            importProxy: { HTTPProxy: "http://proxy:3128", HTTPSProxy: "http://proxy:3129", noProxy: "*.local" },
          },
        ),
      }),
      { accessKeyId: "user", secretKey: "$ecret" },
    );
    assert.deepEqual(config, {
      ...config,
      source: "http",
      endpoint: "https://images.example.org/disk.qcow2?a=$(IMPORTER_SECRET_KEY)&b=$$c&d=$e$",
      contentType: "archive",
      imageSize: 2 ** 30,
      ownerUid: "dv-uid",
      filesystemOverhead: 0.1,
      insecureTls: true,
      preallocation: true,
      directIo: true,
      accessKey: "user",
      secretKey: "$ecret",
      googleCredentials: undefined,
      certDir: "/certs",
      checksum: `sha256:${"a".repeat(64)}`,
      proxy: { http: "http://proxy:3128", https: "http://proxy:3129", none: "*.local" },
      nodePull: false,
      ownController: true,
    });
    assert.deepEqual(
      config.extraHeaders.map(({ name, value }) => `${name}: ${value}`),
      ["X-First: 1", "X-Second: $(OWNER_UID)"],
    );
  });

  it("names the credentials of Google by file", () => {
    const config = configOf(
      claim({
        annotations: {
          [ANNOTATIONS.importSource]: "gcs",
          [ANNOTATIONS.importEndpoint]: "gs://bucket/disk.raw",
          [ANNOTATIONS.importSecret]: "google",
        },
      }),
    );
    assert.equal(config.googleCredentials, "/google/credentials.json");
    assert.equal(config.accessKey, undefined);
  });

  it("turns a node pull into a download from the container beside it", () => {
    const config = configOf(
      claim({
        annotations: {
          [ANNOTATIONS.importSource]: "registry",
          [ANNOTATIONS.importEndpoint]: "docker://registry.example.org/fedora:40",
          [ANNOTATIONS.importRegistryMethod]: "node",
          [ANNOTATIONS.importRegistryArchitecture]: "arm64",
        },
      }),
    );
    const { source, endpoint, nodePull, readyFile, doneFile, architecture } = config;
    assert.deepEqual(
      { source, endpoint, nodePull, readyFile, doneFile, architecture },
      {
        source: "http",
        endpoint: "http://localhost:8100/disk.img",
        nodePull: true,
        readyFile: "/shared/ready",
        doneFile: "/shared/done",
        architecture: "arm64",
      },
    );
  });

  it("passes on what imageio and vddk are told", () => {
    const config = configOf(
      claim({
        annotations: {
          [ANNOTATIONS.importSource]: "vddk",
          [ANNOTATIONS.importDiskId]: "disk",
          [ANNOTATIONS.importUuid]: "vm",
          [ANNOTATIONS.importBackingFile]: "[store] vm/vm.vmdk",
          [ANNOTATIONS.importThumbprint]: "aa:bb",
          [ANNOTATIONS.checkpointCurrent]: "now",
          [ANNOTATIONS.checkpointPrevious]: "before",
          [ANNOTATIONS.checkpointFinal]: "true",
        },
      }),
    );
    const { diskId, uuid, backingFile, thumbprint, checkpoint } = config;
    assert.deepEqual(
      { diskId, uuid, backingFile, thumbprint, checkpoint },
      {
        diskId: "disk",
        uuid: "vm",
        backingFile: "[store] vm/vm.vmdk",
        thumbprint: "aa:bb",
        checkpoint: { current: "now", previous: "before", final: "true" },
      },
    );
  });

  it("has no overhead on a device", () => {
    assert.equal(configOf(claim()).filesystemOverhead, 0.06);
    assert.equal(configOf(claim({ spec: { volumeMode: "Block" } })).filesystemOverhead, 0);
  });

  it("labels progress with whom the claim is for", () => {
    const target = populatedClaim({ owner: dataVolume() });
    assert.equal(configOf(primeOf(target)).ownerUid, "target-uid");
    assert.equal(configOf(claim()).ownerUid, "target-uid");
    const [one] = primeOf(target).metadata.ownerReferences ?? [];
    assert.ok(one);
    const owned = claim({ metadata: { ownerReferences: [one, { ...one, uid: "another" }] } });
    assert.equal(configOf(owned).ownerUid, "target-uid");
  });

  const INSECURE = [
    ["http", "http://a.example", "true", true],
    ["imageio", "https://a.example", "true", true],
    ["http", "http://a.example", "yes", false],
    ["s3", "https://a.example/b", "true", false],
    ["registry", "docker://listed.example:5000/a:1", "", true],
    ["registry", "docker://listed.example/a:1", "", false],
    ["registry", "docker://other.example:5000/listed.example:5000", "", false],
    ["registry", "oci-archive://listed.example:5000/a", "", false],
    ["http", "docker://listed.example:5000/a:1", "", false],
  ] as const;
  for (const [source, endpoint, skip, expected] of INSECURE) {
    it(`${expected ? "skips" : "asks for"} certificates of ${source} ${endpoint} (${skip})`, () => {
      const of = claim({
        annotations: {
          [ANNOTATIONS.importSource]: source,
          [ANNOTATIONS.importEndpoint]: endpoint,
          [ANNOTATIONS.importInsecureSkipVerify]: skip,
        },
      });
      const cluster = facts({ config: cdiConfig({ insecureRegistries: ["listed.example:5000"] }) });
      assert.equal(configOf(of, cluster).insecureTls, expected);
    });
  }
});
