import { shown } from "./errors.ts";

/** Whether a text is an http or https URL without credentials. Messages and pages may show such a URL in full. */
export function isWebAddress(text: string): boolean {
  // `URL.parse` accepts any number of slashes after the colon, so the first two are checked here.
  const url = /^https?:\/\/[^/\\]/i.test(text) ? URL.parse(text) : null;
  return url !== null && url.username === "" && url.password === "";
}

const maxSourceUrlCharacters = 2000;
/** Describes in error messages what `isSourceUrl` accepts. */
export const sourceUrlExpected = "an http or https URL, without a password";

/** Whether a text may be a snapshot's source URL, which pages show as a link. */
export function isSourceUrl(text: string): boolean {
  return text.length <= maxSourceUrlCharacters && /^https?:\/\/[!-~]+$/i.test(text) && isWebAddress(text);
}

/** Formats a URL for messages, without its credentials. */
export function shownAddress(text: string): string {
  return shown(text.replace(/^([a-z][a-z0-9+.-]*:[/\\]+)?.*@/is, "$1…@"));
}
