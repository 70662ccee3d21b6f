import * as v from "valibot";
import { shown } from "../../engine/query.ts";
import { checkToCome, keyLabel, keyState, makeKey, rotateKey } from "../accounts/changes.ts";
import type { CommandOutput } from "../part.ts";
import { parts } from "../parts.ts";
import { checkedOption, optionsNamed, readOptions } from "../shared/arguments.ts";
import { time } from "../shared/schemas.ts";
import { isoTime, isoTimeOrNull } from "../shared/time.ts";
import type { Account, Store, StoredKey } from "../store/store.ts";
import {
  type AccountOptions,
  accountAsked,
  accountOptions,
  accountUsage,
  differences,
  secretShown,
} from "./account-options.ts";
import { type Context, checkEnd, listed, overlapOptions, runCommand } from "./command.ts";

/** The `keys` command: manages keys, and creates and changes their accounts. */

const keyOptions = v.object({
  ...accountOptions.entries,
  expires: v.optional(time()),
  label: v.optional(keyLabel),
});
const expiryOptions = v.object({
  at: v.union(
    [
      v.pipe(
        v.literal("never"),
        v.transform(() => null),
      ),
      v.literal("now"),
      time(),
    ],
    "a time such as 2027-01-31T00:00:00Z, up to 9999-12-31 in UTC, now or never",
  ),
});

/**
 * Returns the account that the options name, or makes it if there is none.
 * @throws Error when the options are wrong, or differ from an existing account
 */
function accountFor(options: AccountOptions, { store, settings, now }: Context) {
  const known = store.accounts.byName(options.account);
  const wanted = accountAsked(options, known, settings.WEBHOOK_ALLOW_LOOPBACK);
  if (known === undefined) return { isNew: true, account: store.accounts.create(wanted, now) };
  const changes = differences(known, wanted);
  if (changes.length > 0)
    throw new Error(
      `account ${known.name} exists with ${changes.map(({ what, before }) => `${what} ${before}`).join(", ")}: keys create doesn't change it, keys update does`,
    );
  return { isNew: false, account: known };
}

const ceilingsOf = ({ plan, burst, quota }: Account) =>
  `plan ${plan}, ${burst} requests per second, ${quota} per month`;
const ending = (expires: number | null) => (expires === null ? "" : `, which expires at ${isoTime(expires)}`);

const suspension = ({ name, suspended_at }: Account) =>
  suspended_at === null
    ? ""
    : `account ${name} is suspended: its keys don't work until accounts resume ${name}\n`;

function create(args: string[], context: Context): CommandOutput {
  const { store, now } = context;
  const { expires = null, label = null, ...options } = readOptions("keys create", keyOptions, args);
  if (expires !== null) checkedOption("--expires", () => checkToCome("--expires", expires, now));
  const { isNew, account } = accountFor(options, context);
  const { key, id } = makeKey(store, account.id, expires, now, label);
  const made = `key ${id}${ending(expires)}`;
  const note = isNew
    ? `made account ${account.name} (${ceilingsOf(account)}) and ${made}\n`
    : `made ${made}, for account ${account.name} (${ceilingsOf(account)})\n`;
  const secret = isNew && account.webhook_secret !== null ? secretShown(account.webhook_secret) : "";
  return { result: `${key}\n`, note: note + secret + suspension(account) };
}

function update(args: string[], { store, settings }: Context): CommandOutput {
  const options = readOptions("keys update", accountOptions, args);
  const { account: _, ...changeable } = accountOptions.entries;
  if (Object.keys(options).length === 1)
    throw new Error(`keys update needs something to change: ${optionsNamed(Object.keys(changeable))}`);
  const known = store.accounts.byName(options.account);
  if (known === undefined)
    throw new Error(`there is no account ${options.account}: accounts list has all names`);
  const wanted = accountAsked(options, known, settings.WEBHOOK_ALLOW_LOOPBACK);
  const changes = differences(known, wanted).map(
    ({ what, before, after }) => `${what} from ${before} to ${after}`,
  );
  if (changes.length === 0) return { result: `account ${known.name} is like that already\n` };
  store.accounts.update({ id: known.id, ...wanted });
  const secret = wanted.webhook_secret === known.webhook_secret ? null : wanted.webhook_secret;
  return {
    result: `changed account ${known.name}: ${changes.join(", ")}\n`,
    note: secret === null ? "" : secretShown(secret),
  };
}

const shownState = (key: StoredKey, suspendedAt: number | null, now: Date) => {
  const state = keyState(key, now);
  return state === "active" && suspendedAt !== null ? "suspended" : state;
};

