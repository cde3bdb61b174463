/**
 * One good object of each kind, and the API server that takes them.
 */
import assert from "node:assert/strict";
import { allCrds } from "../../../controller/crds/all-crds.ts";
import { ApiError } from "../api.ts";
import type { Api } from "../api.ts";

export interface Sample {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly spec: object;
  readonly status?: object;
}

const source = { http: { url: "https://images.example.org/fedora.qcow2", secretRef: "images" } };
const storage = { resources: { requests: { storage: "1Gi" } } };
const registry = { url: "docker://registry.example.org/fedora:41" };

/** A good member of a source. */
export const VDDK = {
  url: "https://vc.example.org",
  secretRef: "vc",
  uuid: "1",
  backingFile: "[a] b.vmdk",
  thumbprint: "AA:BB",
};

const SPECS: Readonly<Record<string, object>> = {
  DataVolume: { source, storage },
  VolumeImportSource: { source },
  VolumeUploadSource: { contentType: "kubevirt" },
  VolumeCloneSource: { source: { kind: "PersistentVolumeClaim", name: "fedora" } },
  StorageProfile: {},
  DataSource: { source: { pvc: { namespace: "golden", name: "fedora" } } },
  DataImportCron: {
    schedule: "0 */12 * * *",
    managedDataSource: "fedora",
    template: { metadata: { labels: { os: "fedora" } }, spec: { source: { registry }, storage } },
  },
  CDIConfig: {},
  CDI: {},
  ObjectTransfer: {
    source: { kind: "DataVolume", namespace: "images", name: "fedora" },
    target: { namespace: "golden" },
  },
};

export function goodObject(kind: string): Sample {
  const spec = SPECS[kind];
  if (spec === undefined) throw new Error(`there is no sample of a ${kind}`);
  return { apiVersion: "cdi.kubevirt.io/v1beta1", kind, metadata: { name: "sample" }, spec };
}

/** With a JSON merge patch: null removes. */
export function changed<T>(object: T, patch: unknown): T {
  if (patch === null || typeof patch !== "object" || Array.isArray(patch)) return patch as T;
  const before = object !== null && typeof object === "object" && !Array.isArray(object) ? object : {};
  const result: Record<string, unknown> = { ...before };
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key];
    else result[key] = changed(result[key], value);
  }
  return result as T;
}

/** Where objects of a kind are; in the namespace `default` if they are in one. */
export function folderOf(kind: string, version = "v1beta1"): string {
  const crd = allCrds().find(({ spec }) => spec.names.kind === kind);
  if (crd === undefined) throw new Error(`there is no CRD of ${kind}`);
  const namespace = crd.spec.scope === "Namespaced" ? "/namespaces/default" : "";
  return `/apis/cdi.kubevirt.io/${version}${namespace}/${crd.spec.names.plural}`;
}

/**
 * Makes them, as the controller would, and waits until they are served.
 * @param by who makes them; default: who waits
 */
export async function createCrds(api: Api, by = api): Promise<void> {
  const path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
  for (const crd of allCrds()) await by.request("POST", path, crd);
  for (const { metadata, spec } of allCrds()) {
    await api.until<Served>(`${path}/${metadata.name}`, (crd) => {
      return crd?.status?.conditions?.some(({ type, status }) => type === "Established" && status === "True") === true;
    });
    // Established is said a moment before it is so.
    const folder = folderOf(spec.names.kind);
    await api.until(folder, (list) => list !== undefined);
  }
}

/** Asserts that the API server finds what a patch made of an object invalid, and says so in these words. */
export async function isInvalid(answer: Promise<unknown>, patch: object, says: string): Promise<void> {
  const shown = JSON.stringify(patch);
  const isRefusal = (error: unknown): boolean => {
    assert.ok(error instanceof ApiError, String(error));
    assert.equal(error.status, 422, error.message);
    assert.ok(error.message.includes(says), `${shown} is refused with ${error.message}`);
    return true;
  };
  await assert.rejects(answer, isRefusal, `${shown} is taken`);
}

interface Served {
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
}
