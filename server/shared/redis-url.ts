/** Where Redis is, as `REDIS_URL` says. */

const ports = { single: 6379, sentinel: 26379, cluster: 6379 };

export interface RedisAddress {
  kind: keyof typeof ports;
  isTls: boolean;
  /** One Redis, or the Sentinels or nodes to begin with. */
  hosts: { host: string; port: number }[];
  username: string | undefined;
  password: string | undefined;
  db: number;
  /** What the Sentinels call the primary. */
  primary: string | undefined;
}

/** What `redisAddress` reads. */
export const redisUrlExpected =
  "redis://[[USER]:PASSWORD@]HOST[:PORT][/DB], redis+sentinel://…HOST[:PORT],…/NAME[/DB] or redis+cluster://…HOST[:PORT],…; with rediss for TLS";

const form =
  /^(rediss?)(?:\+(sentinel|cluster))?:\/\/(?:([^@/]*)@)?([^@/?#]+)(?:\/([^/?#]+))?(?:\/(\d+))?\/?$/;

/** Undefined when it isn't one. */
export function redisAddress(text: string): RedisAddress | undefined {
  const [, protocol, several, user, list, first, second] = form.exec(text) ?? [];
  if (list === undefined) return undefined;
  const kind = (several ?? "single") as RedisAddress["kind"];
  const hosts = list.split(",").map((host) => hostOf(host, ports[kind]));
  const db = kind === "sentinel" ? second : first;
  const primary = kind === "sentinel" ? first : undefined;
  const isRight =
    (kind === "single" ? hosts.length === 1 && second === undefined : true) &&
    (kind === "sentinel") === (primary !== undefined) &&
    (kind === "cluster" ? first === undefined && second === undefined : /^\d{0,4}$/.test(db ?? ""));
  if (!isRight) return undefined;
  try {
    const [username, password] = splitOnce(user ?? "", ":").map(
      (part) => decodeURIComponent(part) || undefined,
    );
    if (username !== undefined && password === undefined) return undefined;
    const found = hosts.filter((host) => host !== undefined);
    if (found.length < hosts.length) return undefined;
    return {
      kind,
      isTls: protocol === "rediss",
      hosts: found,
      username,
      password,
      db: Number(db ?? 0),
      primary,
    };
  } catch {
    return undefined;
  }
}

function splitOnce(text: string, separator: string): [string, string] {
  const at = text.indexOf(separator);
  return at < 0 ? [text, ""] : [text.slice(0, at), text.slice(at + 1)];
}

function hostOf(text: string, defaultPort: number): RedisAddress["hosts"][number] | undefined {
  const [, v6, name, port] = /^(?:\[([0-9A-Fa-f:.]+)\]|([0-9A-Za-z._-]+))(?::(\d{1,5}))?$/.exec(text) ?? [];
  const host = v6 ?? name;
  const number = Number(port ?? defaultPort);
  return host === undefined || number < 1 || number > 65_535 ? undefined : { host, port: number };
}
