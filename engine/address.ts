import { shown } from "./errors.ts";

/** Addresses on the web, as they come from settings, options, catalogues and snapshots. */

/** Whether a text is the address of something on the web, without a password, which would be told wherever the address is. */
export function isWebAddress(text: string): boolean {
  // A URL of the web is taken with one slash, three or none, too.
  const url = /^https?:\/\/[^/\\]/i.test(text) ? URL.parse(text) : null;
  return url !== null && url.username === "" && url.password === "";
}

const maxSourceUrlCharacters = 2000;
/** What `isSourceUrl` takes, for errors. */
export const sourceUrlExpected = "an http or https URL, without a password";

/** Whether a text may be the source of a snapshot: everybody is shown it, as a link. */
export function isSourceUrl(text: string): boolean {
  return text.length <= maxSourceUrlCharacters && /^https?:\/\/[!-~]+$/i.test(text) && isWebAddress(text);
}

/** An address as input is shown in a message, without its name and password. */
export function shownAddress(text: string): string {
  return shown(text.replace(/^([a-z][a-z0-9+.-]*:[/\\]+)?.*@/is, "$1…@"));
}
