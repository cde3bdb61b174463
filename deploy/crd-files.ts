/**
 * The CRDs of controller/crds as YAML files for deploy/crds. The controller makes them itself; the files are for those who want
 * to read them, or to install them before, as with GitOps.
 */
import { allCrds } from "../controller/crds/all-crds.ts";

const HEADER = "# Made from controller/crds by `npm run crds`.\n";

/** What is a text for every reader of YAML, with no quotes around it. */
const PLAIN = /^[A-Za-z][A-Za-z0-9./-]*(?: [A-Za-z0-9./-]+)*$/;
const WORDS = /^(?:true|false|yes|no|on|off|null|y|n)$/i;

/** @returns the text of each file, by its name */
export function crdFiles(): ReadonlyMap<string, string> {
  return new Map(allCrds().map((crd) => [`${crd.spec.names.plural}.yaml`, `${HEADER}${block(crd, "")}\n`]));
}

/** In lines that are indented, without a line break at the end. */
function block(value: unknown, indent: string): string {
  if (Array.isArray(value) && value.length > 0) {
    return value.map((item) => `${indent}- ${block(item, `${indent}  `).slice(indent.length + 2)}`).join("\n");
  }
  if (value !== null && typeof value === "object" && !Array.isArray(value) && Object.keys(value).length > 0) {
    const lines = Object.entries(value).map(([name, field]) => {
      return `${indent}${scalar(name)}:${isNested(field) ? `\n${block(field, `${indent}  `)}` : ` ${scalar(field)}`}`;
    });
    return lines.join("\n");
  }
  return `${indent}${scalar(value)}`;
}

function isNested(value: unknown): boolean {
  return value !== null && typeof value === "object" && Object.keys(value).length > 0;
}

/** JSON is YAML, too: so are {} and []. */
function scalar(value: unknown): string {
  return typeof value === "string" && PLAIN.test(value) && !WORDS.test(value) ? value : JSON.stringify(value);
}
