import { isIP } from "node:net";
import { reachOf } from "../shared/special-addresses.ts";

const maxUrlCharacters = 2000;

/**
 * Domains that public DNS doesn't resolve: RFC 6761, RFC 6762 (with its appendix G), RFC 7686, RFC 8375, RFC 9476, ICANN
 * for `internal`, and names that systems give themselves. `example` is left out, because documents use it.
 */
const privateDomains =
  "localhost localdomain local internal intranet private corp home lan home.arpa invalid test onion alt".split(
    " ",
  );
/** Two labels or more, within the lengths that DNS allows. */
const dottedName = /^(?!.{254})(?:[^.]{1,63}\.)+[^.]{1,63}$/;

/** Checks a webhook's URL when it is set. Returns the requirement that the URL breaks; undefined if it breaks none. */
export function webhookFault(url: string, allowLoopback: boolean): string | undefined {
  const fault = storedWebhookFault(url, allowLoopback);
  if (fault !== undefined) return fault;
  // What follows a raw # isn't sent. This is checked only here, so that such a URL from an earlier release still works.
  if (url.includes("#")) return "a URL without #: write %23";
  const { hostname, port } = new URL(url);
  // Nothing listens on port 0.
  if (port === "0") return "a public address";
  const name = hostname.replace(/\.$/, "");
  if (isIP(hostOf(hostname)) !== 0 || (allowLoopback && /(^|\.)localhost$/.test(name))) return undefined;
  const isPrivate =
    !dottedName.test(name) || privateDomains.some((domain) => `.${name}`.endsWith(`.${domain}`));
  return isPrivate ? "a public address" : undefined;
}

/**
 * Checks a stored webhook's URL before each delivery. Returns the requirement that the URL breaks; undefined if it breaks
 * none. Host names aren't checked: an earlier release may have stored any name, and each delivery checks the name's
 * addresses.
 */
export function storedWebhookFault(url: string, allowLoopback: boolean): string | undefined {
  if (!URL.canParse(url) || url.length > maxUrlCharacters) return "a URL";
  // The URL class drops tabs and line breaks silently.
  if (/[\s\p{Cc}]/u.test(url)) return "a URL without spaces and control characters";
  const { protocol, hostname, username, password } = new URL(url);
  if (username !== "" || password !== "") return "a URL without a user name or password";
  const host = hostOf(hostname);
  const reach = isIP(host) === 0 ? "public" : reachOf(host);
  const isLoopback = host === "localhost" || reach === "loopback";
  if (allowLoopback && isLoopback && (protocol === "http:" || protocol === "https:")) return undefined;
  if (protocol !== "https:") return "an https URL";
  return reach === "public" ? undefined : "a public address";
}

function hostOf(hostname: string): string {
  return hostname.replace(/^\[|\]$/g, "");
}
