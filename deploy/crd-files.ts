/**
 * The CRDs of controller/crds as YAML files for deploy/crds. The controller makes them itself; the files are for those who want
 * to read them, or to install them before, as with GitOps.
 */
import { dump } from "js-yaml";
import { allCrds } from "../controller/crds/all-crds.ts";

const HEADER = "# Made from controller/crds by `npm run crds`.\n";

/** A rule stays on its line, and what is in several places is written in each. */
const LAYOUT = { lineWidth: -1, noRefs: true, quoteStyle: "double" } as const;

/** @returns the text of each file, by its name */
export function crdFiles(): ReadonlyMap<string, string> {
  return new Map(allCrds().map((crd) => [`${crd.spec.names.plural}.yaml`, `${HEADER}${dump(crd, LAYOUT)}`]));
}
