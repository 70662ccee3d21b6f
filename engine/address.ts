import { shown } from "./errors.ts";

/** Tells whether a text is an http or https URL without credentials, which messages and pages may show in full. */
export function isWebAddress(text: string): boolean {
  // `URL.parse` accepts any number of slashes after the colon.
  const url = /^https?:\/\/[^/\\]/i.test(text) ? URL.parse(text) : null;
  return url !== null && url.username === "" && url.password === "";
}

const maxSourceUrlCharacters = 2000;
/** Describes in error messages what `isSourceUrl` accepts. */
export const sourceUrlExpected = "an http or https URL, without a password";

/**
 * Tells whether a text is a web address that can be a snapshot's source: printable ASCII of at most 2,000 characters.
 */
export function isSourceUrl(text: string): boolean {
  return text.length <= maxSourceUrlCharacters && /^https?:\/\/[!-~]+$/i.test(text) && isWebAddress(text);
}

/** Leaves out everything in a URL or a malformed URL that could be its credentials. */
export function withoutCredentials(text: string): string {
  return text.replace(/^([a-z][a-z0-9+.-]*:[/\\]+)?.*@/is, "$1…@");
}

/** Formats a URL for messages like `shown`, without the URL's credentials. */
export function shownAddress(text: string): string {
  return shown(withoutCredentials(text));
}
