import { isDeepStrictEqual } from "node:util";
import * as v from "valibot";
import { DataError, reasonOf, shown } from "../../engine/query.ts";
import { maxBurst, maxQuota, planNames } from "../shared/plans.ts";
import type { AccountRecord, Store } from "../store/store.ts";
import { maxNameLength } from "./names.ts";

/** Accounts with all that is theirs as lines of JSON: from one state to another, ids included. */

const format = "healthcare-charge-query-service accounts";
const version = 1;

const head = v.strictObject({
  format: v.literal(format),
  version: v.number(),
  /** How many lines follow: a file that was cut off isn't taken for a smaller one. */
  accounts: v.number(),
});

const id = v.pipe(v.number(), v.safeInteger(), v.minValue(1));
const count = (max: number) => v.pipe(v.number(), v.safeInteger(), v.minValue(0), v.maxValue(max));
/** As `toISOString` writes it: the database compares times as texts. */
const time = v.pipe(
  v.string(),
  v.regex(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/, "a time such as 2027-01-31T00:00:00.000Z"),
);
const month = v.pipe(v.string(), v.regex(/^\d{4}-\d{2}$/, "a month such as 2027-01"));
const text = v.string();

const key = v.strictObject({
  id,
  hash: v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/, "64 hexadecimal digits in lower case")),
  last4: v.pipe(v.string(), v.regex(/^[0-9A-Za-z]{4}$/, "4 letters or digits")),
  created_at: time,
  expires_at: v.nullable(time),
  revoked_at: v.nullable(time),
  replaced_by: v.nullable(id),
});

const delivery = v.strictObject({
  channel: v.picklist(["webhook", "email"]),
  state: v.picklist(["pending", "delivered", "failed"]),
  tries: count(maxQuota),
  next_try_at: v.nullable(time),
  last_answer: v.nullable(text),
});

const event = v.strictObject({
  id: v.pipe(v.string(), v.regex(/^evt_[0-9a-f]{32}$/, "an event's id")),
  month,
  threshold: count(100),
  quota: count(maxQuota),
  payload: text,
  created_at: time,
  deliveries: v.array(delivery),
});

const account = v.strictObject({
  id,
  name: v.pipe(v.string(), v.regex(/^[!-~](?:[ -~]*[!-~])?$/), v.maxLength(maxNameLength)),
  plan: v.picklist(planNames),
  burst: count(maxBurst),
  quota: count(maxQuota),
  webhook: v.nullable(text),
  webhook_secret: v.nullable(text),
  webhook_old_secret: v.nullable(text),
  webhook_old_secret_until: v.nullable(time),
  email: v.nullable(text),
  created_at: time,
  keys: v.array(key),
  usage: v.array(v.strictObject({ month, used: count(maxQuota) })),
  days: v.array(
    v.strictObject({
      day: v.pipe(v.string(), v.regex(/^\d{4}-\d{2}-\d{2}$/, "a day such as 2027-01-31")),
      used: count(maxQuota),
    }),
  ),
  events: v.array(event),
  /** Of people who made the account themselves, in the one form that all spellings of an address have. */
  mailboxes: v.array(v.strictObject({ mailbox: text, created_at: time })),
});

/** All accounts, in the order of their ids, behind a line that says how many there are. */
export function exportAccounts(store: Store): string {
  const ids = store.accountIds();
  const lines = ids.map((account) => JSON.stringify(store.accountRecord(account)));
  return [JSON.stringify({ format, version, accounts: ids.length }), ...lines]
    .map((line) => `${line}\n`)
    .join("");
}

/**
 * Enters what was exported, under the same ids. What is there already stays, if it is the same.
 *
 * @param subject what the messages are about
 * @returns the accounts that are new, and how many were there
 * @throws DataError for the first line that isn't as it has to be, or that contradicts what is there; then the caller
 *   undoes the lines before it
 */
export function importAccounts(
  store: Store,
  lines: string,
  subject: string,
): { entered: AccountRecord[]; known: number } {
  const [first, ...rest] = lines.split("\n");
  // What ends a text is no line.
  if (rest.at(-1) === "") rest.pop();
  const { version: found, accounts } = parsed(head, first, `${subject}, line 1`);
  if (found !== version) throw new DataError(`${subject}, line 1: version`, `${found}`, `${version}`);
  if (rest.length !== accounts)
    throw new DataError(subject, `${rest.length} accounts`, `${accounts}, as its first line says`);
  const entered: AccountRecord[] = [];
  for (const [i, line] of rest.entries()) {
    const record = parsed(account, line, `${subject}, line ${i + 2}`);
    const about = `${subject}, line ${i + 2}: account ${record.name}`;
    const before = store.accountOf(record.id) ?? store.account(record.name);
    if (before === undefined) {
      checkFree(store, record, about);
      store.enterAccount(record);
      entered.push(record);
    } else {
      const difference = differenceOf(store.accountRecord(before.id), record);
      if (difference !== undefined)
        throw new DataError(
          about,
          `the account ${before.name} with other ${difference} of that id or name`,
          "none, or the same",
        );
    }
  }
  return { entered, known: rest.length - entered.length };
}

/** @throws DataError when a part of a new account is another one's already */
function checkFree(store: Store, { keys, events, mailboxes }: AccountRecord, about: string): void {
  const taken = [
    ...keys.map(({ id }) => ({ what: `key ${id}`, isTaken: store.key(id) !== undefined })),
    ...keys.map(({ id, hash }) => ({
      what: `the hash of its key ${id}`,
      isTaken: store.keyOf(Buffer.from(hash, "hex")) !== undefined,
    })),
    ...events.map(({ id }) => ({ what: `event ${id}`, isTaken: store.event(id) !== undefined })),
    ...mailboxes.map(({ mailbox }) => ({ what: mailbox, isTaken: store.hasSignedUp(mailbox) })),
  ].find(({ isTaken }) => isTaken);
  if (taken !== undefined)
    throw new DataError(about, `${taken.what}, which another account has`, "what no other has");
}

/** The first part in which two differ. */
function differenceOf(before: AccountRecord, after: AccountRecord): string | undefined {
  return Object.entries(after).find(
    ([name, value]) => !isDeepStrictEqual(value, before[name as keyof AccountRecord]),
  )?.[0];
}

function parsed<Schema extends v.GenericSchema>(
  schema: Schema,
  line: string,
  about: string,
): v.InferOutput<Schema> {
  const value = jsonOf(line, about);
  const result = v.safeParse(schema, value, { abortEarly: true });
  if (result.success) return result.output;
  const [issue] = result.issues;
  throw new DataError(
    `${about}: ${v.getDotPath(issue) ?? "all of it"}`,
    issue.received,
    issue.expected ?? issue.message,
  );
}

function jsonOf(line: string, about: string): unknown {
  try {
    return JSON.parse(line);
  } catch (error) {
    throw new DataError(about, line === "" ? "nothing" : shown(reasonOf(error)), "a line of JSON");
  }
}
