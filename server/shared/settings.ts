import { availableParallelism } from "node:os";
import { resolve } from "node:path";
import * as v from "valibot";
import { DataError, shown, withoutCredentials } from "../../engine/query.ts";
import { isPlainPath, pathExpected } from "./paths.ts";
import { emailAddress, wholeNumber } from "./schemas.ts";
import { escapes, writtenUrl } from "./urls.ts";

/** Settings by their variables' names. A schema includes the default, and the description for `--help`. */
export type SettingTable = Record<string, v.GenericSchema<string | undefined, unknown>>;
export type ValuesOf<Table extends v.ObjectEntries> = Readonly<
  v.InferOutput<v.ObjectSchema<Table, undefined>>
>;

const maxThreads = 256;
const maxAccessLines = 1000;
const logLevels = ["trace", "debug", "info", "warn", "error", "fatal", "silent"] as const;

const host = v.pipe(
  v.string(),
  v.regex(/^([0-9A-Za-z_.-]+|[0-9A-Fa-f:.]+(%[0-9A-Za-z]+)?)$/, "a host name or an IP address"),
);
export const folder = v.pipe(
  v.string(),
  v.check(isPlainPath, pathExpected),
  v.transform((path) => resolve(path)),
);

const hostNames = v.pipe(
  v.string(),
  v.transform((text) => text.split(",").map((name) => name.trim().toLowerCase())),
  v.check(
    (names) => names.every((name) => /^[a-z0-9_-]+(\.[a-z0-9_-]+)*$/.test(name)),
    "host names without ports, with commas between them",
  ),
);
const accountNames = v.pipe(
  v.string(),
  v.transform((text) => text.split(",").map((name) => name.trim())),
  v.check(
    (names) => names.every((name) => name !== "" && !name.includes("://")),
    "accounts' names, with commas between them",
  ),
);
const originsExpected = "origins such as https://example.org, with commas between them, or * alone";
export const origins = v.pipe(
  v.string(),
  v.transform((text) => text.split(",").map((origin) => origin.trim())),
  v.check((list) => list.every(isOrigin) || String(list) === "*", originsExpected),
);

export function isOrigin(text: string): boolean {
  return (
    /^https?:\/\/[\w.:[\]-]+$/.test(text) &&
    URL.canParse(text) &&
    new URL(text).origin === text &&
    new URL(text).port !== "0"
  );
}

export const trueOrFalse = v.pipe(
  v.picklist(["true", "false"], "true or false"),
  v.transform((text) => text === "true"),
);

/**
 * Makes a setting whose value never appears in messages.
 * @param parse throws a DataError for a wrong value; messages show its `found` in place of the value
 */
export function secretSetting<Value>(about: string, parse: (text: string) => Value) {
  const parsed = v.rawTransform<string, Value>(({ dataset, addIssue, NEVER }) => {
    try {
      return parse(dataset.value);
    } catch (error) {
      if (!(error instanceof DataError)) throw error;
      addIssue({ received: error.found, message: error.expected });
      return NEVER;
    }
  });
  return v.pipe(v.optional(v.pipe(v.string(), parsed)), v.description(about), v.metadata({ secret: true }));
}

function smtpUrl(text: string): string {
  const written = writtenUrl(text);
  const url = URL.parse(text);
  if (
    written?.hosts.length === 1 &&
    /^\/?$/.test(written.rest) &&
    url !== null &&
    /^smtps?:$/.test(url.protocol) &&
    url.hostname !== "" &&
    (url.username !== "") === (url.password !== "")
  )
    return text;
  throw new DataError(
    "SMTP_URL",
    "another form",
    `smtp://[USER:PASSWORD@]HOST[:PORT], or smtps://…, ${escapes}`,
  );
}

