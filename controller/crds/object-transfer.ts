/**
 * ObjectTransfer, which moved claims between namespaces (contract 1.9). It is deprecated; nothing here acts on it.
 */
import { filled } from "./cel.ts";
import { AGE, define } from "./definition.ts";
import { map, nameOf, object, oneOf, text } from "./schema.ts";
import { conditionsOf } from "./status-schemas.ts";
import { frozen } from "./unchanged.ts";

const MAX_ENTRIES = 256;

export const objectTransferDefinition = define({
  kind: "ObjectTransfer",
  plural: "objecttransfers",
  scope: "Cluster",
  description: "Moves a claim or DataVolume to another namespace or name. It is deprecated, and nothing acts on it.",
  shortNames: ["ot", "ots"],
  statusSubresource: true,
  columns: [AGE, { name: "Phase", type: "string", jsonPath: ".status.phase" }],
  spec: frozen(
    object(
      {
        source: frozen(
          object(
            {
              apiVersion: text("Of what is moved."),
              kind: oneOf(["DataVolume", "PersistentVolumeClaim"], "The kind of what is moved."),
              namespace: nameOf("The namespace of what is moved.", { minLength: 1 }),
              name: nameOf("The name of what is moved.", { minLength: 1 }),
              requiredAnnotations: map(text("A value."), "Annotations that it must have.", {
                maxProperties: MAX_ENTRIES,
              }),
            },
            { description: "What is moved.", required: ["kind", "namespace", "name"] },
          ),
        ),
        target: frozen(
          object(
            { namespace: nameOf("The new namespace."), name: nameOf("The new name.") },
            {
              description: "Where it goes.",
              rules: [
                {
                  rule: `(${filled("self.__namespace__")}) || (${filled("self.name")})`,
                  message: "give a namespace or a name",
                },
              ],
            },
          ),
        ),
        parentName: nameOf("The transfer that this one is a part of."),
      },
      { description: "What is moved, and where to.", required: ["source", "target"] },
    ),
  ),
  status: object(
    {
      phase: text("How far it is."),
      data: map(text("A value.", { maxLength: 262_144 }), "Notes.", { maxProperties: MAX_ENTRIES }),
      conditions: conditionsOf("Complete"),
    },
    { description: "How far it is." },
  ),
});
