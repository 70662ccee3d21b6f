import { isIP } from "node:net";
import { reachOf } from "../shared/special-addresses.ts";

/** Checks the URL of a webhook. */

const maxUrlCharacters = 2000;

/**
 * Checks a webhook's URL when it is set or imported, and before each delivery. Returns the requirement that the URL
 * breaks; undefined if the URL is allowed.
 */
export function webhookFault(url: string, allowLoopback: boolean): string | undefined {
  if (!URL.canParse(url) || url.length > maxUrlCharacters) return "a URL";
  // The URL class drops tabs and line breaks silently.
  if (/[\s\p{Cc}]/u.test(url)) return "a URL without spaces and control characters";
  const { protocol, hostname, username, password } = new URL(url);
  if (username !== "" || password !== "") return "a URL without a user name or password";
  const host = hostname.replace(/^\[|\]$/g, "");
  const reach = isIP(host) === 0 ? "public" : reachOf(host);
  const isLoopback = host === "localhost" || reach === "loopback";
  if (allowLoopback && isLoopback && (protocol === "http:" || protocol === "https:")) return undefined;
  if (protocol !== "https:") return "an https URL";
  return reach === "public" ? undefined : "a public address";
}
