import { DataError, shown } from "../../engine/query.ts";
import { newWebhookSecret } from "../accounts/changes.ts";
import { monthName, monthOf } from "../shared/months.ts";
import { secretShown } from "./account-options.ts";
import { type Context, listed, overlapOptions, readOptions, runCommand, type Said } from "./command.ts";

/** The operator's command for accounts; those are made and changed with the one for keys. */

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

await runCommand("accounts", {
  list: {
    usage: "[--json]",
    about:
      "Lists accounts: plan, requests per second and per UTC month, requests used in this month as the server last saved them, active keys, webhook, e-mail address.",
    run: list,
  },
  "rotate-secret": {
    usage: "NAME --overlap HOURS",
    about:
      "Makes a new signing secret for an account's webhook, shown once on stderr; the old one signs as well until the hours are over.",
    run: rotateSecret,
  },
});
