import { randomBytes } from "node:crypto";
import { parseArgs } from "node:util";
import * as v from "valibot";
import { DataError, shown } from "../engine/query.ts";
import { runCommand } from "./command.ts";
import { maxNameLength } from "./directory.ts";
import { generateKey, hashKey } from "./keys.ts";
import { monthName, monthOf } from "./limits.ts";
import { maxBurst, maxQuota, planNames, plans } from "./plans.ts";
import { wholeNumber } from "./query.ts";
import type { Account, Store, StoredKey } from "./store.ts";
import { webhookFault } from "./webhooks.ts";

/** The operator's command for accounts and keys. It works on the database, whether a server runs or not. */

const usage = `usage:
  keys create --account NAME [--plan ${planNames.join("|")}] [--burst N --quota N] [--webhook URL] [--expires ISO]
  keys update --account NAME [--plan P] [--burst N --quota N] [--webhook URL|none]
  keys list
  keys show ID
  keys revoke ID
  keys rotate ID --overlap HOURS`;

const maxOverlapHours = 8760;
const isoTime = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?(Z|[+-]\d{2}:\d{2}))?$/;
const expectedName = `1 to ${maxNameLength} ASCII characters, none at the ends a space`;

const accountOptions = v.object({
  account: v.pipe(
    v.string(),
    v.regex(/^[!-~](?:[ -~]*[!-~])?$/, expectedName),
    v.maxLength(maxNameLength, expectedName),
  ),
  plan: v.optional(v.picklist(planNames, `one of ${planNames.join(", ")}`)),
  burst: v.optional(wholeNumber(1, maxBurst)),
  quota: v.optional(wholeNumber(1, maxQuota)),
  webhook: v.optional(v.string()),
});
const keyOptions = v.object({
  ...accountOptions.entries,
  expires: v.optional(
    v.pipe(
      v.string(),
      v.regex(isoTime, "a time such as 2027-01-31T00:00:00Z"),
      v.check(isTime, "a time that exists"),
      v.transform((text) => new Date(text)),
    ),
  ),
});
/** JavaScript takes the 30th of February for the 2nd of March. */
function isTime(text: string): boolean {
  const day = text.slice(0, 10);
  const midnight = new Date(`${day}T00:00:00Z`);
  return !Number.isNaN(Date.parse(text)) && midnight.toISOString().startsWith(day);
}

type AccountOptions = v.InferOutput<typeof accountOptions>;
const overlapOptions = v.object({
  overlap: v.pipe(v.string(), wholeNumber(0, maxOverlapHours)),
});

/** Reads `--name value` options by a schema. */
function readOptions<Entries extends v.ObjectEntries>(
  schema: v.ObjectSchema<Entries, undefined>,
  args: string[],
): v.InferOutput<typeof schema> {
  const names = Object.keys(schema.entries);
  const options = Object.fromEntries(names.map((name) => [name, { type: "string" } as const]));
  const values = parseValues(args, options);
  const parsed = v.safeParse(schema, { ...values }, { abortEarly: true });
  if (parsed.success) return parsed.output;
  const [issue] = parsed.issues;
  const name = v.getDotPath(issue) ?? "";
  const given = values[name];
  if (given === undefined) throw new DataError(`--${name}`, "nothing", "a value");
  throw new DataError(`--${name}`, shown(String(given)), issue.message);
}

function parseValues(args: string[], options: Record<string, { type: "string" }>): Record<string, unknown> {
  try {
    return parseArgs({ args, options, strict: true }).values;
  } catch (error) {
    // Only the first sentence: the rest is advice on several lines.
    const [reason] = (error instanceof Error ? error.message : String(error)).split(/\.\s|\.$|\n/);
    const names = Object.keys(options).map((name) => `--${name}`);
    throw new DataError("keys", reason, `${names.join(", ")}, each with a value`);
  }
}

/** An account's plan and ceilings after options: the plan's own, or an enterprise account's numbers. */
function ceilings({ account, plan = undefined, burst, quota }: AccountOptions, known: Account | undefined) {
  const name = plan ?? known?.plan;
  if (name === undefined)
    throw new DataError("--plan", "nothing", `a plan, because the account ${account} is new`);
  const fixed = plans[name];
  if (fixed !== undefined) {
    if (burst !== undefined || quota !== undefined)
      throw new DataError("--burst or --quota", "a number", `none for the plan ${name}, which has its own`);
    return { plan: name, ...fixed };
  }
  const before = known?.plan === name ? known : undefined;
  const numbers = { burst: burst ?? before?.burst, quota: quota ?? before?.quota };
  if (numbers.burst === undefined || numbers.quota === undefined)
    throw new DataError("--burst and --quota", "not both", `both for the plan ${name}`);
  return { plan: name, burst: numbers.burst, quota: numbers.quota };
}

/** A webhook after options; a new address gets a new secret, which is shown this once. */
function webhook({ webhook: url }: AccountOptions, known: Account | undefined, allowLoopback: boolean) {
  if (url === undefined || url === known?.webhook)
    return { webhook: known?.webhook ?? null, webhook_secret: known?.webhook_secret ?? null };
  if (url === "none") return { webhook: null, webhook_secret: null };
  const fault = webhookFault(url, allowLoopback);
  if (fault !== undefined) throw new DataError("--webhook", shown(url), fault);
  return { webhook: url, webhook_secret: `whsec_${randomBytes(24).toString("base64")}` };
}

