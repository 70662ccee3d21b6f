import { BlockList, isIP } from "node:net";
import { DataError, shown } from "../engine/query.ts";

/** Reads proxies from environment variables, much as curl does. datasets/README.md lists the differences. */

export interface HttpProxy {
  /** The proxy's URL, with the user and password if they are given. */
  url: string;
  /** The proxy's URL without user and password, for messages. */
  shown: string;
  variable: string;
  hasPassword: boolean;
}

/** Returns the proxy for an http or https address, or undefined for a direct connection. */
export type ProxyFor = (address: string) => HttpProxy | undefined;

const expected =
  "[http://][USER:PASSWORD@]HOST[:PORT], or https://… (in user and password, %40 stands for @, %3A for : and %2F for /)";

/**
 * Reads HTTPS_PROXY for https addresses, HTTP_PROXY for http addresses, and NO_PROXY. ALL_PROXY replaces HTTPS_PROXY or
 * HTTP_PROXY if that is unset. Lower-case names take precedence, and empty values count as unset. A proxy without a
 * scheme is an http proxy.
 *
 * @throws DataError if a proxy's address is invalid; the error doesn't show the address, which may have a password
 */
export function proxiesIn(environment: NodeJS.ProcessEnv): ProxyFor {
  const named = (name: string) =>
    [name.toLowerCase(), name]
      .map((variable) => ({ variable, text: (environment[variable] ?? "").trim() }))
      .find(({ text }) => text !== "");
  const proxyNamed = (name: string) => {
    const given = named(name) ?? named("ALL_PROXY");
    return given && proxyAt(given.text, given.variable);
  };
  const [secure, plain] = [proxyNamed("HTTPS_PROXY"), proxyNamed("HTTP_PROXY")];
  const exempt = named("NO_PROXY")?.text.split(/[\s,]+/) ?? [];
  return (address) => {
    const url = new URL(address);
    if (exempt.some((entry) => covers(entry, url))) return undefined;
    return url.protocol === "https:" ? secure : plain;
  };
}

function proxyAt(text: string, variable: string): HttpProxy {
  const [, scheme] = /^([a-z][a-z0-9+.-]*):\/\//i.exec(text) ?? [];
  if (scheme !== undefined && !/^https?$/i.test(scheme))
    throw new DataError(variable, `a proxy of the kind ${shown(scheme)}`, expected);
  const url = URL.parse(scheme === undefined ? `http://${text}` : text);
  if (url === null || url.port === "0" || !isDecodable(url.username) || !isDecodable(url.password))
    throw new DataError(variable, "another form", expected);
  return {
    url: url.href,
    shown: url.origin,
    variable,
    hasPassword: url.username !== "" || url.password !== "",
  };
}

function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}

/**
 * Tells whether an entry of NO_PROXY covers a URL's host. An entry is `*`, a domain (which covers its subdomains), an
 * IP address, or a network such as 10.0.0.0/8. A domain, an IPv4 address, or an IPv6 address in brackets may have a
 * port.
 */
function covers(entry: string, { hostname, port, protocol }: URL): boolean {
  if (entry === "*") return true;
  const host = hostname.replace(/^\[|\]$|\.$/g, "");
  const [, name, wantedPort] = /^([^:]+|\[.*\]):([0-9]+)$/.exec(entry) ?? ["", entry, undefined];
  if (wantedPort !== undefined && wantedPort !== (port || (protocol === "https:" ? "443" : "80")))
    return false;
  if (isIP(host) !== 0) return coversAddress(name.replace(/[[\]]/g, ""), host);
  const domain = name
    .toLowerCase()
    .replace(/^\*?\./, "")
    .replace(/\.$/, "");
  return domain !== "" && (host === domain || host.endsWith(`.${domain}`));
}

function coversAddress(network: string, host: string): boolean {
  const family = (address: string) => (isIP(address) === 6 ? "ipv6" : "ipv4");
  const [address, given] = network.split("/");
  const maxBits = family(address) === "ipv6" ? 128 : 32;
  const bits = given ?? String(maxBits);
  if (isIP(address) === 0 || !/^[0-9]{1,3}$/.test(bits) || Number(bits) > maxBits) return false;
  const list = new BlockList();
  list.addSubnet(address, Number(bits), family(address));
  return list.check(host, family(host));
}
