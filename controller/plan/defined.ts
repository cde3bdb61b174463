/**
 * Objects without holes: a field that is undefined is not there in what is sent to the API server.
 */

/** Fields that are there in any case are added beside these. */
export function defined<T extends object>(fields: T): { readonly [Key in keyof T]?: Exclude<T[Key], undefined> } {
  const entries = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as { readonly [Key in keyof T]?: Exclude<T[Key], undefined> };
}
