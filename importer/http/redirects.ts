/**
 * Where a redirect leads, and whether it may. Pure.
 *
 * RFC 9110 15.4: Location may be relative. A hop to another origin loses the trust that the first one had, and no later hop
 * gets it back: who was led through a stranger's server does not know where the password goes.
 */
import { SourceError } from "../errors.ts";
import { withoutAuth } from "./basic-auth.ts";
import { redactUrl } from "./redact.ts";

export interface Hop {
  readonly url: URL;
  /** Whether credentials and extra headers go along. */
  readonly isTrusted: boolean;
}

export interface RedirectRules {
  /** From https to http; for those who check a digest. */
  readonly allowsDowngrade: boolean;
}

const MAX_REDIRECTS = 10;

export function isRedirect(status: number): boolean {
  return status === 301 || status === 302 || status === 303 || status === 307 || status === 308;
}

/**
 * @param hops     from the first URL to the one that answered with the redirect
 * @param location its Location header
 * @throws SourceError SOURCE_UNAVAILABLE for a redirect that leads nowhere, SOURCE_TLS for one that gives up encryption
 */
export function nextHop(hops: readonly Hop[], location: string | null, rules: RedirectRules): Hop {
  const from = hops.at(-1);
  const first = hops[0];
  if (from === undefined || first === undefined) throw new Error("a redirect without a request");
  const name = redactUrl(first.url);
  const named = location === null ? null : URL.parse(location, from.url.href);
  if (named === null || (named.protocol !== "http:" && named.protocol !== "https:")) {
    throw new SourceError("SOURCE_UNAVAILABLE", `${name} redirects to something that is no http or https URL`);
  }
  const url = withoutAuth(named);
  if (hops.some((hop) => hop.url.href === url.href)) {
    throw new SourceError("SOURCE_UNAVAILABLE", `${name} redirects in a circle, by way of ${redactUrl(url)}`);
  }
  if (hops.length > MAX_REDIRECTS) {
    throw new SourceError("SOURCE_UNAVAILABLE", `${name} redirects more than ${MAX_REDIRECTS} times`);
  }
  if (from.url.protocol === "https:" && url.protocol === "http:" && !rules.allowsDowngrade) {
    throw new SourceError("SOURCE_TLS", `${name} redirects from https to ${redactUrl(url)}, which is not encrypted`, {
      remedy: "Give the checksum of the image, which makes that safe, or the URL of an encrypted place.",
    });
  }
  return { url, isTrusted: from.isTrusted && url.origin === from.url.origin };
}
