import { isDeepStrictEqual } from "node:util";
import * as v from "valibot";
import { DataError, jsonIn, shown } from "../../engine/query.ts";
import { maxBurst, maxQuota, planNames } from "../shared/plans.ts";
import { day, emailAddress, month, time } from "../shared/schemas.ts";
import { isoTime } from "../shared/time.ts";
import type { AccountRecord, Store } from "../store/store.ts";
import { accountName, keyLabel, webhookSecretForm } from "./changes.ts";
import { maxAccounts } from "./limits.ts";
import { maxAnswerCharacters, maxTries, thresholds } from "./quota-events.ts";
import { webhookFault } from "./webhook-url.ts";

/** Exports and imports accounts as lines of JSON, with everything that belongs to them, ids included. */

const format = "healthcare-charge-query-service accounts";
const version = 1;

const unknownField = "only fields that accounts export writes";
/** An object that has exactly these fields. */
const fields = <Entries extends v.ObjectEntries>(entries: Entries) =>
  v.strictObject(entries, ({ expected, input }) => {
    if (expected === "never") return unknownField;
    return input === undefined ? "a value" : "an object";
  });
const list = <Item extends v.GenericSchema>(item: Item) => v.array(item, "a list");
const text = (expected: string, form: RegExp) => v.pipe(v.string(expected), v.regex(form, expected));
const oneOf = <const Options extends readonly (string | number)[]>(options: Options) =>
  v.picklist(options, `one of ${options.join(", ")}`);
const whole = (min: number, max: number) => {
  const expected = `a whole number from ${min} to ${max}`;
  return v.pipe(
    v.number(expected),
    v.safeInteger(expected),
    v.minValue(min, expected),
    v.maxValue(max, expected),
  );
};

const head = fields({
  format: v.literal(format, format),
  version: v.number("a number"),
  /** The number of lines that follow, so that a truncated file is noticed. */
  accounts: whole(0, maxAccounts),
});

/** Later ids continue from the largest, and have to stay safe integers. */
const maxId = 2 ** 40;
const id = whole(1, maxId);
const used = whole(0, maxQuota);
/** The file has ISO times for its readers; elsewhere they are milliseconds. */
const instant = time();

const key = fields({
  id,
  hash: text("64 hexadecimal digits in lower case", /^[0-9a-f]{64}$/),
  last4: text("4 letters or digits", /^[0-9A-Za-z]{4}$/),
  label: v.nullable(keyLabel),
  created_at: instant,
  expires_at: v.nullable(instant),
  revoked_at: v.nullable(instant),
  replaced_by: v.nullable(id),
});
const anAnswer = `up to ${maxAnswerCharacters} printable ASCII characters`;
const delivery = fields({
  channel: oneOf(["webhook", "email"]),
  state: oneOf(["pending", "delivered", "failed"]),
  tries: whole(0, maxTries),
  next_try_at: v.nullable(instant),
  last_answer: v.nullable(v.pipe(text(anAnswer, /^[ -~]*$/), v.maxLength(maxAnswerCharacters, anAnswer))),
});

const event = fields({
  id: text("an event's id", /^evt_[0-9a-f]{32}$/),
  month,
  threshold: oneOf(thresholds),
  quota: whole(1, maxQuota),
  payload: v.string("JSON as a text"),
  created_at: instant,
  deliveries: list(delivery),
});

const secret = text("a webhook's signing secret", webhookSecretForm);

const account = v.pipe(
  fields({
    id,
    name: accountName,
    plan: oneOf(planNames),
    burst: whole(1, maxBurst),
    quota: whole(1, maxQuota),
    webhook: v.nullable(
      v.pipe(
        v.string("a URL"),
        // Each delivery checks where the address leads, because that depends on this server's settings.
        v.rawCheck(({ dataset, addIssue }) => {
          const fault = dataset.typed ? webhookFault(dataset.value, true) : undefined;
          if (fault !== undefined) addIssue({ message: fault });
        }),
      ),
    ),
    webhook_secret: v.nullable(secret),
    webhook_old_secret: v.nullable(secret),
    webhook_old_secret_until: v.nullable(instant),
    email: v.nullable(emailAddress),
    suspended_at: v.nullable(instant),
    created_at: instant,
    keys: list(key),
    usage: list(fields({ month, used })),
    days: list(fields({ day, used })),
    events: list(event),
    /** The normalised e-mail addresses that signed up for the account. */
    mailboxes: list(
      fields({ mailbox: text("a mailbox", /^[!-?A-~]{0,64}@[!-?A-~]{1,252}$/), created_at: instant }),
    ),
  }),
  v.check(
    ({ webhook, webhook_secret }) => (webhook === null) === (webhook_secret === null),
    "webhook and webhook_secret both, or neither",
  ),
  v.check(
    ({ webhook, webhook_old_secret, webhook_old_secret_until }) =>
      (webhook_old_secret === null) === (webhook_old_secret_until === null) &&
      (webhook !== null || webhook_old_secret === null),
    "webhook_old_secret and webhook_old_secret_until both, beside a webhook, or neither",
  ),
);

