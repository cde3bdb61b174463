/**
 * Annotations that a worker pod takes over from the claim that it fills (contract 5.5): networks for whoever needs one, and
 * what keeps service meshes out, whose containers would hold the pod open after the worker has ended.
 */
import type { Claim, StringMap } from "../../api/kube.ts";
import { ANNOTATIONS } from "../../api/names.ts";
import { annotationsOf } from "../draft.ts";

/** Undefined: not there unless asked for. */
const USUAL: Readonly<Record<string, string | undefined>> = {
  "k8s.v1.cni.cncf.io/networks": undefined,
  "v1.multus-cni.io/default-network": undefined,
  "sidecar.istio.io/inject": "false",
  "linkerd.io/inject": "disabled",
  [ANNOTATIONS.podPriorityClass]: undefined,
  [ANNOTATIONS.podServiceAccount]: undefined,
};

export function podAnnotations(claim: Claim): StringMap {
  const asked = annotationsOf(claim);
  const entries = Object.entries(USUAL).map(([name, usual]) => [name, asked[name] ?? usual] as const);
  return Object.fromEntries(entries.filter((entry): entry is readonly [string, string] => entry[1] !== undefined));
}