/** Makes the account or brings it up to date with what the options say. */
function putAccount(store: Store, options: AccountOptions, allowLoopback: boolean, now: Date): Account {
  const known = store.account(options.account);
  const wanted = {
    name: options.account,
    ...ceilings(options, known),
    ...webhook(options, known, allowLoopback),
  };
  const account = known === undefined ? store.createAccount(wanted, now) : { ...known, ...wanted };
  if (known !== undefined) store.updateAccount(account);
  if (account.webhook_secret !== null && account.webhook_secret !== known?.webhook_secret)
    process.stderr.write(`webhook signing secret, shown this once: ${account.webhook_secret}\n`);
  return account;
}

function makeKey(store: Store, account: number, expires: Date | null, now: Date): string {
  const key = generateKey();
  store.createKey(account, hashKey(key), key.slice(-4), expires, now);
  return key;
}

function create(store: Store, args: string[], allowLoopback: boolean, now: Date): string {
  const { expires = null, ...options } = readOptions(keyOptions, args);
  if (expires !== null && expires <= now)
    throw new DataError("--expires", expires.toISOString(), "a time to come");
  const account = putAccount(store, options, allowLoopback, now);
  return `${makeKey(store, account.id, expires, now)}\n`;
}

function update(store: Store, args: string[], allowLoopback: boolean, now: Date): string {
  const options = readOptions(accountOptions, args);
  if (store.account(options.account) === undefined)
    throw new DataError(`account ${options.account}`, "none of that name", "one that exists");
  putAccount(store, options, allowLoopback, now);
  return "";
}

function stateOf(key: StoredKey, now: Date): string {
  if (key.revoked_at !== null) return "revoked";
  return key.expires_at !== null && key.expires_at <= now.toISOString() ? "expired" : "active";
}

function list(store: Store, now: Date): string {
  const header = ["id", "account", "plan", "key", "state", "created", "expires"];
  const lines = store
    .keys()
    .map((key) => [
      key.id,
      key.name,
      key.plan,
      `…${key.last4}`,
      stateOf(key, now),
      key.created_at,
      key.expires_at ?? "never",
    ]);
  return [header, ...lines].map((fields) => `${fields.join("\t")}\n`).join("");
}

function findKey(store: Store, command: string, [id, ...more]: string[]): StoredKey {
  if (id === undefined || more.length > 0 || !/^[1-9]\d{0,14}$/.test(id))
    throw new DataError(
      `keys ${command}`,
      id === undefined ? "nothing" : shown([id, ...more].join(" ")),
      "one key id from keys list",
    );
  const key = store.key(Number(id));
  if (key === undefined) throw new DataError(`key ${id}`, "none of that id", "one of keys list");
  return key;
}

function show(store: Store, key: StoredKey, now: Date): string {
  const account = store.accountOf(key.account);
  const month = monthName(monthOf(now.getTime()));
  const fields = [
    ["id", key.id],
    ["key", `…${key.last4}`],
    ["state", stateOf(key, now)],
    ["created", key.created_at],
    ["expires", key.expires_at ?? "never"],
    ["revoked", key.revoked_at ?? "never"],
    ["account", account?.name],
    ["plan", account?.plan],
    ["burst", `${account?.burst} requests per second`],
    ["quota", `${account?.quota} requests per month`],
    ["used", `${store.usage(month).get(key.account) ?? 0} in ${month}`],
    ["webhook", account?.webhook ?? "none"],
  ];
  return fields.map((pair) => `${pair.join("\t")}\n`).join("");
}

/** Makes a new key for the account of an old one, which ends after the overlap, if it doesn't before. */
function rotate(store: Store, [id, ...args]: string[], now: Date): string {
  const old = findKey(store, "rotate", id === undefined ? [] : [id]);
  const { overlap } = readOptions(overlapOptions, args);
  if (stateOf(old, now) !== "active")
    throw new DataError(`key ${old.id}`, stateOf(old, now), "an active one");
  const expires = old.expires_at === null ? null : new Date(old.expires_at);
  const key = makeKey(store, old.account, expires, now);
  const end = new Date(now.getTime() + overlap * 3_600_000);
  if (overlap === 0) store.revokeKey(old.id, now);
  else if (expires === null || end < expires) store.expireKey(old.id, end);
  return `${key}\n`;
}

runCommand(([command, ...args], store, { webhookAllowLoopback }) => {
  const now = new Date();
  switch (command) {
    case "create":
      return create(store, args, webhookAllowLoopback, now);
    case "update":
      return update(store, args, webhookAllowLoopback, now);
    case "list":
      if (args.length > 0) throw new DataError("keys list", shown(args.join(" ")), "nothing more");
      return list(store, now);
    case "show":
      return show(store, findKey(store, command, args), now);
    case "revoke":
      store.revokeKey(findKey(store, command, args).id, now);
      return "";
    case "rotate":
      return rotate(store, args, now);
    default:
      throw new Error(usage);
  }
});
