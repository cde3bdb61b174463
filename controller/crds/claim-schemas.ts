/**
 * What a claim asks for: `pvc`, which is Kubernetes' own claim spec, and `storage`, in which the storage profile fills the gaps
 * (contract 1.2, 1.10).
 */
import { present } from "./cel.ts";
import { MAX_NAME, list, map, nameOf, object, oneOf, text } from "./schema.ts";
import type { Rule, Schema } from "./schema.ts";
import { forbidden, identical, unchanged } from "./unchanged.ts";

export const ACCESS_MODES = ["ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod"];
export const VOLUME_MODES = ["Block", "Filesystem"];

/** No class ("") and the default class (nothing) differ; so may two ways to write a selector, but nobody rewrites them. */
const EXACT = ["selector", "storageClassName", "dataSource", "dataSourceRef"];

const MAX_RESOURCES = 16;
const MAX_SELECTORS = 64;

const QUANTITY_PATTERN =
  "^(\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))))?$";

/** `10Gi`, or a number of bytes. */
const quantity: Schema = {
  anyOf: [{ type: "integer" }, { type: "string" }],
  pattern: QUANTITY_PATTERN,
  "x-kubernetes-int-or-string": true,
};

/** CEL: the claim asks for a size. */
export function hasSize(claim: string): string {
  return `${present(`${claim}.resources.requests`)} && 'storage' in ${claim}.resources.requests`;
}

/** CEL: the size as text; not for a claim without. */
function sizeOf(claim: string): string {
  return `string(${claim}.resources.requests['storage'])`;
}

const hasGoodSize: Rule = {
  rule: `!(${hasSize("self")}) || (isQuantity(${sizeOf("self")}) && !quantity(${sizeOf("self")}).isLessThan(quantity('1Mi')))`,
  message: "resources.requests.storage must be at least 1Mi",
};

const hasOneReference: Rule = {
  rule: "!(has(self.dataSource) && has(self.dataSourceRef))",
  message: "give dataSource or dataSourceRef, not both",
};

const hasOneAccessMode: Rule = {
  rule: "has(self.accessModes) && size(self.accessModes) == 1",
  message: "give exactly one access mode in accessModes",
};

/** A reference of a claim names an API group, unless it is to another claim. */
const hasGroup: Rule = {
  rule: "self.kind == 'PersistentVolumeClaim' || (has(self.apiGroup) && self.apiGroup != '')",
  message: "give the apiGroup of what is referred to, unless it is a PersistentVolumeClaim",
};

const isLocal: Rule = {
  rule: "!has(self.__namespace__) || self.__namespace__ == ''",
  message: "leave namespace out: only what is in the same namespace can be referred to",
};

const reference = {
  apiGroup: text("The API group of what is referred to."),
  kind: text("The kind of what is referred to.", { minLength: 1 }),
  name: nameOf("The name of what is referred to.", { minLength: 1 }),
};

const resources = object({
  limits: map(quantity, "The most that is asked for.", { maxProperties: MAX_RESOURCES }),
  requests: map(quantity, "The least that is asked for; storage is the size.", { maxProperties: MAX_RESOURCES }),
});

/** Worker pods have `claims`, too, which are not for them. */
export const podResources = { ...resources, description: "The compute resources of worker pods." };

const selector = object(
  {
    matchLabels: map(text("A label's value."), "Labels that the volume has.", { maxProperties: MAX_SELECTORS }),
    matchExpressions: list(
      object(
        {
          key: text("The label's name."),
          operator: text("In, NotIn, Exists or DoesNotExist."),
          values: list(text("A value."), "The values that In and NotIn compare with.", { maxItems: MAX_SELECTORS }),
        },
        { required: ["key", "operator"] },
      ),
      "Expressions that hold for the volume's labels.",
      { maxItems: MAX_SELECTORS },
    ),
  },
  { description: "Only volumes with these labels are taken.", "x-kubernetes-map-type": "atomic" },
);

const shared = {
  accessModes: list(oneOf(ACCESS_MODES, "How nodes may mount the volume."), "How nodes may mount the volume.", {
    maxItems: ACCESS_MODES.length,
  }),
  selector,
  resources: { ...resources, description: "The size of the volume is resources.requests.storage." },
  volumeName: nameOf("The volume that is taken."),
  storageClassName: nameOf("The storage class; left out, the default one."),
  volumeMode: oneOf(VOLUME_MODES, "Filesystem, which holds the disk as the file disk.img, or Block."),
  dataSource: object(reference, {
    description: "What another populator or the storage itself fills the volume with.",
    required: ["kind", "name"],
    rules: [hasGroup],
    "x-kubernetes-map-type": "atomic",
  }),
  dataSourceRef: object(
    { ...reference, namespace: text("Not supported.", { maxLength: MAX_NAME }) },
    {
      description: "What another populator or the storage itself fills the volume with.",
      required: ["kind", "name"],
      rules: [hasGroup, isLocal],
    },
  ),
};

export const pvcSchema: Schema = claim(
  { ...shared, volumeAttributesClassName: nameOf("The volume attributes class.") },
  "A claim as Kubernetes has it; it is made as it stands.",
  [hasOneAccessMode],
);

export const storageSchema: Schema = claim(
  shared,
  "A claim whose gaps are filled from the storage profile of its class, and whose size is that of the disk.",
);

function claim(properties: Readonly<Record<string, Schema>>, description: string, rules: readonly Rule[] = []): Schema {
  const plain = Object.entries(properties).filter(([name]) => name !== "resources" && !EXACT.includes(name));
  const isSame = [
    unchanged(Object.fromEntries(plain)),
    ...EXACT.map(identical),
    `(${hasSize("self")}) == (${hasSize("oldSelf")})`,
    `(!(${hasSize("self")}) || quantity(${sizeOf("self")}) == quantity(${sizeOf("oldSelf")}))`,
  ];
  const all = [hasGoodSize, hasOneReference, ...rules, forbidden(isSame.join(" && "))];
  return object(properties, { description, rules: all });
}
