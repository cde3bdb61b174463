/**
 * Names from an archive as messages show them: without control characters, and not endless.
 */

/** The longest name that a message shows. */
const MAX_SHOWN = 100;

/** In quotes, with control characters escaped. */
export function quoted(name: string): string {
  return JSON.stringify(name.length <= MAX_SHOWN ? name : `${name.slice(0, MAX_SHOWN)}…`);
}

/** The most names that a message lists. */
const MAX_LISTED = 20;

/** `"a.vmdk", "b.vmdk" and 3 more`. */
export function listed(names: readonly string[]): string {
  const shown = names.slice(0, MAX_LISTED).map(quoted).join(", ");
  return names.length <= MAX_LISTED ? shown : `${shown} and ${names.length - MAX_LISTED} more`;
}
