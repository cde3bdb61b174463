/**
 * CDIConfig (contract 1.8): the one object with the settings of the whole cluster. Spec is what people set, or what a CDI object
 * says; status is what follows from it, and is what others read.
 */
import type { Cdi, CdiConfig, CdiConfigSpec, FilesystemOverhead } from "../../api/cdi.ts";
import type { Resources, StringMap } from "../../api/kube.ts";
import {
  ANNOTATIONS,
  API_VERSION,
  APP,
  CONFIG_NAME,
  DEFAULT_OVERHEAD,
  GATE_HONOR_WAIT_FOR_FIRST_CONSUMER,
  LABELS,
} from "../../api/names.ts";
import { keyOf } from "../action.ts";
import type { Action } from "../action.ts";
import { OVERHEAD_PATTERN, USUAL_RESOURCES } from "../config-values.ts";
import { annotationsOf, onlyChanges } from "../draft.ts";
import type { ClusterFacts } from "../observed.ts";
import { replacingPatch } from "./replacing-patch.ts";

/** What CDIConfig is computed from. */
export type ObservedConfig = Pick<ClusterFacts, "config" | "cdi" | "storageClasses">;

/** Of a CDIConfig that nobody wrote, as CDI's own releases have it. */
const INITIAL_SPEC: CdiConfigSpec = { featureGates: [GATE_HONOR_WAIT_FOR_FIRST_CONSUMER] };

const NO_PROXY = { HTTPProxy: "", HTTPSProxy: "", noProxy: "", trustedCAProxy: "" };

type ConfigStatus = NonNullable<CdiConfig["status"]>;

export function planConfig(observed: ObservedConfig): readonly Action[] {
  const { config, cdi } = observed;
  const mirrored = cdi === undefined ? undefined : specOf(cdi);
  if (config === undefined) {
    const spec = mirrored ?? INITIAL_SPEC;
    const metadata = { name: CONFIG_NAME, labels: { [LABELS.app]: APP } };
    const status = statusOf(spec, observed);
    const created: CdiConfig = { apiVersion: API_VERSION, kind: "CDIConfig", metadata, spec, status };
    return [{ do: "create", object: created }];
  }
  const { uid, deletionTimestamp } = config.metadata;
  if (uid === undefined || deletionTimestamp !== undefined) return [];
  const spec = mirrored === undefined ? undefined : replacingPatch(config.spec, mirrored);
  const status = statusPatch(config, statusOf(mirrored ?? config.spec, observed));
  if (spec === undefined && status === undefined) return [];
  const patch = { ...(spec === undefined ? {} : { spec }), ...(status === undefined ? {} : { status }) };
  return [{ do: "patch", object: keyOf(config), uid, patch }];
}

/**
 * An operator says with an annotation that its CDI object decides. One that somebody applied by hand decides by what is in it.
 * @returns undefined where it does not decide
 */
function specOf(cdi: Cdi): CdiConfigSpec | undefined {
  if (cdi.metadata.deletionTimestamp !== undefined) return undefined;
  const hasAuthority = annotationsOf(cdi)[ANNOTATIONS.configAuthority] !== undefined;
  return cdi.spec.config ?? (hasAuthority ? {} : undefined);
}

function statusOf(spec: CdiConfigSpec, { storageClasses }: ObservedConfig): ConfigStatus {
  const names = storageClasses.map(({ metadata }) => metadata.name).sort();
  const { scratchSpaceStorageClass: scratch = "", uploadProxyURLOverride: uploadUrl = "" } = spec;
  return {
    ...(uploadUrl === "" ? {} : { uploadProxyURL: uploadUrl }),
    importProxy: { ...NO_PROXY, ...spec.importProxy },
    scratchSpaceStorageClass: names.includes(scratch) ? scratch : "",
    defaultPodResourceRequirements: podResources(spec.podResourceRequirements),
    filesystemOverhead: overheads(spec, names),
    preallocation: spec.preallocation ?? false,
    ...(spec.imagePullSecrets === undefined ? {} : { imagePullSecrets: spec.imagePullSecrets }),
  };
}

/** Each of the four on its own. */
function podResources(asked: Resources | undefined): Resources {
  const { limits, requests } = USUAL_RESOURCES;
  return { limits: overridden(limits, asked?.limits), requests: overridden(requests, asked?.requests) };
}

/** A custom resource may hold a plain number. */
function overridden(defaults: StringMap, asked: Readonly<Record<string, unknown>> = {}): StringMap {
  const given = (name: string): string | undefined => {
    const value = asked[name];
    return typeof value === "string" || typeof value === "number" ? String(value) : undefined;
  };
  return Object.fromEntries(Object.entries(defaults).map(([name, usual]) => [name, given(name) ?? usual]));
}

/** An entry for every class, so that readers need no rules. */
function overheads({ filesystemOverhead }: CdiConfigSpec, names: readonly string[]): FilesystemOverhead {
  const global = share(filesystemOverhead?.global) ?? DEFAULT_OVERHEAD;
  const asked = filesystemOverhead?.storageClass ?? {};
  const entries = names.map((name) => [name, (Object.hasOwn(asked, name) ? share(asked[name]) : undefined) ?? global]);
  return { global, storageClass: Object.fromEntries(entries) as StringMap };
}

function share(text: string | undefined): string | undefined {
  return text !== undefined && OVERHEAD_PATTERN.test(text) ? text : undefined;
}

/**
 * Fields that are not computed here (uploadProxyCA) are left as they are. The URL of an upload proxy is never looked for among
 * Ingresses, as CDI does: nothing of this installation takes uploads, and clients believe the URL.
 */
function statusPatch({ status = {} }: CdiConfig, wanted: ConfigStatus): Readonly<Record<string, unknown>> | undefined {
  const { filesystemOverhead, ...plain } = wanted;
  const changes = onlyChanges(status, {
    ...plain,
    ...(wanted.uploadProxyURL === undefined ? { uploadProxyURL: null } : {}),
    ...(wanted.imagePullSecrets === undefined ? { imagePullSecrets: null } : {}),
  });
  const overhead = replacingPatch(status.filesystemOverhead, filesystemOverhead ?? {});
  if (changes === undefined && overhead === undefined) return undefined;
  return { ...changes, ...(overhead === undefined ? {} : { filesystemOverhead: overhead }) };
}
