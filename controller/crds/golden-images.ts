/**
 * DataSource, a name for a claim or snapshot to copy, and DataImportCron, which keeps one up to date (contract 1.6, 1.7, 1.10).
 */
import { countOf, present } from "./cel.ts";
import { dataVolumeSpecSchema, dataVolumeStatusSchema } from "./data-volume.ts";
import { define, hasShortName } from "./definition.ts";
import { MAX_LABEL, list, map, moment, nameOf, object, oneOf, text, whole } from "./schema.ts";
import type { Rule } from "./schema.ts";
import { placeOf } from "./source-schemas.ts";
import { conditionsOf } from "./status-schemas.ts";
import { sourceFormatSchema } from "./storage-profile.ts";
import { frozen, unchangedRule } from "./unchanged.ts";

const MAX_IMPORTS = 64;
const MAX_ENTRIES = 256;

const places = {
  pvc: placeOf("a claim"),
  snapshot: placeOf("a volume snapshot"),
};
const references = { ...places, dataSource: placeOf("a DataSource") };

export const dataSourceDefinition = define({
  kind: "DataSource",
  plural: "datasources",
  description: "A name for a claim or volume snapshot that DataVolumes copy.",
  shortNames: ["das"],
  inAll: true,
  spec: object(
    {
      source: object(references, {
        description: "What is copied; nothing, as long as it is not there.",
        rules: [
          {
            rule: `${countOf(Object.keys(references))} <= 1`,
            message: "give only one of pvc, snapshot and dataSource",
          },
        ],
      }),
    },
    { description: "What is copied.", required: ["source"] },
  ),
  status: object(
    { source: object(references, { description: "What is copied now." }), conditions: conditionsOf("Ready") },
    { description: "Whether it can be copied." },
  ),
});

const template = object(
  {
    apiVersion: text("cdi.kubevirt.io/v1beta1."),
    kind: text("DataVolume."),
    metadata: frozen(
      object(
        {
          name: text("Not used."),
          namespace: text("Not used."),
          labels: map(text("A value."), "Labels of the DataVolumes.", { maxProperties: MAX_ENTRIES }),
          annotations: map(text("A value.", { maxLength: 262_144 }), "Annotations of the DataVolumes.", {
            maxProperties: MAX_ENTRIES,
          }),
        },
        { description: "What the DataVolumes have in their metadata." },
      ),
    ),
    spec: dataVolumeSpecSchema,
    status: dataVolumeStatusSchema,
  },
  { description: "The DataVolumes that are made.", required: ["spec"] },
);

const FIELD = "[0-9A-Za-z*/,?#-]+";

const schedule = text("When to look for a new image, as a cron line; empty: only once.", {
  maxLength: 256,
  rules: [
    {
      rule: `self.matches('^$|^(TZ=\\\\S+ +|CRON_TZ=\\\\S+ +)?(@(yearly|annually|monthly|weekly|daily|midnight|hourly)|@every [0-9a-z.]+|${FIELD}( +${FIELD}){4,6})$')`,
      message: "give a cron line of five fields, as in 0 */12 * * *, or leave it empty",
    },
  ],
});

const cronProperties = {
  template,
  schedule,
  garbageCollect: oneOf(["Outdated", "Never"], "Whether old images are deleted; Outdated is the default."),
  importsToKeep: whole("How many images stay; 3 is the default.", { minimum: 0 }),
  managedDataSource: nameOf("The DataSource that names the newest image.", { minLength: 1 }),
  retentionPolicy: oneOf(["All", "None"], "What stays when this is deleted; All is the default."),
  serviceAccountName: nameOf("The service account of the pods that look for a new image."),
  createdBy: text("Who made it.", { maxLength: 65_536 }),
};

const TEMPLATE = "self.template.spec";

const cronRules: readonly Rule[] = [
  {
    rule: `size(self.managedDataSource) <= ${MAX_LABEL}`,
    message: `give a managedDataSource of at most ${MAX_LABEL} characters`,
  },
  {
    rule: `${present(`${TEMPLATE}.source.registry`)} || ${present(`${TEMPLATE}.source.pvc`)}`,
    message: "give the template a source: registry or pvc",
  },
  {
    rule: `!has(${TEMPLATE}.sourceRef) && !(has(${TEMPLATE}.contentType) && ${TEMPLATE}.contentType != '')`,
    message: "leave sourceRef and contentType out of the template",
  },
  {
    rule: `!(has(${TEMPLATE}.checkpoints) && size(${TEMPLATE}.checkpoints) > 0) && !(has(${TEMPLATE}.finalCheckpoint) && ${TEMPLATE}.finalCheckpoint)`,
    message: "leave checkpoints and finalCheckpoint out of the template",
  },
  unchangedRule(cronProperties),
];

export const dataImportCronDefinition = define({
  kind: "DataImportCron",
  plural: "dataimportcrons",
  description: "Looks for new versions of an image, and keeps a DataSource pointed at the newest.",
  shortNames: ["dic", "dics"],
  inAll: true,
  columns: [
    { name: "Format", type: "string", jsonPath: ".status.sourceFormat", description: "What images are kept as" },
  ],
  rules: [hasShortName],
  spec: object(cronProperties, {
    description: "Which image, and when to look.",
    required: ["template", "schedule", "managedDataSource"],
    rules: cronRules,
  }),
  status: object(
    {
      currentImports: list(
        object(
          { DataVolumeName: text("The DataVolume."), Digest: text("Of the image.") },
          { required: ["DataVolumeName", "Digest"] },
        ),
        "What is being imported.",
        { maxItems: MAX_IMPORTS },
      ),
      lastImportedPVC: placeOf("the newest image's claim"),
      lastExecutionTimestamp: moment("When it looked last."),
      lastImportTimestamp: moment("When it found something last."),
      sourceFormat: sourceFormatSchema,
      conditions: conditionsOf("Progressing or UpToDate"),
    },
    { description: "What it did." },
  ),
});
