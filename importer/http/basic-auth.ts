/**
 * User and password: in the user info of a URL, and as the value of an Authorization header. RFC 7617, in UTF-8.
 */

/** Plain data. */
export interface BasicAuth {
  readonly user: string;
  readonly password: string;
}

/** What the URL's user info says; undefined: it has none. */
export function authOf(url: URL): BasicAuth | undefined {
  if (url.username === "" && url.password === "") return undefined;
  return { user: decoded(url.username), password: decoded(url.password) };
}

/** A copy without user info and fragment: what may be asked for, and what other packages may hold. */
export function withoutAuth(url: URL): URL {
  const bare = new URL(url);
  bare.username = "";
  bare.password = "";
  bare.hash = "";
  return bare;
}

export function basicHeader(auth: BasicAuth): string {
  return `Basic ${Buffer.from(`${auth.user}:${auth.password}`).toString("base64")}`;
}

/** A percent sign that belongs to no escape stands for itself. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
