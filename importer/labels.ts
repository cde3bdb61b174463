/**
 * Labels for the claim, from the environment of a container image: `INSTANCETYPE_KUBEVIRT_IO_DEFAULT_PREFERENCE=fedora`
 * becomes `instancetype.kubevirt.io/default-preference=fedora`.
 *
 * What the API server would not take as a label is left out: one bad variable in an image must not make every later update
 * of its claim fail.
 */

/** Splits a variable's name into the label's prefix and its name. */
const DOMAIN = "KUBEVIRT_IO_";

/** Of a label's name and of its value, in characters. */
const MAX_PART_LENGTH = 63;

/** Of a label's prefix, in characters. */
const MAX_PREFIX_LENGTH = 253;

export interface ImageLabels {
  /** Sorted by key. */
  readonly labels: Readonly<Record<string, string>>;
  /** Keys of those that are no valid labels, for the log. */
  readonly refused: readonly string[];
}

/** @param environment `NAME=value` lines of the image's configuration; of equal names the last one counts */
export function labelsFromEnvironment(environment: readonly string[]): ImageLabels {
  const labels = new Map<string, string>();
  const refused = new Set<string>();
  for (const line of environment) {
    const equals = line.indexOf("=");
    const name = line.slice(0, Math.max(0, equals));
    const domain = name.indexOf(DOMAIN);
    if (domain === -1) continue;
    const key = labelKey(name.slice(0, domain), name.slice(domain + DOMAIN.length));
    const value = line.slice(equals + 1);
    if (isLabel(key, value)) labels.set(key, value);
    else refused.add(key);
  }
  const sorted = [...labels].sort(([one], [other]) => (one < other ? -1 : 1));
  return { labels: Object.fromEntries(sorted), refused: [...refused] };
}

/** @param before ends with an underscore, or is empty */
function labelKey(before: string, after: string): string {
  return `${before.replaceAll("_", ".")}kubevirt.io/${after.replaceAll("_", "-")}`.toLowerCase();
}

function isLabel(key: string, value: string): boolean {
  const slash = key.indexOf("/");
  const prefix = key.slice(0, slash);
  const name = key.slice(slash + 1);
  if (prefix.length > MAX_PREFIX_LENGTH || name.length > MAX_PART_LENGTH || value.length > MAX_PART_LENGTH)
    return false;
  const isDomain = prefix.split(".").every((part) => /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?$/.test(part));
  return isDomain && isPart(name) && (value === "" || isPart(value));
}

function isPart(text: string): boolean {
  return /^[A-Za-z0-9](?:[-._A-Za-z0-9]*[A-Za-z0-9])?$/.test(text);
}
