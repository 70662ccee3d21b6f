import { shown } from "../engine/query.ts";

/** Addresses on the web, as they come from settings, options and catalogues. */

/** Whether a text is the address of something on the web, without a password, which would be told wherever the address is. */
export function isWebAddress(text: string): boolean {
  // A URL of the web is taken with one slash, three or none, too.
  const url = /^https?:\/\/[^/\\]/i.test(text) ? URL.parse(text) : null;
  return url !== null && url.username === "" && url.password === "";
}

/** An address as input is shown in a message, without its name and password. */
export function shownAddress(text: string): string {
  return shown(text.replace(/^([a-z][a-z0-9+.-]*:[/\\]+)?.*@/is, "$1…@"));
}
