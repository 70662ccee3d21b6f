import * as v from "valibot";
import { shown } from "../../engine/query.ts";
import { newWebhookSecret } from "../accounts/changes.ts";
import { channelsOf } from "../accounts/quota-events.ts";
import {
  addAccounts,
  checkFree,
  type MovedAccount,
  maxAccountsPerChange,
  readAccounts,
} from "../accounts/transfer.ts";
import type { CommandOutput } from "../part.ts";
import { parts } from "../parts.ts";
import { parsedArguments, readFileName, readOptions, wrongOption } from "../shared/arguments.ts";
import { addressNames } from "../shared/channels.ts";
import { monthName, monthOf } from "../shared/months.ts";
import { wholeNumber } from "../shared/schemas.ts";
import { isoTime } from "../shared/time.ts";
import { exportAccounts } from "../store/backup.ts";
import type { Account, Store } from "../store/store.ts";
import { secretShown } from "./account-options.ts";
import { type Context, checkEnd, listed, overlapOptions, runCommand } from "./command.ts";

/** The `accounts` command. The `keys` command creates accounts, and changes their plans and addresses. */

function list(args: string[], { store, now }: Context): CommandOutput {
  const month = monthName(monthOf(now.getTime()));
  const result = listed("accounts list", args, store.accounts.list(month, now), {
    account: ({ name }) => name,
    plan: ({ plan }) => plan,
    burst: ({ burst }) => burst,
    quota: ({ quota }) => quota,
    month: () => month,
    used: ({ used }) => used,
    keys: ({ keys }) => keys,
    webhook: ({ webhook }) => webhook,
    email: ({ email }) => email,
    state: ({ suspended_at }) => (suspended_at === null ? "active" : "suspended"),
  });
  return { result };
}

function findAccount(store: Store, command: string, name: string | undefined): Account {
  if (name === undefined || name.startsWith("-"))
    throw new Error(
      `accounts ${command} needs an account's name${name === undefined ? "" : `, not ${shown(name)}`}`,
    );
  const account = store.accounts.byName(name);
  if (account === undefined)
    throw new Error(`there is no account ${shown(name)}: accounts list has all names`);
  return account;
}

function suspend([name, ...more]: string[], { store, now }: Context): CommandOutput {
  const account = findAccount(store, "suspend", name);
  checkEnd("accounts suspend", more, "the name");
  if (account.suspended_at !== null)
    return { result: `account ${account.name} was suspended at ${isoTime(account.suspended_at)} already\n` };
  store.accounts.suspend(account.id, now.getTime());
  return { result: `suspended account ${account.name}: its keys don't work until accounts resume\n` };
}

function resume([name, ...more]: string[], { store }: Context): CommandOutput {
  const account = findAccount(store, "resume", name);
  checkEnd("accounts resume", more, "the name");
  if (account.suspended_at === null) return { result: `account ${account.name} isn't suspended\n` };
  store.accounts.suspend(account.id, null);
  return { result: `resumed account ${account.name}: its keys work again, as far as they did before\n` };
}

function remove([name, ...more]: string[], { store }: Context): CommandOutput {
  const account = findAccount(store, "delete", name);
  if (more.length > 0 && more[0] !== "--yes")
    throw new Error(`accounts delete takes --yes after the name, not ${shown(more.join(" "))}`);
  checkEnd("accounts delete", more.slice(1), "--yes");
  const count = (table: "keys" | "usage" | "events" | "signups") => store.records.count(table, account.id);
  const all = [
    counted(count("keys"), "key"),
    counted(count("usage"), "month", "of use"),
    counted(count("events"), "event"),
    counted(count("signups"), "signup"),
    ...channelsOf(account).map((channel) => `its ${addressNames[channel]}`),
  ].join(", ");
  if (more.length === 0)
    throw new Error(
      `accounts delete ${account.name} needs --yes. It deletes the account for good: ${all}. To block it for a time, use accounts suspend.`,
    );
  store.accounts.delete(account.id);
  return { result: `deleted account ${account.name}, with ${all}\n` };
}

const counted = (count: number, what: string, of = "") =>
  `${count} ${what}${count === 1 ? "" : "s"}${of && ` ${of}`}`;

