/**
 * CDIConfig, the settings of the whole cluster, and CDI, with which an operator would install: here it is optional, and its
 * settings are mirrored (contract 1.8).
 */
import { podResources } from "./claim-schemas.ts";
import { AGE, define } from "./definition.ts";
import { MAX_URL, flag, list, map, nameOf, object, oneOf, opaque, text, whole } from "./schema.ts";
import type { Schema } from "./schema.ts";
import { conditionsOf } from "./status-schemas.ts";
import { cloneStrategySchema } from "./storage-profile.ts";

const MAX_CLASSES = 4096;
const MAX_ENTRIES = 256;

const importProxy = object(
  {
    HTTPProxy: text("For http://, as http://user:password@host:port.", { maxLength: MAX_URL }),
    HTTPSProxy: text("For https://, as http://user:password@host:port.", { maxLength: MAX_URL }),
    noProxy: text("Hosts and networks without a proxy, with commas between them.", { maxLength: 65_536 }),
    trustedCAProxy: nameOf("A ConfigMap with the authority of the proxy, in the controller's namespace."),
  },
  { description: "The proxy that worker pods use." },
);

const share = text("A number from 0 to 1, with at most three places.", {
  maxLength: 8,
  pattern: "^(0(?:\\.\\d{1,3})?|1)$",
});

const filesystemOverhead = object(
  {
    global: share,
    storageClass: map(share, "For each storage class.", { maxProperties: MAX_CLASSES }),
  },
  { description: "How much of a volume its filesystem takes for itself, as in 0.06." },
);

const imagePullSecrets = list(
  object({ name: nameOf("A Secret.") }, { "x-kubernetes-map-type": "atomic" }),
  "Secrets with which worker pods pull their image.",
  { maxItems: MAX_ENTRIES },
);

const preallocation = flag("Whole volumes are allocated, unless a DataVolume says otherwise.");

const configSpec: Schema = object(
  {
    uploadProxyURLOverride: text("The URL that clients send disks to; nothing here takes them yet.", {
      maxLength: MAX_URL,
    }),
    importProxy,
    scratchSpaceStorageClass: nameOf("The storage class of scratch space."),
    podResourceRequirements: podResources,
    featureGates: list(text("A gate."), "What is switched on.", { maxItems: MAX_ENTRIES }),
    webhookPvcRendering: oneOf(["Enabled", "Disabled"], "Not used: claims with the label for it stay as they are."),
    filesystemOverhead,
    preallocation,
    insecureRegistries: list(text("As host:port."), "Registries without TLS, or with a certificate nobody checks.", {
      maxItems: MAX_ENTRIES,
    }),
    dataVolumeTTLSeconds: whole("Not used."),
    tlsSecurityProfile: opaque("Not used."),
    imagePullSecrets,
    logVerbosity: whole("Not used: the controller's own -v is passed on."),
  },
  { description: "The settings." },
);

export const cdiConfigDefinition = define({
  kind: "CDIConfig",
  plural: "cdiconfigs",
  scope: "Cluster",
  description: "The settings of the whole cluster, in the one object of the name config.",
  spec: configSpec,
  status: object(
    {
      uploadProxyURL: text("As uploadProxyURLOverride says; nothing else is known to take uploads.", {
        maxLength: MAX_URL,
      }),
      uploadProxyCA: text("Not used.", { maxLength: 1_048_576 }),
      importProxy,
      scratchSpaceStorageClass: nameOf("The storage class of scratch space."),
      defaultPodResourceRequirements: podResources,
      filesystemOverhead,
      preallocation,
      imagePullSecrets,
    },
    { description: "What holds." },
  ),
});

const placement = {
  nodeSelector: map(text("A label's value."), "Labels of the nodes.", { maxProperties: MAX_ENTRIES }),
  affinity: opaque("Affinity, as a pod has it."),
  tolerations: list(opaque("A toleration, as a pod has it."), "Taints that do not matter.", { maxItems: MAX_ENTRIES }),
};

const certificate = object({ duration: text("As in 48h."), renewBefore: text("As in 24h.") });

export const cdiDefinition = define({
  kind: "CDI",
  plural: "cdis",
  scope: "Cluster",
  description: "Settings of an installation. It is optional: config and workload are honoured.",
  shortNames: ["cdi", "cdis"],
  olderVersion: "v1alpha1",
  columns: [AGE, { name: "Phase", type: "string", jsonPath: ".status.phase" }],
  spec: object(
    {
      imagePullPolicy: oneOf(["Always", "IfNotPresent", "Never"], "Not used."),
      uninstallStrategy: oneOf(["RemoveWorkloads", "BlockUninstallIfWorkloadsExist"], "Not used."),
      infra: object(
        {
          ...placement,
          deploymentReplicas: whole("Not used."),
          apiServerReplicas: whole("Not used."),
          uploadProxyReplicas: whole("Not used."),
        },
        { description: "Not used." },
      ),
      workload: object(placement, { description: "Where worker pods run." }),
      customizeComponents: opaque("Not used."),
      cloneStrategyOverride: cloneStrategySchema,
      config: configSpec,
      certConfig: object(
        { ca: certificate, server: certificate, client: certificate },
        { description: "How long certificates are good." },
      ),
      priorityClass: nameOf("Not used."),
    },
    { description: "The settings." },
  ),
  status: object(
    {
      phase: text("Of the installation."),
      conditions: conditionsOf("Available, Progressing or Degraded"),
      operatorVersion: text("The operator's version."),
      targetVersion: text("The version that is being installed."),
      observedVersion: text("The version that is installed."),
    },
    { description: "How far the installation is." },
  ),
});
