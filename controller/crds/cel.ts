/**
 * Phrases of CEL. The optional syntax (`self.?a.orValue('')`) would be shorter, but with it the API server no longer knows how
 * long a value can be, takes the worst and refuses the rule for its cost.
 */

/**
 * CEL: the field is there, and so is all that it is in.
 * @param path as in `self.source.vddk`; its first word is there
 */
export function present(path: string): string {
  const names = path.split(".");
  return names
    .slice(1)
    .map((_, index) => `has(${names.slice(0, index + 2).join(".")})`)
    .join(" && ");
}

/** CEL: the text is there, and not empty. */
export function filled(path: string): string {
  return `${present(path)} && ${path} != ''`;
}

/** CEL: the list is there, and not empty. */
export function listed(path: string): string {
  return `${present(path)} && size(${path}) > 0`;
}

/** CEL: the flag is set. */
export function set(path: string): string {
  return `${present(path)} && ${path}`;
}

/** CEL: how many of these fields the object has. */
export function countOf(names: readonly string[]): string {
  return `[${names.map((name) => `has(self.${name})`).join(", ")}].filter(given, given).size()`;
}
