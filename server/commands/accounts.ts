import { rmSync, writeFileSync } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import { text } from "node:stream/consumers";
import { DataError, fileReasonOf, shown, systemCode } from "../../engine/query.ts";
import { newWebhookSecret } from "../accounts/changes.ts";
import { exportAccounts, importAccounts } from "../accounts/transfer.ts";
import type { CommandOutput } from "../part.ts";
import { parts } from "../parts.ts";
import { readFileName, readOptions } from "../shared/arguments.ts";
import { monthName, monthOf } from "../shared/months.ts";
import { isoTime } from "../shared/time.ts";
import { isNoRoom, noRoomFor } from "../store/room.ts";
import type { Account, Store } from "../store/store.ts";
import { secretShown } from "./account-options.ts";
import { type Context, checkEnd, listed, overlapOptions, runCommand } from "./command.ts";

/** The `accounts` command: manages, exports and imports accounts. The `keys` command creates accounts. */

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
    throw new DataError(
      `accounts ${command}`,
      name === undefined ? "nothing" : shown(name),
      "an account's name",
    );
  const account = store.accounts.byName(name);
  if (account === undefined)
    throw new DataError(`account ${shown(name)}`, "no such name", "a name from accounts list");
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
    throw new DataError("accounts delete", shown(more.join(" ")), "--yes or nothing more");
  checkEnd("accounts delete", more.slice(1), "--yes");
  const { keys, usage, events, mailboxes } = store.records.read(account.id);
  const all = [
    `keys: ${keys.length}`,
    `months of use: ${usage.length}`,
    `events: ${events.length}`,
    `signups: ${mailboxes.length}`,
    ...(account.webhook === null ? [] : ["its webhook"]),
    ...(account.email === null ? [] : ["its e-mail address"]),
  ].join(", ");
  if (more.length === 0)
    throw new DataError(
      `accounts delete ${account.name}`,
      `no --yes; it would delete the account for good, with ${all}`,
      "--yes to do it; accounts suspend can be undone",
    );
  store.accounts.delete(account.id);
  return { result: `deleted account ${account.name}, with ${all}\n` };
}

/** During the overlap, both the old and the new secret sign. */
function rotateSecret([name, ...args]: string[], { store, now }: Context): CommandOutput {
  const account = findAccount(store, "rotate-secret", name);
  const { overlap } = readOptions("accounts rotate-secret", overlapOptions, args);
  if (account.webhook === null || account.webhook_secret === null)
    throw new DataError(`account ${account.name}`, "no webhook", "one whose posts are signed");
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

/** Only the file's owner can read the file. */
function exportAll(args: string[], { store }: Context): CommandOutput {
  const file = readFileName("accounts export", args);
  const lines = exportAccounts(store);
  if (file === undefined) return { result: lines };
  try {
    writeFileSync(file, lines, { flag: "wx", mode: 0o600, flush: true });
  } catch (error) {
    if (isNoRoom(error)) {
      rmSync(file, { force: true });
      throw noRoomFor(file, Buffer.byteLength(lines));
    }
    throw new DataError(`file ${file}`, fileReasonOf(error), "a name that is free, where a file can be made");
  }
  return { result: `${file}\n` };
}

const skipInvalid = "--skip-invalid";
const isSkipping = (args: string[]) => args.includes(skipInvalid);

const importedFile = (args: string[]) =>
  readFileName(
    "accounts import",
    args.filter((word) => word !== skipInvalid),
    `a file, or ${skipInvalid}`,
  );

async function readLines(args: string[]): Promise<string> {
  const file = importedFile(args);
  try {
    if (file === undefined) return await text(process.stdin);
    // Reading a FIFO would wait for its writer.
    const stats = await stat(file);
    if (stats.isFile() || stats.isDirectory()) return await readFile(file, "utf8");
  } catch (error) {
    // V8 has no text of more than half a gigabyte.
    const isTooLong =
      error instanceof Error && /string/i.test(error.message) && systemCode(error) === undefined;
    const found = isTooLong ? "more than 512 MB" : fileReasonOf(error);
    throw new DataError(inputOf(file), found, "the output of accounts export");
  }
  throw new DataError(
    inputOf(file),
    "something that isn't a regular file",
    "the output of accounts export in a regular file, or on stdin",
  );
}

const inputOf = (file: string | undefined) => (file === undefined ? "stdin" : `file ${file}`);

function importAll(args: string[], { store, input }: Context): CommandOutput {
  const file = importedFile(args);
  const { entered, known, refused, miscount } = importAccounts(store, input, inputOf(file));
  const faults = miscount === undefined ? refused : [miscount, ...refused];
  if (faults.length > 0 && !isSkipping(args)) {
    // A DataError, because with DATABASE_URL any other error would be taken for a fault of the database.
    const error = new DataError(inputOf(file), `${faults.length} wrong lines`, "none");
    throw Object.assign(error, { message: faults.join("\n") });
  }
  const same = known === 0 ? "" : `; ${known} were there already, the same`;
  const accounts = entered.length === 1 ? "account" : "accounts";
  const left = refused.length === 0 ? "" : `; ${refused.length} refused`;
  const note = faults.map((line) => `${line}\n`).join("");
  return { result: `entered ${entered.length} ${accounts}${same}${left}\n`, note, entered };
}

await runCommand("accounts", parts, {
  list: {
    usage: "[--json]",
    about:
      "Lists accounts: plan, requests per second and per UTC month, requests used this month (as last saved), number of working keys, webhook, e-mail address, and whether the account is active or suspended.",
    run: list,
  },
  export: {
    usage: "[FILE]",
    about:
      "Writes all accounts as lines of JSON to a new file or stdout: the hashes of keys, usage as last saved, events, and the webhooks' signing secrets. Keep the file as safe as passwords.",
    run: exportAll,
  },
  import: {
    usage: `[FILE] [${skipInvalid}]`,
    about:
      "Adds the accounts of a file that export has written, or of stdin, with the same ids. Every refused line is named on stderr. If there is one, no account is added, or with --skip-invalid all others.",
    makesState: true,
    read: readLines,
    run: importAll,
  },
  suspend: {
    usage: "NAME",
    about:
      "Suspends an account. Within a second all of its keys are answered like invalid keys (401), until resume.",
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
