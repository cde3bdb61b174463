/**
 * StorageProfile: what claims of a storage class may ask for, one for each class (contract 1.5).
 */
import { ACCESS_MODES, VOLUME_MODES } from "./claim-schemas.ts";
import { define } from "./definition.ts";
import { list, nameOf, object, oneOf, text } from "./schema.ts";
import { conditionsOf } from "./status-schemas.ts";

const MAX_SETS = 8;

export const cloneStrategySchema = oneOf(
  ["copy", "snapshot", "csi-clone"],
  "How claims are copied: copy by pods, by a snapshot, or by the storage itself.",
);

export const sourceFormatSchema = oneOf(["snapshot", "pvc"], "What a DataImportCron keeps its images as.");

const modes = `[${ACCESS_MODES.map((mode) => `'${mode}'`).join(", ")}]`;

const claimPropertySet = object(
  {
    accessModes: {
      ...list(text("An access mode.", { maxLength: 64 }), "How nodes may mount the volume.", {
        maxItems: ACCESS_MODES.length,
      }),
      "x-kubernetes-validations": [
        { rule: `self.all(mode, mode in ${modes})`, message: `give access modes out of ${ACCESS_MODES.join(", ")}` },
      ],
    },
    volumeMode: oneOf(VOLUME_MODES, "Filesystem or Block."),
  },
  { required: ["accessModes", "volumeMode"] },
);

const properties = {
  claimPropertySets: list(claimPropertySet, "What goes together, the best first.", { maxItems: MAX_SETS }),
  cloneStrategy: cloneStrategySchema,
  dataImportCronSourceFormat: sourceFormatSchema,
  snapshotClass: nameOf("The class of snapshots."),
};

export const storageProfileDefinition = define({
  kind: "StorageProfile",
  plural: "storageprofiles",
  scope: "Cluster",
  description: "What claims of the storage class of the same name may ask for.",
  statusSubresource: true,
  spec: object(properties, { description: "What a person knows better." }),
  status: object(
    {
      storageClass: nameOf("The storage class."),
      provisioner: text("Its provisioner."),
      ...properties,
      conditions: conditionsOf("Recognized"),
    },
    { description: "What holds." },
  ),
});
