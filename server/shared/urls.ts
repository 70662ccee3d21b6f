/** Reads URLs as they are written. A URL parser would take a raw `#` in a password for the start of the fragment. */

export interface WrittenUrl {
  /** What stands before the hosts, still escaped: user and password with the `@`. Empty if there is no `@`. */
  login: string;
  /** The hosts, each with its port if it has one. */
  hosts: string[];
  /** What follows the hosts: a path, perhaps with a query, or nothing. */
  rest: string;
}

/** How to write characters of a password that a parser may misread. */
export const escapes = "in a password %23 for #, %3F for ?, %25 for %, %2F for /, %3A for :, %40 for @";

const form = /^[a-z]+:\/\/([^@/?#\\\s\p{Cc}]*@)?([^@/?#\\\s\p{Cc}]+)(\/[^#\\\s\p{Cc}]*)?$/u;
/** A name, an IPv4 address, an IPv6 address or an escaped path, perhaps with a port from 1 to 65535. */
const hostForm =
  /^(?:[\w.%-]+|\[[\da-f:.]+\])(?::(?:[1-9]\d{0,3}|[1-5]\d{4}|6[0-4]\d{3}|65[0-4]\d{2}|655[0-2]\d|6553[0-5]))?$/i;

/** Splits a URL. Returns undefined for a text of another form. */
export function writtenUrl(text: string): WrittenUrl | undefined {
  const [, login = "", hosts = "", rest = ""] = form.exec(text) ?? [];
  const all = hosts.split(",");
  return all.every((host) => hostForm.test(host)) && isUnescapable(text)
    ? { login, hosts: all, rest }
    : undefined;
}

/** Whether each percent sign begins an escape, and the escapes are UTF-8. */
function isUnescapable(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}