const aSender = "an e-mail address, or a name and one such as Prices <prices@example.com>";
const sender = v.pipe(
  v.string(),
  v.regex(/^(?:[^<>@"\\,\p{Cc}]*<[^<>]+>|[^<>]+)$/u, aSender),
  v.transform((text) => {
    const [, name, address] = /^(.*)<(.*)>$/.exec(text) ?? ["", "", text];
    return { name: name.trim(), address };
  }),
  v.check(({ address }) => v.is(emailAddress, address), aSender),
);

export const coreSettings = {
  HOST: v.pipe(v.optional(host, "127.0.0.1"), v.description("the address of the API")),
  PORT: v.pipe(v.optional(wholeNumber(0, 65535), "8080"), v.description("its port; 0 picks a free one")),
  OPS_HOST: v.pipe(
    v.optional(host, "127.0.0.1"),
    v.description("the address of the operator's listener: console, /livez, /readyz, /metrics, without keys"),
  ),
  OPS_PORT: v.pipe(v.optional(wholeNumber(0, 65535), "9090"), v.description("its port; 0 picks a free one")),
  DATASETS_DIR: v.pipe(
    v.optional(folder, "datasets/snapshots"),
    v.description("the folder of the served snapshots"),
    v.metadata({ isPath: true }),
  ),
  STATE_DIR: v.pipe(
    v.optional(folder, "var"),
    v.description("the folder of accounts, keys, usage and events; only one server at a time can use it"),
    v.metadata({ isPath: true }),
  ),
  THREADS: v.pipe(
    v.optional(wholeNumber(1, maxThreads), String(availableParallelism())),
    v.description("serving threads; default: one for each core"),
  ),
  WEBHOOK_ALLOW_LOOPBACK: v.pipe(
    v.optional(trueOrFalse, "false"),
    v.description("true allows webhooks to this machine, also by plain http"),
  ),
  TRUSTED_PROXIES: v.pipe(
    v.optional(wholeNumber(0, 9), "0"),
    v.description("number of proxies in front, which append the client's address to X-Forwarded-For"),
  ),
  CORS_ORIGINS: v.pipe(
    v.optional(origins),
    v.description("origins whose pages may call the API, separated by commas; * for all"),
  ),
  OPS_ALLOWED_HOSTS: v.pipe(
    v.optional(hostNames),
    v.description(
      "host names that requests to the operator's listener may use besides localhost and IP addresses, separated by commas",
    ),
  ),
  LOG_LEVEL: v.pipe(
    v.optional(v.picklist(logLevels, `one of ${logLevels.join(", ")}`), "info"),
    v.description(`the lowest level that is logged: ${logLevels.join(", ")}`),
  ),
  ACCESS_LOG: v.pipe(
    v.optional(wholeNumber(0, maxAccessLines), "0"),
    v.description(
      "maximum number of requests to log per second, at level info; beyond it a sample is logged",
    ),
  ),
  ACCESS_LOG_ACCOUNTS: v.pipe(
    v.optional(accountNames),
    v.description(
      "names of accounts, separated by commas: only their requests are logged, up to ACCESS_LOG per second",
    ),
  ),
  SMTP_URL: secretSetting("URL of the mail server; without it no e-mail is sent", smtpUrl),
  MAIL_FROM: v.pipe(v.optional(sender), v.description("the sender's address of e-mails")),
};

const schema = v.pipe(
  v.object(coreSettings),
  v.forward(
    v.partialCheck(
      [["HOST"], ["PORT"], ["OPS_HOST"], ["OPS_PORT"]],
      ({ HOST, PORT, OPS_HOST, OPS_PORT }) => PORT === 0 || PORT !== OPS_PORT || HOST !== OPS_HOST,
      "another port than PORT",
    ),
    ["OPS_PORT"],
  ),
  v.forward(
    v.partialCheck(
      [["ACCESS_LOG"], ["ACCESS_LOG_ACCOUNTS"]],
      ({ ACCESS_LOG, ACCESS_LOG_ACCOUNTS }) => ACCESS_LOG > 0 || ACCESS_LOG_ACCOUNTS === undefined,
      "at least 1, as ACCESS_LOG_ACCOUNTS is set",
    ),
    ["ACCESS_LOG"],
  ),
  v.forward(
    v.partialCheck(
      [["SMTP_URL"], ["MAIL_FROM"]],
      ({ SMTP_URL, MAIL_FROM }) => SMTP_URL === undefined || MAIL_FROM !== undefined,
      `${aSender}, as SMTP_URL is set`,
    ),
    ["MAIL_FROM"],
  ),
);

export interface Settings extends Readonly<v.InferOutput<typeof schema>> {
  /** Whether STATE_DIR is unset, for a trial. */
  readonly isTrial: boolean;
  /** Whether DATASETS_DIR is unset. A start then writes a sample if the default folder has no snapshots. */
  readonly isDefaultDatasetsDir: boolean;
}

/** Returns the core's settings, or a line for each wrong setting. */
export function readSettings(environment: NodeJS.ProcessEnv): Settings | string[] {
  const given = givenIn(coreSettings, environment);
  const parsed = v.safeParse(schema, given);
  if (!parsed.success) return faultsOf(coreSettings, parsed.issues, given);
  return Object.freeze({
    ...parsed.output,
    isTrial: given.STATE_DIR === undefined,
    isDefaultDatasetsDir: given.DATASETS_DIR === undefined,
  });
}

/** Returns a table's settings, or a line for each wrong setting. */
export function readTable<Table extends SettingTable>(
  table: Table,
  environment: NodeJS.ProcessEnv,
): ValuesOf<Table> | string[] {
  const given = givenIn(table, environment);
  const parsed = v.safeParse(v.object(table), given);
  return parsed.success ? parsed.output : faultsOf(table, parsed.issues, given);
}

/**
 * Returns the values of a table's settings in the environment. Empty values count as unset, except paths: with an empty
 * STATE_DIR, a server must not begin a trial.
 */
export function givenIn(table: SettingTable, environment: NodeJS.ProcessEnv): Record<string, string> {
  const given: Record<string, string> = {};
  for (const [name, entry] of Object.entries(table)) {
    const value = environment[name];
    if (value !== undefined && (value !== "" || v.getMetadata(entry).isPath === true)) given[name] = value;
  }
  return given;
}

export function faultsOf(
  table: SettingTable,
  issues: readonly v.BaseIssue<unknown>[],
  given: Record<string, string>,
): string[] {
  return Object.entries(table).flatMap(([name, entry]) => {
    const issue = issues.find((each) => v.getDotPath(each) === name);
    if (issue === undefined) return [];
    const { received, message } = issue;
    if (v.getMetadata(entry).secret === true) return [`${name} has ${received}, expected ${message}`];
    const value = given[name] ?? v.getDefault(entry);
    return [`${name} is ${value === undefined ? "unset" : shownSetting(String(value))}, expected ${message}`];
  });
}

/** Matches a URL: what comes before its host, the host with the port, and the rest. */
const urlParts = /^(.*?(?:https?:[/\\]*|:[/\\]+|^[/\\]{2,}))([^/\\?#]*)(.*)$/is;
/** Matches what follows a host and isn't a port, such as a password. */
const otherThanPort = /:(?!(?:[0-5]?\d{1,4}|6[0-5]\d{3})?$)[^\]]*$/s;

/**
 * Formats a setting's value for messages. Leaves out possible secrets in a URL, and in a list all entries after that URL.
 */
export function shownSetting(value: string): string {
  const text = /[:/\\]\S*@/.test(value) ? withoutCredentials(value) : value;
  const entries: string[] = [];
  for (const entry of text.split(",")) {
    const [, start = "", host = "", rest = ""] = urlParts.exec(entry) ?? ["", entry];
    const end = rest.length > 1 ? `${rest[0]}…` : rest;
    const bare = start + host.replace(otherThanPort, ":…") + end;
    entries.push(bare.replace(/([?#]).+/s, "$1…"));
    if (bare !== entry) break;
  }
  return shown(entries.join(","));
}

export function settingsHelp(tables: readonly SettingTable[]): string {
  const lines = tables.flatMap(Object.entries).map(([name, entry]) => {
    return `  ${name} (${v.getDefault(entry) ?? "–"})\n      ${v.getDescription(entry) ?? ""}\n`;
  });
  return lines.join("");
}

export function asksForHelp(words: readonly string[]): boolean {
  return words.includes("--help") || words.includes("-h");
}
