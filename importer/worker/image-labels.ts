/**
 * Labels for the claim from the container image that the disk came in. They are a convenience: an image whose environment
 * cannot be had is imported without them.
 */
import type { ImageLabels } from "../labels.ts";
import { orInterrupted } from "../or-interrupted.ts";
import type { Log } from "./log.ts";

/**
 * @param ask    undefined: the disk came in no container image
 * @param signal who has to stop reports the disk that is there, without its labels
 */
export async function askLabels(
  ask: (() => Promise<ImageLabels>) | undefined,
  log: Log,
  signal: AbortSignal,
): Promise<Readonly<Record<string, string>>> {
  if (ask === undefined) return {};
  try {
    const { labels, refused } = await orInterrupted(ask(), signal, () => undefined);
    if (refused.length > 0) log.warn("variables of the image that are no labels are left out", { keys: refused });
    return labels;
  } catch (error) {
    log.error("the labels of the image cannot be had", error);
    return {};
  }
}
