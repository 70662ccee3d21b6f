import { shown } from "./errors.ts";

/** Tells whether a text is an http or https URL without credentials. Messages and pages may show such a URL in full. */
export function isWebAddress(text: string): boolean {
  // `URL.parse` accepts any number of slashes after the colon.
  const url = /^https?:\/\/[^/\\]/i.test(text) ? URL.parse(text) : null;
  return url !== null && url.username === "" && url.password === "";
}

const maxSourceUrlCharacters = 2000;
export const sourceUrlExpected = "an http or https URL, without a password";

/**
 * Tells whether a text can be a snapshot's source: a web address of at most 2,000 printable ASCII characters without
 * spaces.
 */
export function isSourceUrl(text: string): boolean {
  return text.length <= maxSourceUrlCharacters && /^https?:\/\/[!-~]+$/i.test(text) && isWebAddress(text);
}

/** Replaces everything between the scheme of a URL and its last @ by `…`. The URL may be malformed, or lack the scheme. */
export function withoutCredentials(text: string): string {
  return text.replace(/^([a-z][a-z0-9+.-]*:[/\\]+)?.*@/is, "$1…@");
}

/** Like `shown`, but also leaves out credentials if the URL is malformed. */
export function shownAddress(text: string): string {
  return shown(withoutCredentials(text));
}
