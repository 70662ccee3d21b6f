import { shown } from "./errors.ts";

/** Whether messages and pages may show a URL in full: it is http or https, and has no credentials. */
export function isWebAddress(text: string): boolean {
  // `URL.parse` accepts any number of slashes after the colon.
  const url = /^https?:\/\/[^/\\]/i.test(text) ? URL.parse(text) : null;
  return url !== null && url.username === "" && url.password === "";
}

const maxSourceUrlCharacters = 2000;
export const sourceUrlExpected = "an http or https URL, without a password";

export function isSourceUrl(text: string): boolean {
  return text.length <= maxSourceUrlCharacters && /^https?:\/\/[!-~]+$/i.test(text) && isWebAddress(text);
}

/** Leaves out the URL's credentials. */
export function shownAddress(text: string): string {
  return shown(text.replace(/^([a-z][a-z0-9+.-]*:[/\\]+)?.*@/is, "$1…@"));
}
