/**
 * Structural schemas of a CRD as data, and short ways to write them.
 *
 * Rules are CEL (`x-kubernetes-validations`). The API server refuses a CRD whose rules could cost too much, and guesses the cost
 * from the limits of strings, lists and maps: so what a rule looks at has limits. A rule's message says what to do, without a
 * capital and a full stop, because the API server puts the field and the value in front of it.
 */

/** Limits of names in Kubernetes. */
export const MAX_NAME = 253;
export const MAX_LABEL = 63;
/** Longer than any URL that servers take. */
export const MAX_URL = 4096;
const MAX_TEXT = 4096;

export interface Rule {
  readonly rule: string;
  readonly message: string;
}

export interface Schema {
  readonly type?: "object" | "array" | "string" | "integer" | "boolean";
  readonly description?: string;
  readonly format?: string;
  readonly enum?: readonly string[];
  readonly nullable?: true;
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly maxItems?: number;
  readonly additionalProperties?: Schema;
  readonly maxProperties?: number;
  readonly anyOf?: readonly Schema[];
  readonly "x-kubernetes-int-or-string"?: true;
  readonly "x-kubernetes-preserve-unknown-fields"?: true;
  readonly "x-kubernetes-map-type"?: "atomic";
  readonly "x-kubernetes-list-type"?: "atomic";
  readonly "x-kubernetes-validations"?: readonly Rule[];
}

/** What a builder does not say by itself. */
type More = Omit<Schema, "type" | "description" | "properties" | "items" | "x-kubernetes-validations">;

export interface ObjectMore extends More {
  readonly description?: string;
  readonly rules?: readonly Rule[];
}

export function object(properties: Readonly<Record<string, Schema>>, { rules, ...more }: ObjectMore = {}): Schema {
  return { type: "object", ...more, properties, ...validations(rules) };
}

export function text(description: string, more: More & { readonly rules?: readonly Rule[] } = {}): Schema {
  const { rules, ...rest } = more;
  return { type: "string", description, maxLength: MAX_TEXT, ...rest, ...validations(rules) };
}

/** Of another object: a name that may be empty. */
export function nameOf(description: string, more: More = {}): Schema {
  return text(description, { maxLength: MAX_NAME, ...more });
}

export function oneOf(values: readonly string[], description: string): Schema {
  return { type: "string", description, enum: values };
}

export function flag(description: string): Schema {
  return { type: "boolean", description };
}

export function whole(description: string, more: More = {}): Schema {
  return { type: "integer", format: "int32", description, ...more };
}

/** A moment, as Kubernetes writes it; null is none. */
export function moment(description: string): Schema {
  return { type: "string", format: "date-time", description, nullable: true };
}

export function list(items: Schema, description: string, more: More & { readonly maxItems: number }): Schema {
  return { type: "array", description, ...more, items, "x-kubernetes-list-type": "atomic" };
}

export function map(values: Schema, description: string, more: More & { readonly maxProperties: number }): Schema {
  return { type: "object", description, ...more, additionalProperties: values };
}

/** An object of Kubernetes that is handed on as it stands. */
export function opaque(description: string): Schema {
  return { type: "object", description, "x-kubernetes-preserve-unknown-fields": true };
}

/** The same, with more rules. */
export function withRules(schema: Schema, rules: readonly Rule[]): Schema {
  return { ...schema, ...validations([...(schema["x-kubernetes-validations"] ?? []), ...rules]) };
}

function validations(rules: readonly Rule[] = []): Pick<Schema, "x-kubernetes-validations"> {
  return rules.length === 0 ? {} : { "x-kubernetes-validations": rules };
}