function list(args: string[], { store, now }: Context): CommandOutput {
  const inWords = (cell: string | number | null, column: string) =>
    column === "expires" ? (cell ?? "never") : cell;
  const result = listed(
    "keys list",
    args,
    store.keys.list(),
    {
      id: ({ id }) => id,
      account: ({ name }) => name,
      plan: ({ plan }) => plan,
      key: ({ last4 }) => `…${last4}`,
      state: (key) => shownState(key, key.suspended_at, now),
      created: ({ created_at }) => isoTime(created_at),
      expires: ({ expires_at }) => isoTimeOrNull(expires_at),
      revoked: ({ revoked_at }) => isoTimeOrNull(revoked_at),
      label: ({ label }) => label,
      last_used: ({ last_used }) => last_used,
    },
    inWords,
  );
  return { result };
}

function findKey(store: Store, command: string, [id, ...more]: string[]): StoredKey & { name: string } {
  if (id === undefined || !/^[1-9]\d{0,14}$/.test(id))
    throw new Error(
      `keys ${command} needs a key's id, as keys list shows it${id === undefined ? "" : `, not ${shown(id)}`}`,
    );
  checkEnd(`keys ${command}`, more);
  const key = store.keys.byId(Number(id));
  const name = key === undefined ? undefined : store.accounts.byId(key.account)?.name;
  if (key === undefined || name === undefined)
    throw new Error(`there is no key ${id}: keys list has all ids`);
  return { ...key, name };
}

function revoke(args: string[], { store, now }: Context): CommandOutput {
  const key = findKey(store, "revoke", args);
  if (key.revoked_at !== null)
    return {
      result: `key ${key.id} of account ${key.name} was revoked at ${isoTime(key.revoked_at)} already\n`,
    };
  store.keys.revoke(key.id, now);
  return { result: `revoked key ${key.id} of account ${key.name}\n` };
}

/**
 * Changes a key's expiry, which may make an expired key work again.
 * @throws Error when the key is unknown or revoked, or the time is past
 */
function expire([id, ...args]: string[], { store, now }: Context): CommandOutput {
  const key = findKey(store, "expire", id === undefined ? [] : [id]);
  const { at: asked } = readOptions("keys expire", expiryOptions, args);
  const at = asked === "now" ? now.getTime() : asked;
  if (at !== null && asked !== "now") checkedOption("--at", () => checkToCome("--at", at, now));
  if (key.revoked_at !== null)
    throw new Error(`key ${key.id} is revoked, and an expiry doesn't make it work again`);
  store.keys.expire(key.id, at);
  const expires = asked === "now" ? "expired" : "expires";
  const when = at === null ? "never expires" : `${expires} at ${isoTime(at)}`;
  return { result: `key ${key.id} of account ${key.name} ${when}\n` };
}

function rotate([id, ...args]: string[], { store, now }: Context): CommandOutput {
  const old = findKey(store, "rotate", id === undefined ? [] : [id]);
  const { overlap } = readOptions("keys rotate", overlapOptions, args);
  const { key, id: newId, expires, oldEnds } = rotateKey(store, old, overlap, now);
  const ends = overlap === 0 ? "is revoked" : `ends at ${isoTime(oldEnds)}`;
  const account = store.accounts.byId(old.account);
  const made = `made key ${newId}${ending(expires)}, for account ${old.name}; key ${old.id} ${ends}\n`;
  return {
    result: `${key}\n`,
    note: made + (account === undefined ? "" : suspension(account)),
  };
}

await runCommand("keys", parts, {
  create: {
    usage: `--account NAME ${accountUsage} [--expires ISO] [--label TEXT]`,
    about:
      "Makes a key and prints it alone on stdout. A new account needs --plan, and the plan enterprise also --burst and --quota. An existing account isn't changed.",
    makesState: true,
    run: create,
  },
  update: {
    usage: `--account NAME ${accountUsage}`,
    about:
      "Changes an account's plan, burst, quota, webhook or e-mail address. A webhook at a new address gets a new signing secret.",
    run: update,
  },
  list: {
    usage: "[--json]",
    about:
      "Lists the keys of all accounts, each with the UTC day on which the server of this STATE_DIR last admitted it (as last saved). With DATABASE_URL, no day is known.",
    run: list,
  },
  revoke: { usage: "ID", about: "Ends a key at once, for good.", endsAccess: true, run: revoke },
  expire: {
    usage: "ID --at ISO|now|never",
    about:
      "Changes the time at which a key expires. An expired key works again if the new time is in the future.",
    run: expire,
  },
  rotate: {
    usage: "ID --overlap HOURS",
    about:
      "Makes a new key with the old key's expiry, and ends the old key when the hours are over. A key can be rotated only once.",
    run: rotate,
  },
});
