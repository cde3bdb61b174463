/**
 * A CustomResourceDefinition around a schema: names, columns, subresource, and the marks by which it is known as ours.
 */
import { createHash } from "node:crypto";
import type { KubeObject } from "../api/kube.ts";
import { GROUP } from "../api/names.ts";
import type { Rule, Schema } from "./schema.ts";
import { MAX_LABEL, object } from "./schema.ts";

/** On each CRD that belongs to a decant: `decant`. */
export const OWNER_LABEL = "decant.dev/owner";
export const OWNER = "decant";
/** `<revision>-<hash>`: which schema it is. */
export const SCHEMA_ANNOTATION = "decant.dev/schema";

/** Goes up with each release that changes a CRD: an older controller leaves a newer CRD alone. */
const REVISION = 1;
const HASH_DIGITS = 12;

export interface PrinterColumn {
  readonly name: string;
  readonly type: "string" | "integer" | "date";
  readonly jsonPath: string;
  readonly description?: string;
}

interface Version {
  readonly name: string;
  readonly served: boolean;
  readonly storage: boolean;
  readonly subresources?: { readonly status: Readonly<Record<string, never>> };
  readonly additionalPrinterColumns?: readonly PrinterColumn[];
  readonly schema: { readonly openAPIV3Schema: Schema };
}

export interface CustomResourceDefinition extends KubeObject {
  readonly kind: "CustomResourceDefinition";
  readonly spec: {
    readonly group: string;
    readonly scope: "Namespaced" | "Cluster";
    readonly names: {
      readonly kind: string;
      readonly listKind: string;
      readonly plural: string;
      readonly singular: string;
      readonly shortNames?: readonly string[];
      readonly categories?: readonly string[];
    };
    readonly versions: readonly Version[];
  };
}

export interface Definition {
  readonly kind: string;
  readonly plural: string;
  readonly description: string;
  readonly scope?: "Cluster";
  readonly shortNames?: readonly string[];
  /** It is among `kubectl get all`. */
  readonly inAll?: true;
  readonly columns?: readonly PrinterColumn[];
  /** Status is written by itself; without it, along with the rest. */
  readonly statusSubresource?: true;
  /** Served beside v1beta1, with the same schema. */
  readonly olderVersion?: string;
  readonly spec: Schema;
  readonly status?: Schema;
  /** Of the whole object; only these see its name. */
  readonly rules?: readonly Rule[];
}

export const AGE: PrinterColumn = { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" };

/** Of the whole object: its name goes into labels. */
export const hasShortName: Rule = {
  rule: `size(self.metadata.name) <= ${MAX_LABEL}`,
  message: `give it a name of at most ${MAX_LABEL} characters`,
};

export function define(definition: Definition): CustomResourceDefinition {
  const { kind, plural, scope = "Namespaced", shortNames, inAll, olderVersion } = definition;
  const versions = [versionOf("v1beta1", true, definition)];
  if (olderVersion !== undefined) versions.push(versionOf(olderVersion, false, definition));
  const spec: CustomResourceDefinition["spec"] = {
    group: GROUP,
    scope,
    names: {
      kind,
      listKind: `${kind}List`,
      plural,
      singular: kind.toLowerCase(),
      ...(shortNames === undefined ? {} : { shortNames }),
      ...(inAll === undefined ? {} : { categories: ["all"] }),
    },
    versions,
  };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${GROUP}`, labels: { [OWNER_LABEL]: OWNER } },
    spec,
  };
}

/** Says on the CRD which schema it has. */
export function stamped(crd: CustomResourceDefinition): CustomResourceDefinition {
  const hash = createHash("sha256").update(JSON.stringify(crd.spec)).digest("hex").slice(0, HASH_DIGITS);
  return {
    ...crd,
    metadata: { ...crd.metadata, annotations: { [SCHEMA_ANNOTATION]: `${REVISION}-${hash}` } },
  };
}

function versionOf(name: string, storage: boolean, definition: Definition): Version {
  const { description, spec, status, rules, columns, statusSubresource } = definition;
  const properties: Record<string, Schema> = {
    apiVersion: { type: "string" },
    kind: { type: "string" },
    metadata: { type: "object" },
    spec,
    ...(status === undefined ? {} : { status }),
  };
  return {
    name,
    served: true,
    storage,
    ...(statusSubresource === undefined ? {} : { subresources: { status: {} } }),
    ...(columns === undefined ? {} : { additionalPrinterColumns: columns }),
    schema: {
      openAPIV3Schema: object(properties, {
        description,
        required: ["spec"],
        ...(rules === undefined ? {} : { rules }),
      }),
    },
  };
}
