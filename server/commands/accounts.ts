import { writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { text } from "node:stream/consumers";
import { DataError, reasonOf, shown } from "../../engine/query.ts";
import { newWebhookSecret } from "../accounts/changes.ts";
import { exportAccounts, importAccounts } from "../accounts/transfer.ts";
import { monthName, monthOf } from "../shared/months.ts";
import { secretShown } from "./account-options.ts";
import {
  type Context,
  checkEnd,
  listed,
  overlapOptions,
  readOptions,
  runCommand,
  type Said,
} from "./command.ts";

/** The operator's command for accounts, to list and move them; they are made and changed with the one for keys. */

const columns = ["account", "plan", "burst", "quota", "month", "used", "keys", "webhook", "email"] as const;

function list(args: string[], { store, now }: Context): Said {
  const month = monthName(monthOf(now.getTime()));
  const accounts = store
    .accounts(month, now)
    .map(({ name, plan, burst, quota, used, keys, webhook, email }) => {
      return { account: name, plan, burst, quota, month, used, keys, webhook, email };
    });
  return { result: listed("accounts list", args, columns, accounts) };
}

/** Replaces a webhook's signing secret; for the overlap, what is posted is signed with the old one as well. */
function rotateSecret([name, ...args]: string[], { store, now }: Context): Said {
  if (name === undefined || name.startsWith("-"))
    throw new DataError(
      "accounts rotate-secret",
      name === undefined ? "nothing" : shown(name),
      "an account's name",
    );
  const { overlap } = readOptions("accounts rotate-secret", overlapOptions, args);
  const account = store.account(name);
  if (account === undefined)
    throw new DataError(`account ${shown(name)}`, "none of that name", "a name from accounts list");
  if (account.webhook === null || account.webhook_secret === null)
    throw new DataError(`account ${name}`, "no webhook", "one whose posts are signed");
  const secret = newWebhookSecret();
  const until = new Date(now.getTime() + overlap * 3_600_000).toISOString();
  const old =
    overlap === 0
      ? { webhook_old_secret: null, webhook_old_secret_until: null }
      : { webhook_old_secret: account.webhook_secret, webhook_old_secret_until: until };
  store.updateAccount({ ...account, webhook_secret: secret, ...old });
  const ends = overlap === 0 ? "the old one ends now" : `the old one signs as well until ${until}`;
  return {
    result: `account ${name} has a new webhook signing secret; ${ends}\n`,
    note: secretShown(secret),
  };
}

/** Writes all accounts to a file that only its owner can read, as secrets are in it, or says them. */
function exportAll([file, ...more]: string[], { store }: Context): Said {
  checkEnd("accounts export", more, "the file");
  const lines = exportAccounts(store);
  if (file === undefined) return { result: lines };
  try {
    writeFileSync(file, lines, { flag: "wx", mode: 0o600, flush: true });
  } catch (error) {
    throw new DataError(`file ${file}`, reasonOf(error), "a name that is free, where a file can be made");
  }
  return { result: `${file}\n` };
}

async function readLines([file, ...more]: string[]): Promise<string> {
  checkEnd("accounts import", more, "the file");
  try {
    return file === undefined ? await text(process.stdin) : await readFile(file, "utf8");
  } catch (error) {
    throw new DataError(inputOf(file), reasonOf(error), "what accounts export has written");
  }
}

const inputOf = (file: string | undefined) => (file === undefined ? "stdin" : `file ${file}`);

function importAll([file]: string[], { store, input }: Context): Said {
  const { entered, known } = importAccounts(store, input, inputOf(file));
  const same = known === 0 ? "" : `; ${known} were there already, the same`;
  const accounts = entered.length === 1 ? "account" : "accounts";
  return { result: `entered ${entered.length} ${accounts}${same}\n`, entered };
}

await runCommand("accounts", {
  list: {
    usage: "[--json]",
    about:
      "Lists accounts: plan, requests per second and per UTC month, requests used in this month as last saved, active keys, webhook, e-mail address.",
    run: list,
  },
  export: {
    usage: "[FILE]",
    about:
      "Writes all accounts as lines of JSON, to a new file or stdout: keys (their hashes), use as last saved, events, and the webhooks' signing secrets: keep it as you keep passwords.",
    run: exportAll,
  },
  import: {
    usage: "[FILE]",
    about:
      "Enters accounts that export has written, from a file or stdin, under the same ids: all of them, or none where one contradicts what is there.",
    makesState: true,
    brings: true,
    read: readLines,
    run: importAll,
  },
  "rotate-secret": {
    usage: "NAME --overlap HOURS",
    about:
      "Makes a new signing secret for an account's webhook, shown once on stderr; the old one signs as well until the hours are over.",
    run: rotateSecret,
  },
});
