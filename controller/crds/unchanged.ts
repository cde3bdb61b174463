/**
 * CEL rules that forbid changes, as clients mean them.
 *
 * A client in Go reads an object into its types and writes all of it back: what was "" or an empty list is gone then, `{}` may
 * have come, and a size of 1024Mi is 1Gi. `self == oldSelf` would refuse that. So each object of a spec compares its own
 * plain fields, and whether its parts are there; the parts have rules of their own (`frozen`).
 */
import { withRules } from "./schema.ts";
import type { Rule, Schema } from "./schema.ts";

/** Words that CEL keeps for itself and that are fields here; in a rule they have underscores around them. */
const RESERVED = ["namespace"];

const UNCHANGED_MESSAGE = "the spec cannot be changed; delete the object and create it anew";

/** An object, none of whose fields changes. */
export function frozen(schema: Schema): Schema {
  const properties = schema.properties ?? {};
  return Object.keys(properties).length === 0 ? schema : withRules(schema, [unchangedRule(properties)]);
}

export function unchangedRule(properties: Readonly<Record<string, Schema>>): Rule {
  return forbidden(unchanged(properties));
}

/**
 * A change where `rule` is false. Every patch of a status runs every rule, and what costs there is each look at a field (the
 * API server lists all fields of the object for it); most of the time nothing at all has changed, and one look says so.
 */
export function forbidden(rule: string): Rule {
  return { rule: `self == oldSelf || (${rule})`, message: UNCHANGED_MESSAGE };
}

/** CEL: nothing of the property has changed, not even whether it is there. */
export function identical(name: string): string {
  const [now, before] = [`self.${name}`, `oldSelf.${name}`];
  return `has(${now}) == has(${before}) && (!has(${now}) || ${now} == ${before})`;
}

/** CEL: every one of these properties is as it was. */
export function unchanged(properties: Readonly<Record<string, Schema>>): string {
  return Object.entries(properties)
    .map(([name, schema]) => sameProperty(RESERVED.includes(name) ? `__${name}__` : name, schema))
    .join(" && ");
}

function sameProperty(name: string, schema: Schema): string {
  const [now, before] = [`self.${name}`, `oldSelf.${name}`];
  if (schema.type === "object" && schema.properties !== undefined) return `has(${now}) == has(${before})`;
  const whenOneIsMissing = missing(now, before, schema);
  return `(has(${now}) && has(${before}) ? ${now} == ${before} : ${whenOneIsMissing})`;
}

/** Nothing, "" and an empty list or map are the same. Not so for false and 0: there it matters who decides. */
function missing(now: string, before: string, { type }: Schema): string {
  const empty = (path: string): string => (type === "string" ? `${path} == ''` : `size(${path}) == 0`);
  if (type === "boolean" || type === "integer") return `has(${now}) == has(${before})`;
  return [now, before].map((path) => `(!has(${path}) || ${empty(path)})`).join(" && ");
}
