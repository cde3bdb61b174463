/**
 * DataVolume: a claim, and what is to be in it (contract 1.2, 1.10).
 */
import { listed, present, set } from "./cel.ts";
import { hasSize, pvcSchema, storageSchema } from "./claim-schemas.ts";
import { AGE, define } from "./definition.ts";
import { flag, list, nameOf, object, oneOf, text, whole } from "./schema.ts";
import type { Rule, Schema } from "./schema.ts";
import { dataVolumeSourceSchema } from "./source-schemas.ts";
import { conditionsOf } from "./status-schemas.ts";
import { forbidden, frozen, unchanged, unchangedRule } from "./unchanged.ts";

const MAX_CHECKPOINTS = 256;

export const contentTypeSchema = oneOf(
  ["", "kubevirt", "archive"],
  "kubevirt for the image of a disk, which is the default, or archive for a tar that is unpacked.",
);

export const preallocationSchema = flag("The whole volume is allocated; left out, as CDIConfig says.");

const checkpoint = object(
  {
    previous: text("The snapshot before."),
    current: text("The snapshot of this stage."),
  },
  { required: ["previous", "current"] },
);

export const checkpointProperties = {
  checkpoints: list(checkpoint, "The stages of an import in several.", { maxItems: MAX_CHECKPOINTS }),
  finalCheckpoint: flag("The last checkpoint ends the import."),
};

const isSameStage = [
  unchanged({ checkpoints: checkpointProperties.checkpoints }),
  `(${set("self.finalCheckpoint")}) == (${set("oldSelf.finalCheckpoint")})`,
].join(" && ");
const isStaged = `(${present("self.source.vddk")} || ${present("self.source.imageio")}) && ${listed("self.checkpoints")}`;

/** An import in stages goes on by a change of its checkpoints; nothing else changes. */
export const checkpointRule: Rule = forbidden(`(${isSameStage}) || (${isStaged})`);

const isArchive = "has(self.contentType) && self.contentType == 'archive'";

export const noArchiveRule: Rule = {
  rule: `!(${isArchive}) || !(${present("self.source.blank")} || ${present("self.source.registry")})`,
  message: "leave contentType out: the sources blank and registry hold a disk, not an archive",
};

const properties = {
  source: dataVolumeSourceSchema,
  sourceRef: frozen(
    object(
      {
        kind: oneOf(["DataSource"], "DataSource."),
        namespace: nameOf("The namespace of the DataSource; left out, that of the DataVolume."),
        name: nameOf("The name of the DataSource.", { minLength: 1 }),
      },
      { description: "A DataSource that names the claim or snapshot to copy.", required: ["kind", "name"] },
    ),
  ),
  pvc: pvcSchema,
  storage: storageSchema,
  priorityClassName: nameOf("The priority class of worker pods."),
  serviceAccountName: nameOf("The service account of worker pods."),
  contentType: contentTypeSchema,
  preallocation: preallocationSchema,
};

/** CEL: whether something other than a source here fills the volume. */
const FILLED_BY_OTHERS = ["pvc", "storage"]
  .flatMap((claim) => ["dataSource", "dataSourceRef"].map((name) => present(`self.${claim}.${name}`)))
  .join(" || ");
const IS_CLONE = ["self.sourceRef", "self.source.pvc", "self.source.snapshot"].map(present).join(" || ");

const rules: readonly Rule[] = [
  { rule: "has(self.pvc) != has(self.storage)", message: "give exactly one of pvc and storage" },
  {
    rule: `!has(self.pvc) || (${hasSize("self.pvc")})`,
    message: "give the size in pvc.resources.requests.storage",
  },
  {
    rule: `!has(self.storage) || (${hasSize("self.storage")}) || ${IS_CLONE}`,
    message: "give the size in storage.resources.requests.storage; only a copy may go without",
  },
  {
    rule: `!(${FILLED_BY_OTHERS}) || !(has(self.source) || has(self.sourceRef))`,
    message: "give source or sourceRef, or a dataSource or dataSourceRef in the claim, not both",
  },
  {
    rule: `(${FILLED_BY_OTHERS}) || has(self.source) != has(self.sourceRef)`,
    message: "give exactly one of source and sourceRef",
  },
  noArchiveRule,
  unchangedRule(properties),
  checkpointRule,
];

/** Of a DataVolume, and of the template in a DataImportCron. */
export const dataVolumeSpecSchema: Schema = object(
  { ...properties, ...checkpointProperties },
  { description: "The claim, and where its data comes from.", rules },
);

export const dataVolumeStatusSchema: Schema = object(
  {
    claimName: text("The claim, which has the name of the DataVolume."),
    phase: text("How far it is."),
    progress: text("How much has come, in percent, or N/A."),
    restartCount: whole("How often the worker started again."),
    conditions: conditionsOf("Ready, Bound or Running"),
  },
  { description: "How far it is, and what is in its way." },
);

export const dataVolumeDefinition = define({
  kind: "DataVolume",
  plural: "datavolumes",
  description: "A claim that is filled with the disk of a virtual machine.",
  shortNames: ["dv", "dvs"],
  inAll: true,
  statusSubresource: true,
  columns: [
    { name: "Phase", type: "string", jsonPath: ".status.phase", description: "How far it is" },
    { name: "Progress", type: "string", jsonPath: ".status.progress", description: "How much has come, or N/A" },
    {
      name: "Restarts",
      type: "integer",
      jsonPath: ".status.restartCount",
      description: "How often the worker started again",
    },
    AGE,
  ],
  spec: dataVolumeSpecSchema,
  status: dataVolumeStatusSchema,
});