function rotateSecret([name, ...args]: string[], { store, now }: Context): CommandOutput {
  const account = findAccount(store, "rotate-secret", name);
  const { overlap } = readOptions("accounts rotate-secret", overlapOptions, args);
  if (account.webhook === null || account.webhook_secret === null)
    throw new Error(`account ${account.name} has no webhook, so no secret to rotate`);
  const secret = newWebhookSecret();
  const until = now.getTime() + overlap * 3_600_000;
  const old =
    overlap === 0
      ? { webhook_old_secret: null, webhook_old_secret_until: null }
      : { webhook_old_secret: account.webhook_secret, webhook_old_secret_until: until };
  store.accounts.update({ ...account, webhook_secret: secret, ...old });
  const ends = overlap === 0 ? "the old one ends now" : `the old one also signs until ${isoTime(until)}`;
  return {
    result: `account ${account.name} has a new webhook signing secret; ${ends}\n`,
    note: secretShown(secret),
  };
}

function exportAll(args: string[], { store }: Context): CommandOutput {
  const file = readFileName("accounts export", args, "a file to make");
  exportAccounts(store, file);
  return { result: `${file}\n` };
}

function importArguments(args: string[]): { file: string; after: number } {
  const expected = "a file of accounts export or state backup";
  const { positionals, values } = parsedArguments(
    "accounts import",
    { args, options: { after: { type: "string" } }, allowPositionals: true },
    expected,
  );
  const file = readFileName("accounts import", positionals, expected);
  const after = v.safeParse(wholeNumber(0, Number.MAX_SAFE_INTEGER), values.after ?? "0");
  if (!after.success) throw wrongOption("--after", shown(values.after ?? ""), after.issues[0].message);
  return { file, after: after.output };
}

function readFile(args: string[]): MovedAccount[] {
  const { file, after } = importArguments(args);
  return readAccounts(file).filter(({ id }) => id > after);
}

function importAll(args: string[], { store, accounts }: Context): CommandOutput {
  const { file } = importArguments(args);
  // If an account of the file conflicts, the whole file is refused before anything is stored.
  checkFree(store, accounts, file);
  return importFrom(0, store, accounts, file);
}

function importFrom(
  start: number,
  store: Store,
  accounts: readonly MovedAccount[],
  file: string,
): CommandOutput {
  const end = start + maxAccountsPerChange;
  const some = accounts.slice(start, end);
  if (start > 0) checkFree(store, some, file);
  addAccounts(store, some, file);
  const entered = some.map(({ id }) => id);
  if (end < accounts.length) {
    const state = `${end} of ${accounts.length} accounts are imported; import the others with --after ${entered.at(-1)}`;
    return { result: "", entered, rest: { state, run: (store) => importFrom(end, store, accounts, file) } };
  }
  return { result: `entered ${accounts.length} account${accounts.length === 1 ? "" : "s"}\n`, entered };
}

await runCommand("accounts", parts, {
  list: {
    usage: "[--json]",
    about:
      "Lists accounts: plan, requests per second and per UTC month, requests used this month (as last saved), number of working keys, webhook, e-mail address, and whether the account is active or suspended.",
    run: list,
  },
  export: {
    usage: "FILE",
    about:
      "Writes all accounts to a new SQLite database: with the hashes of keys, usage as last saved, events, and the webhooks' signing secrets. Only the file's owner can read it. Keep it as safe as passwords.",
    onlyReads: true,
    run: exportAll,
  },
  import: {
    usage: "FILE [--after ID]",
    about: `Adds the accounts of a file that accounts export or state backup has written, with the same ids. If an id, a name or a key is taken, or a row is wrong, nothing is added. With DATABASE_URL, accounts are added ${maxAccountsPerChange} at a time. --after leaves out the accounts up to an id.`,
    makesState: true,
    read: readFile,
    run: importAll,
  },
  suspend: {
    usage: "NAME",
    about:
      "Suspends an account. Within a second all of its keys are answered like invalid keys (401), until resume.",
    endsAccess: true,
    run: suspend,
  },
  resume: { usage: "NAME", about: "Lets the keys of a suspended account work again.", run: resume },
  delete: {
    usage: "NAME --yes",
    about:
      "Deletes an account for good, with its keys, addresses, usage, events and signups. Only its id stays, so that no other account gets it. Without --yes, says what would be deleted.",
    run: remove,
  },
  "rotate-secret": {
    usage: "NAME --overlap HOURS",
    about:
      "Makes a new signing secret for an account's webhook and shows it once on stderr. Until the hours are over, the old secret also signs.",
    run: rotateSecret,
  },
});
