/**
 * What a server says in WWW-Authenticate: which ways to say who asks it would take. A stranger's text.
 * @see RFC 9110, 11.6.1; several headers come joined with commas
 */

export interface Challenge {
  /** Lower case. */
  readonly scheme: string;
  /** Names in lower case. */
  readonly parameters: Readonly<Record<string, string>>;
}

/** Characters that are looked at. */
const MAX_LENGTH = 8 * 1024;

/** A scheme before its first parameter or a comma; or a parameter. */
const PIECE = /\s*,?\s*(?:([A-Za-z0-9_-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))|([A-Za-z0-9_-]+)(?=[\s,]|$))/y;

/** Stops at what cannot be read. */
export function parseChallenges(header: string): Challenge[] {
  const text = header.slice(0, MAX_LENGTH);
  const challenges: { scheme: string; parameters: Record<string, string> }[] = [];
  PIECE.lastIndex = 0;
  for (let piece = PIECE.exec(text); piece !== null; piece = PIECE.exec(text)) {
    const [, name, quoted, plain, scheme] = piece;
    if (scheme !== undefined) challenges.push({ scheme: scheme.toLowerCase(), parameters: {} });
    const last = challenges.at(-1);
    if (name === undefined || last === undefined) continue;
    last.parameters[name.toLowerCase()] = quoted?.replaceAll(/\\(.)/g, "$1") ?? plain ?? "";
  }
  return challenges;
}
