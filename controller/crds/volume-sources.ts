/**
 * What a claim's dataSourceRef may name: VolumeImportSource, VolumeUploadSource and VolumeCloneSource (contract 1.4, 1.10).
 */
import { filled, listed } from "./cel.ts";
import {
  checkpointProperties,
  checkpointRule,
  contentTypeSchema,
  noArchiveRule,
  preallocationSchema,
} from "./data-volume.ts";
import { define, hasShortName } from "./definition.ts";
import { nameOf, object, oneOf, text } from "./schema.ts";
import type { Rule, Schema } from "./schema.ts";
import { importSourceSchema } from "./source-schemas.ts";
import { frozen, unchangedRule } from "./unchanged.ts";

const importProperties = {
  source: importSourceSchema,
  contentType: contentTypeSchema,
  preallocation: preallocationSchema,
  targetClaim: nameOf("Only the claim of this name is filled."),
};

const importRules: readonly Rule[] = [
  { rule: "has(self.source)", message: "give a source" },
  {
    rule: `!(${listed("self.checkpoints")}) || (${filled("self.targetClaim")})`,
    message: "give the targetClaim that an import in stages is for",
  },
  noArchiveRule,
  unchangedRule(importProperties),
  checkpointRule,
];

const emptyStatus: Schema = object({}, { description: "Nothing." });

export const volumeImportSourceDefinition = define({
  kind: "VolumeImportSource",
  plural: "volumeimportsources",
  description: "A source of data for the claims that name it in their dataSourceRef.",
  rules: [hasShortName],
  spec: object(
    { ...importProperties, ...checkpointProperties },
    { description: "Where the data comes from.", rules: importRules },
  ),
  status: emptyStatus,
});

export const volumeUploadSourceDefinition = define({
  kind: "VolumeUploadSource",
  plural: "volumeuploadsources",
  description: "The claims that name it in their dataSourceRef are filled with what a client sends.",
  rules: [hasShortName],
  spec: frozen(
    object({ contentType: contentTypeSchema, preallocation: preallocationSchema }, { description: "What is sent." }),
  ),
  status: emptyStatus,
});

export const volumeCloneSourceDefinition = define({
  kind: "VolumeCloneSource",
  plural: "volumeclonesources",
  description: "The claims that name it in their dataSourceRef become copies.",
  spec: object(
    {
      source: object(
        {
          apiGroup: text("The API group of what is copied."),
          kind: oneOf(["PersistentVolumeClaim", "VolumeSnapshot"], "The kind of what is copied."),
          name: nameOf("The name of what is copied, in the same namespace.", { minLength: 1 }),
        },
        { description: "What is copied.", required: ["kind", "name"], "x-kubernetes-map-type": "atomic" },
      ),
      preallocation: preallocationSchema,
      priorityClassName: nameOf("The priority class of worker pods."),
    },
    { description: "What is copied.", required: ["source"] },
  ),
});
