/**
 * Names of what is made for a claim (contract 5.3). They are fixed, so that two controllers, or one that was killed, collide
 * instead of making two; and they are CDI's, so that people and tools find what they look for.
 */

/** Of an object, in characters: the API's limit. */
const MAX_NAME_LENGTH = 253;

/** `-`, eight digits and `-`. */
const HASH_LENGTH = 10;

/** The pod that fills this claim. */
export function workerName(claimName: string): string {
  return joinName("importer", claimName);
}

export function scratchName(claimName: string): string {
  return joinName(claimName, "scratch");
}

/** `base-suffix`; where that is too long the base is cut and a hash takes the place of what is lost. */
export function joinName(base: string, suffix: string): string {
  const name = `${base}-${suffix}`;
  if (name.length <= MAX_NAME_LENGTH) return name;
  const room = MAX_NAME_LENGTH - HASH_LENGTH - suffix.length;
  if (room >= 0) return `${base.slice(0, room)}-${fnv1a(base)}-${suffix}`;
  return `${base.slice(0, MAX_NAME_LENGTH - HASH_LENGTH + 1)}-${fnv1a(name)}`;
}

/** FNV-1a of 32 bits, as eight hexadecimal digits. */
function fnv1a(text: string): string {
  let hash = 0x811c9dc5;
  for (const byte of Buffer.from(text)) hash = Math.imul(hash ^ byte, 0x01000193);
  return (hash >>> 0).toString(16).padStart(8, "0");
}
