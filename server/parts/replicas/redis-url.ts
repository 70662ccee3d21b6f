import { DataError, shown } from "../../../engine/query.ts";

/** Parses `REDIS_URL`. */

const ports = { single: 6379, sentinel: 26379, cluster: 6379 };

export interface RedisAddress {
  kind: keyof typeof ports;
  isTls: boolean;
  /** The only Redis, or the Sentinels or Cluster nodes to try first. */
  hosts: { host: string; port: number }[];
  username: string | undefined;
  password: string | undefined;
  db: number;
  /** The primary's name, if there are Sentinels; otherwise undefined. */
  primary: string | undefined;
}

const form =
  "redis://[[USER]:PASSWORD@]HOST[:PORT][/DB], redis+sentinel://…HOST[:PORT],…/NAME[/DB] or redis+cluster://…HOST[:PORT],…; with rediss for TLS";

/** Parses a URL of Redis. @throws DataError that names the wrong part, without showing a possible password */
export function redisAddress(text: string): RedisAddress {
  const [, protocol, several, rest] = /^(rediss?)(?:\+(sentinel|cluster))?:\/\/(.*)$/s.exec(text) ?? [];
  if (rest === undefined) {
    const [, scheme] = /^([a-z][a-z0-9+.-]*):\/\//i.exec(text) ?? [];
    throw fault(scheme === undefined ? "no scheme" : `the scheme ${shown(scheme)}`, form);
  }
  const kind = (several ?? "single") as RedisAddress["kind"];
  const end = rest.lastIndexOf("@");
  const place = rest.slice(end + 1);
  if (/[?#]/.test(place)) throw fault("a ? or # behind the host", "none; the database is a path, such as /1");
  const [list, ...path] = place.replace(/\/$/, "").split("/");
  const hosts = list.split(",").map((host) => hostOf(host, ports[kind], end >= 0));
  if (kind === "single" && hosts.length > 1)
    throw fault(`${hosts.length} hosts`, "one, or the scheme redis+sentinel or redis+cluster");
  const primary = kind === "sentinel" ? path.shift() : undefined;
  if (kind === "sentinel" && !primary)
    throw fault("no name of the primary", "redis+sentinel://…HOST[:PORT],…/NAME[/DB]");
  const db = (kind === "cluster" ? undefined : path.shift()) ?? "0";
  if (!/^\d{1,4}$/.test(db)) throw fault(`the database ${shown(db)}`, "a number such as 0");
  if (path.length > 0) {
    const expected =
      kind === "cluster" ? "none, as a Cluster has database 0 alone" : "none behind the database";
    throw fault(`the path ${shown(`/${path.join("/")}`)} at its end`, expected);
  }
  const credentials = credentialsOf(rest.slice(0, Math.max(0, end)));
  return { kind, isTls: protocol === "rediss", hosts, ...credentials, db: Number(db), primary };
}

const fault = (found: string, expected: string) => new DataError("REDIS_URL", found, expected);

function credentialsOf(text: string): Pick<RedisAddress, "username" | "password"> {
  const encoded = "them percent-encoded, such as %40 for @, %2F for / and %25 for %";
  if (/[@/]/.test(text)) throw fault("@ or / in the user or password", encoded);
  const [, user, secret = ""] = /^([^:]*):?(.*)$/s.exec(text) ?? [];
  let username: string | undefined;
  let password: string | undefined;
  try {
    [username, password] = [user, secret].map((part) => decodeURIComponent(part) || undefined);
  } catch {
    throw fault("% without two hexadecimal digits in the user or password", encoded);
  }
  if (username !== undefined && password === undefined)
    throw fault("a user without a password", "USER:PASSWORD@ or :PASSWORD@ before the host");
  return { username, password };
}

/** @param isAlone whether user and password are cut off; otherwise the text after a colon may be a password */
function hostOf(text: string, defaultPort: number, isAlone: boolean): RedisAddress["hosts"][number] {
  const inWords = (part: string) =>
    isAlone || !text.includes(":") ? shown(part) : "(not shown: it may be a password without @HOST)";
  if (/^(:|$)/.test(text)) throw fault("no host", form);
  const [, v6, name, port = defaultPort] =
    /^(?:\[([0-9A-Fa-f:.]+)\]|([0-9A-Za-z._-]+))(?::(.*))?$/s.exec(text) ?? [];
  const host = v6 ?? name;
  if (host === undefined)
    throw fault(`the host ${inWords(text)}`, "a name or an IP address, of version 6 in brackets");
  if (!/^\d{1,5}$/.test(`${port}`) || Number(port) < 1 || Number(port) > 65_535)
    throw fault(`the port ${inWords(`${port}`)}`, "a number from 1 to 65535");
  return { host, port: Number(port) };
}
