/**
 * Labels for the claim from the container image that the disk came in. They are a convenience: an image whose environment
 * cannot be had is imported without them.
 */
import type { ImageLabels } from "../labels.ts";
import type { Log } from "./log.ts";

/** @param ask undefined: the disk came in no container image */
export async function askLabels(
  ask: (() => Promise<ImageLabels>) | undefined,
  log: Log,
): Promise<Readonly<Record<string, string>>> {
  if (ask === undefined) return {};
  try {
    const { labels, refused } = await ask();
    if (refused.length > 0) log.warn("variables of the image that are no labels are left out", { keys: refused });
    return labels;
  } catch (error) {
    log.error("the labels of the image cannot be had", error);
    return {};
  }
}