/** All accounts by id, after a first line with their number. */
export function exportAccounts(store: Store): string {
  const ids = store.accounts.ids();
  const lines = ids.map((account) => JSON.stringify(store.records.read(account), withIsoTimes));
  return [JSON.stringify({ format, version, accounts: ids.length }), ...lines]
    .map((line) => `${line}\n`)
    .join("");
}

function withIsoTimes(name: string, value: unknown): unknown {
  return /_(?:at|until)$/.test(name) && typeof value === "number" ? isoTime(value) : value;
}

/**
 * Imports an export under the same ids. An existing account is skipped if it is identical, otherwise refused. Needs a
 * transaction, because accounts are entered up to the first wrong line.
 * @param subject what messages call the input, such as its file
 * @returns the new accounts, and the number of skipped ones
 * @throws DataError about the first wrong line
 */
export function importAccounts(
  store: Store,
  lines: string,
  subject: string,
): { entered: AccountRecord[]; known: number } {
  const [first, ...rest] = lines.trimEnd().split("\n");
  const { version: found, accounts } = parsed(head, first, `${subject}, line 1`);
  if (found !== version) throw new DataError(`${subject}, line 1: version`, `${found}`, `${version}`);
  if (rest.length !== accounts)
    throw new DataError(subject, `${rest.length} accounts`, `${accounts}, as its first line says`);
  const entered = rest.flatMap((line, i) => {
    const record = parsed(account, line, `${subject}, line ${i + 2}`);
    return enter(store, record, `${subject}, line ${i + 2}: account ${record.name}`) ? record : [];
  });
  return { entered, known: rest.length - entered.length };
}

/** @returns whether the account is new @throws DataError when it contradicts an existing one */
function enter(store: Store, record: AccountRecord, about: string): boolean {
  const before = store.accounts.byId(record.id) ?? store.accounts.byName(record.name);
  if (before === undefined) {
    if (store.accounts.wasDeleted(record.id))
      throw new DataError(about, "the id of an account that was deleted", "one that no account had");
    const taken = record.keys.find(({ id }) => store.keys.byId(id) !== undefined);
    if (taken !== undefined)
      throw new DataError(about, `key ${taken.id}, which another account has`, "keys that no other has");
    try {
      store.records.enter(record);
    } catch (error) {
      if (!isConstraintError(error)) throw error;
      throw new DataError(about, error.message, "ids, hashes and mailboxes that no other account has");
    }
    return true;
  }
  const there = store.records.read(before.id);
  const [difference] =
    Object.entries(record).find(
      ([name, value]) => !isDeepStrictEqual(value, there[name as keyof AccountRecord]),
    ) ?? [];
  if (difference !== undefined)
    throw new DataError(
      about,
      `the account ${before.name} with other ${difference} of that id or name`,
      "none, or the same",
    );
  return false;
}

/** Whether SQLite refused a record because it violates a constraint of a table. */
const isConstraintError = (error: unknown): error is Error =>
  error instanceof Error && "code" in error && /^SQLITE_CONSTRAINT/.test(String(error.code));

function parsed<Schema extends v.GenericSchema>(
  schema: Schema,
  line: string,
  about: string,
): v.InferOutput<Schema> {
  const value = jsonIn(line, about, "a line of JSON");
  const result = v.safeParse(schema, value, { abortEarly: true, abortPipeEarly: true });
  if (result.success) return result.output;
  const [{ input, message, path = [] }] = result.issues;
  const field = path.map(({ key }) => key).join(".");
  // Without the value of a secret or a hash.
  const isShown = typeof input !== "object" && !/secret|hash/.test(field);
  const found = input === undefined ? "nothing" : isShown ? shown(String(input)) : "another value";
  throw new DataError(field === "" ? about : `${about}: ${field}`, found, message);
}
