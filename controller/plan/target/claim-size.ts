/**
 * How much a claim asks for, so that a disk of the wanted size is usable on it (contract 3.4). The arithmetic is that of
 * importer/target-size.ts, which the worker does backwards; both must agree to the byte.
 */
import { quantityInBytes } from "../../../importer/quantity.ts";
import { requiredSpace } from "../../../importer/target-size.ts";
import type { ClaimSpec, Resources } from "../../api/kube.ts";
import { overheadOf } from "../config-values.ts";
import type { ClusterFacts } from "../observed.ts";

/** Less is refused: it is no disk, and most often a forgotten suffix. */
const SMALLEST_REQUEST = 1024 * 1024;

/** The request, or why there is none. */
export type ClaimSize = { readonly request: string } | { readonly refused: string };

/** What is asked for, as text; a custom resource may hold a plain number. */
export function askedStorage(resources: Resources | undefined): string | undefined {
  const asked: unknown = resources?.requests?.["storage"];
  return typeof asked === "string" || typeof asked === "number" ? String(asked) : undefined;
}

/**
 * @param spec    class and mode as they will be
 * @param minimum the class's smallest volume, a quantity; one that cannot be read counts as none
 */
export function claimSize(facts: ClusterFacts, spec: ClaimSpec, minimum: string | undefined): ClaimSize {
  const text = askedStorage(spec.resources);
  if (text === undefined || text === "") return { refused: "the storage request is missing" };
  const asked = quantityInBytes(text);
  if (asked === undefined) return { refused: `the storage request ${text.slice(0, 100)} is not a quantity` };
  if (asked < SMALLEST_REQUEST) return { refused: `the storage request ${text} is less than 1Mi` };
  const needed = spec.volumeMode === "Block" ? asked : requiredSpace(Number(overheadOf(facts, spec)), asked);
  const smallest = (minimum === undefined ? undefined : quantityInBytes(minimum)) ?? 0;
  const bytes = Math.max(needed, smallest);
  if (!Number.isSafeInteger(bytes)) {
    const what =
      smallest > needed ? "the smallest volume that its StorageProfile allows" : `the storage request ${text}`;
    return { refused: `${what} is larger than any volume` };
  }
  return { request: bytes === asked ? text : String(bytes) };
}
