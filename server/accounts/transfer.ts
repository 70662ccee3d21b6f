import { isDeepStrictEqual } from "node:util";
import * as v from "valibot";
import { DataError, reasonOf, shown } from "../../engine/query.ts";
import { maxBurst, maxQuota, planNames } from "../shared/plans.ts";
import { time } from "../shared/schemas.ts";
import { isoTime } from "../shared/time.ts";
import type { AccountRecord, Store } from "../store/store.ts";
import { keyLabel } from "./changes.ts";
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
/** People read the file: it has ISO times, which are milliseconds everywhere else. */
const instant = time();
const month = v.pipe(v.string(), v.regex(/^\d{4}-\d{2}$/, "a month such as 2027-01"));
const text = v.string();

const key = v.strictObject({
  id,
  hash: v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/, "64 hexadecimal digits in lower case")),
  last4: v.pipe(v.string(), v.regex(/^[0-9A-Za-z]{4}$/, "4 letters or digits")),
  label: v.nullable(keyLabel),
  created_at: instant,
  expires_at: v.nullable(instant),
  revoked_at: v.nullable(instant),
  replaced_by: v.nullable(id),
});

const delivery = v.strictObject({
  channel: v.picklist(["webhook", "email"]),
  state: v.picklist(["pending", "delivered", "failed"]),
  tries: count(maxQuota),
  next_try_at: v.nullable(instant),
  last_answer: v.nullable(text),
});

const event = v.strictObject({
  id: v.pipe(v.string(), v.regex(/^evt_[0-9a-f]{32}$/, "an event's id")),
  month,
  threshold: count(100),
  quota: count(maxQuota),
  payload: text,
  created_at: instant,
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
  webhook_old_secret_until: v.nullable(instant),
  email: v.nullable(text),
  suspended_at: v.nullable(instant),
  created_at: instant,
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
  mailboxes: v.array(v.strictObject({ mailbox: text, created_at: instant })),
});

/** All accounts, in the order of their ids, behind a line that says how many there are. */
export function exportAccounts(store: Store): string {
  const ids = store.accountIds();
  const lines = ids.map((account) => JSON.stringify(store.accountRecord(account), withIsoTimes));
  return [JSON.stringify({ format, version, accounts: ids.length }), ...lines]
    .map((line) => `${line}\n`)
    .join("");
}

function withIsoTimes(name: string, value: unknown): unknown {
  return /_(?:at|until)$/.test(name) && typeof value === "number" ? isoTime(value) : value;
}

/**
 * Enters what was exported, under the same ids. What is there already stays, if it is the same.
 *
 * @param subject what the messages are about
 * @returns the accounts that are new, how many were there, and why others are refused, a line each: they aren't as they
 *   have to be, or contradict what is there
 * @throws DataError when the file isn't one that export has written, or isn't whole
 */
export function importAccounts(
  store: Store,
  lines: string,
  subject: string,
): { entered: AccountRecord[]; known: number; refused: string[] } {
  const [first, ...rest] = lines.split("\n");
  // What ends a text is no line.
  if (rest.at(-1) === "") rest.pop();
  const { version: found, accounts } = parsed(head, first, `${subject}, line 1`);
  if (found !== version) throw new DataError(`${subject}, line 1: version`, `${found}`, `${version}`);
  if (rest.length !== accounts)
    throw new DataError(subject, `${rest.length} accounts`, `${accounts}, as its first line says`);
  const entered: AccountRecord[] = [];
  const refused: string[] = [];
  for (const [i, line] of rest.entries())
    try {
      const record = parsed(account, line, `${subject}, line ${i + 2}`);
      const about = `${subject}, line ${i + 2}: account ${record.name}`;
      if (store.atomically(() => enter(store, record, about))) entered.push(record);
    } catch (error) {
      if (!(error instanceof DataError)) throw error;
      refused.push(error.message);
    }
  return { entered, known: rest.length - entered.length - refused.length, refused };
}

/** @returns whether the account is new. @throws DataError when it contradicts what is there; then nothing of it is entered */
function enter(store: Store, record: AccountRecord, about: string): boolean {
  const before = store.accountOf(record.id) ?? store.account(record.name);
  if (before === undefined) {
    checkFree(store, record, about);
    try {
      store.enterAccount(record);
    } catch (error) {
      if (!isConstraintError(error)) throw error;
      throw new DataError(about, error.message, "parts that belong together, each once");
    }
    return true;
  }
  const difference = differenceOf(store.accountRecord(before.id), record);
  if (difference !== undefined)
    throw new DataError(
      about,
      `the account ${before.name} with other ${difference} of that id or name`,
      "none, or the same",
    );
  return false;
}

/** A record may contradict itself, too. */
const isConstraintError = (error: unknown): error is Error =>
  error instanceof Error && "code" in error && /^SQLITE_CONSTRAINT/.test(String(error.code));

/** @throws DataError when a part of a new account is another one's already */
function checkFree(store: Store, { id, keys, events, mailboxes }: AccountRecord, about: string): void {
  if (store.wasDeleted(id))
    throw new DataError(about, `the id ${id} of an account that was deleted`, "one that no account had");
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
