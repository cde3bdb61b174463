/**
 * What a plan asks for. Each action carries its precondition, so that a plan made from old objects does nothing wrong: a
 * fixed name for what is created, a UID for what is deleted, a resourceVersion where a change depends on what was seen.
 *
 * The executor runs them in order and stops at the first that fails; the next plan starts from what is then there.
 */
import type { KubeObject } from "../api/kube.ts";

/** A JSON merge patch (RFC 7386): null removes. */
export type MergePatch = Readonly<Record<string, unknown>>;

export interface ObjectKey {
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace?: string | undefined;
  readonly name: string;
}

export type Action =
  /** That it exists already is success if it has the owner that it is to have; else a rejection, which the next plan tells. */
  | { readonly do: "create"; readonly object: KubeObject }
  | {
      readonly do: "patch";
      readonly object: ObjectKey;
      /** Of the same object, so that one made in its place meanwhile is left alone. */
      readonly uid: string;
      /** Where it matters that nobody changed it since. */
      readonly resourceVersion?: string;
      readonly subresource?: "status";
      readonly patch: MergePatch;
    }
  /** That it is gone already is success. */
  | {
      readonly do: "delete";
      readonly object: ObjectKey;
      readonly uid: string;
    }
  | {
      readonly do: "event";
      readonly on: KubeObject;
      readonly type: "Normal" | "Warning";
      readonly reason: string;
      readonly message: string;
    }
  /** Plan again after so long, though nothing changes. */
  | { readonly do: "again"; readonly afterMs: number };

export function keyOf({ apiVersion, kind, metadata: { namespace, name } }: KubeObject): ObjectKey {
  return { apiVersion, kind, namespace, name };
}
