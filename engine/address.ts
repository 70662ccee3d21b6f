import { shown } from "./errors.ts";

/** Whether a text is an http or https URL without a name and password, which would be shown with the URL. */
export function isWebAddress(text: string): boolean {
  // `URL.parse` also accepts one slash, three or none.
  const url = /^https?:\/\/[^/\\]/i.test(text) ? URL.parse(text) : null;
  return url !== null && url.username === "" && url.password === "";
}

const maxSourceUrlCharacters = 2000;
/** What `isSourceUrl` expects, for errors. */
export const sourceUrlExpected = "an http or https URL, without a password";

/** Whether a text may be the source URL of a snapshot, which pages show as a link. */
export function isSourceUrl(text: string): boolean {
  return text.length <= maxSourceUrlCharacters && /^https?:\/\/[!-~]+$/i.test(text) && isWebAddress(text);
}

/** A URL as it is shown in messages, without its name and password. */
export function shownAddress(text: string): string {
  return shown(text.replace(/^([a-z][a-z0-9+.-]*:[/\\]+)?.*@/is, "$1…@"));
}
