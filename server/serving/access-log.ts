import type { KeyTable } from "../accounts/key-table.ts";
import { bearerKey, hashKey, isWellFormed } from "../accounts/keys.ts";
import type { AccountNames } from "../accounts/names.ts";
import { withoutKeys } from "../api/errors.ts";
import { parametersAt } from "../api/routes.ts";
import type { Access } from "../shared/messages.ts";
import { PerSecond } from "../shared/per-second.ts";
import { addressPartsOf, clientAddress } from "./client-address.ts";
import type { HttpRequest, HttpResponse } from "./listener.ts";

/** Chooses the requests for the access log, and describes the requests without secrets. */

const maxUserAgentLength = 200;
const maxAddressLength = 64;
const maxMethodLength = 16;
const maxTargetLength = 2000;
const masked = "…";

/** The sender and the time of a request. They are read before the answer, because the request can't be read later. */
export type Caller = Partial<Holder> & Pick<Access, "address" | "userAgent"> & { beganMs: number };

type Holder = Required<Pick<Access, "account" | "keyId">>;

interface AccessLogOptions {
  perSecond: number;
  /** Names of the accounts whose requests are logged; undefined for no restriction. */
  accounts: readonly string[] | undefined;
  keys: KeyTable;
  names: AccountNames;
  trustedProxies: number;
  tell: (access: Access) => void;
}

export class AccessLog {
  readonly #options: AccessLogOptions;
  readonly #accounts: ReadonlySet<string> | undefined;
  readonly #lines: PerSecond;

  constructor(options: AccessLogOptions) {
    this.#options = options;
    this.#accounts = options.accounts && new Set(options.accounts);
    this.#lines = new PerSecond(options.perSecond);
  }

  /**
   * Returns undefined for a request that isn't logged.
   * @param isTimed whether the request may be logged without ACCESS_LOG_ACCOUNTS. Not every request may, because reading
   *   the clock costs time
   */
  callerOf(res: HttpResponse, req: HttpRequest, isTimed: boolean): Caller | undefined {
    const holderOf = () => this.#holderOf(req.getHeader("authorization"));
    let holder: Holder | undefined;
    if (this.#accounts !== undefined) {
      holder = holderOf();
      if (holder === undefined || !this.#accounts.has(holder.account)) return undefined;
    } else if (!isTimed) return undefined;
    const beganMs = performance.now();
    if (!this.#lines.pass(beganMs)) return undefined;
    return {
      ...(holder ?? holderOf()),
      address: printable(
        clientAddress(addressPartsOf(res, req), this.#options.trustedProxies),
        maxAddressLength,
      ),
      userAgent: printable(req.getHeader("user-agent"), maxUserAgentLength),
      beganMs,
    };
  }

  /** @param bytes length of the answer's body */
  tell(
    { beganMs, ...caller }: Caller,
    requestId: string,
    request: string,
    status: number,
    bytes: number,
  ): void {
    const ms = Math.round(1000 * (performance.now() - beganMs)) / 1000;
    this.#options.tell({ requestId, ...caller, request, status, bytes, ms });
  }

  /** Finds a key's account and id, even if the key is revoked or expired. */
  #holderOf(authorization: string): Holder | undefined {
    const key = bearerKey(authorization);
    if (key === undefined || !isWellFormed(key)) return undefined;
    const { keys, names } = this.#options;
    const entry = keys.find(hashKey(key));
    if (entry < 0) return undefined;
    const { slot, id } = keys.holderOf(entry);
    return { account: names.get(slot).name, keyId: id };
  }
}

function printable(text: string, maxLength: number): string {
  // Keys are removed before the text is cut, because half a key isn't recognised.
  return cut(withoutKeys(text.replace(/[^ -~]/g, "?")), maxLength);
}

const cut = (text: string, maxLength: number) =>
  text.length > maxLength ? `${text.slice(0, maxLength - 1)}${masked}` : text;

/**
 * Writes a request for the log, without keys, tokens and the values of unknown parameters. Path and query are undecoded.
 * @param query undefined if there is none, or it isn't to be logged
 */
export function requestShown(method: string, path: string, query: string | undefined): string {
  const target = query === undefined ? shownPath(path) : `${shownPath(path)}?${shownQuery(path, query)}`;
  return `${withoutKeys(method).slice(0, maxMethodLength)} ${cut(target, maxTargetLength)}`;
}

/**
 * Matches paths that may hold the token of a link. Of these paths, the log shows only the segments that look like a
 * file's name or a word.
 */
const withTokens = /^(\/(?:portal|signup))((?:\/.*)?)$/s;

function shownPath(path: string): string {
  const [, start, rest] = withTokens.exec(path) ?? ["", "", path];
  if (start === "") return withoutKeys(rest);
  const segments = rest.split("/").map((segment) => (/^[a-z.-]{0,24}$/.test(segment) ? segment : masked));
  return start + segments.join("/");
}

function shownQuery(path: string, query: string): string {
  const known = parametersAt(path);
  return query
    .split("&")
    .map((part) => {
      const equals = part.indexOf("=");
      if (equals < 0) return withoutKeys(part);
      const name = part.slice(0, equals);
      return known.has(name) ? withoutKeys(part) : `${withoutKeys(name)}=${masked}`;
    })
    .join("&");
}
