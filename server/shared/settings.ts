import { once } from "node:events";
import { accessSync, constants, existsSync, statSync } from "node:fs";
import { createServer } from "node:net";
import { availableParallelism } from "node:os";
import { resolve } from "node:path";
import * as v from "valibot";
import { DataError, isWebAddress, shown, shownAddress } from "../../engine/query.ts";
import { type RedisAddress, redisAddress } from "../parts/replicas/redis-url.ts";
import { calledAs } from "./arguments.ts";
import { emailAddress, wholeNumber } from "./schemas.ts";

/** Reads the settings from the environment. */

const defaultDatasetsDir = "datasets/snapshots";
const defaultStateDir = "var";
const maxThreads = 256;
/** In a trial. */
export const trialPortalAccount = "explore";
const maxAccessLines = 1000;
const logLevels = ["trace", "debug", "info", "warn", "error", "fatal", "silent"] as const;
const maxSignupDaily = 100_000;
/** In place of a default that there isn't, or that depends on others. */
const noDefault = "–";

const signupModes = ["open", "email", "off"] as const;

/** How mail is sent, and from whom. */
export interface MailSettings {
  /** May hold a password. */
  smtpUrl: string;
  from: { name: string; address: string };
}

export interface Settings {
  host: string;
  port: number;
  opsHost: string;
  opsPort: number;
  datasetsDir: string;
  /** Where an index of snapshots is that are fetched into it; undefined for nowhere. */
  datasetsUrl: string | undefined;
  /** Whether the snapshots' folder is the default one, into which a first start writes the sample. */
  isDefaultDatasetsDir: boolean;
  /** Whether synthetic data versions are served beside real ones. */
  includeSample: boolean;
  stateDir: string;
  /** Whether the state is in the default folder, where a first start makes the demo account. */
  isDefaultStateDir: boolean;
  threads: number;
  /** Whether webhooks may go to this machine, by plain http too. */
  webhookAllowLoopback: boolean;
  /** Whether pages are served beside the API. */
  portal: boolean;
  /** The account whose key the pages carry; undefined for none. */
  portalAccount: string | undefined;
  /** Proxies in front, each of which adds an address to X-Forwarded-For. */
  trustedProxies: number;
  /** Of pages elsewhere that may read the API's answers; `*` for all. */
  corsOrigins: readonly string[];
  /** Where people reach the pages; undefined for the address that is listened on. */
  publicUrl: string | undefined;
  /** Names by which browsers may ask for the operator's console, beside localhost and IP addresses. */
  opsAllowedHosts: readonly string[];
  logLevel: (typeof logLevels)[number];
  /** Requests that the log shows in a second at most. */
  accessLog: number;
  /** The accounts whose requests these are; undefined for all, and for those without a key. */
  accessLogAccounts: readonly string[] | undefined;
  /** Whether people may make accounts, and whether a link is mailed to them first. */
  signup: (typeof signupModes)[number];
  /** Accounts that they may make in a day, all together. */
  signupDaily: number;
  /** Undefined where no mail is sent. */
  mail: MailSettings | undefined;
  /** Through which ceilings are shared; undefined for a server that is alone. */
  redis: RedisAddress | undefined;
  /** Whether all that is known to be left of a quota is admitted while Redis is away. */
  isFreeWithoutRedis: boolean;
}

const host = v.pipe(
  v.string(),
  v.regex(/^([0-9A-Za-z_.-]+|[0-9A-Fa-f:.]+(%[0-9A-Za-z]+)?)$/, "a host name or an IP address"),
);
const folder = v.pipe(
  v.string(),
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
  v.check((names) => names.every((name) => name !== ""), "accounts' names, with commas between them"),
);
const originsExpected = "origins such as https://example.org, with commas between them, or * alone";
const origins = v.pipe(
  v.string(),
  v.transform((text) => text.split(",").map((origin) => origin.trim())),
  v.check((list) => list.every(isOrigin) || String(list) === "*", originsExpected),
);

function isOrigin(text: string): boolean {
  return /^https?:\/\/[\w.:[\]-]+$/.test(text) && URL.canParse(text) && new URL(text).origin === text;
}

function isIndexAddress(text: string): boolean {
  return isWebAddress(text) && new URL(text).hash === "";
}

function isSmtpUrl(text: string): boolean {
  const url = URL.parse(text);
  if (url === null || !/^smtps?:$/.test(url.protocol) || url.hostname === "" || url.port === "0")
    return false;
  const rest = [
    url.pathname.replace("/", ""),
    url.search,
    url.hash,
    /%(?![0-9A-F]{2})/i.exec(url.href)?.[0] ?? "",
  ];
  return rest.every((part) => part === "") && (url.username !== "") === (url.password !== "");
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

const entries = {
  HOST: v.pipe(v.optional(host, "127.0.0.1"), v.description("where the API listens")),
  PORT: v.pipe(v.optional(wholeNumber(0, 65535), "8080"), v.description("its port; 0 picks a free one")),
  OPS_HOST: v.pipe(
    v.optional(host, "127.0.0.1"),
    v.description("where the operator's listener is: the console, /livez, /readyz, /metrics, without keys"),
  ),
  OPS_PORT: v.pipe(v.optional(wholeNumber(0, 65535), "9090"), v.description("its port; 0 picks a free one")),
  DATASETS_DIR: v.pipe(
    v.optional(folder, defaultDatasetsDir),
    v.description("the snapshots that are served"),
  ),
  INCLUDE_SAMPLE: v.pipe(
    v.optional(v.picklist(["true", "false"], "true or false"), "false"),
    v.description("true serves synthetic data versions beside real ones, which hide them otherwise"),
  ),
  DATASETS_URL: v.pipe(
    v.optional(
      v.pipe(
        v.string(),
        v.check(
          isIndexAddress,
          "an address such as https://example.org/snapshots/index.json, without a password",
        ),
      ),
    ),
    v.description("the index of snapshots that are fetched into DATASETS_DIR, as npm run publish writes it"),
  ),
  STATE_DIR: v.pipe(
    v.optional(folder, defaultStateDir),
    v.description("accounts, keys, usage, events; one server at a time"),
  ),
  THREADS: v.pipe(
    v.optional(wholeNumber(1, maxThreads), String(availableParallelism())),
    v.description("serving threads; as many as cores unless set"),
  ),
  WEBHOOK_ALLOW_LOOPBACK: v.pipe(
    v.optional(v.picklist(["true", "false"], "true or false"), "false"),
    v.description("true lets webhooks go to this machine, by plain http too"),
  ),
  PORTAL: v.pipe(
    v.optional(v.picklist(["on", "off"], "on or off"), "on"),
    v.description("whether people can look and get a key, at every path that isn't the API's"),
  ),
  PORTAL_ACCOUNT: v.pipe(
    v.optional(v.string()),
    v.description("the account whose ceilings hold for whoever looks without a key; a trial makes one"),
  ),
  TRUSTED_PROXIES: v.pipe(
    v.optional(wholeNumber(0, 9), "0"),
    v.description("proxies in front that add the client's address to X-Forwarded-For"),
  ),
  CORS_ORIGINS: v.pipe(
    v.optional(origins),
    v.description("origins of pages elsewhere that may ask the API, with commas; * for all"),
  ),
  PUBLIC_URL: v.pipe(
    v.optional(
      v.pipe(v.string(), v.check(isOrigin, "an address such as https://prices.example.org, without a path")),
    ),
    v.description("where people reach the pages, for links in mails; http://HOST:PORT unless set"),
  ),
  OPS_ALLOWED_HOSTS: v.pipe(
    v.optional(hostNames),
    v.description(
      "host names by which the operator's listener may be asked, beside localhost and IP addresses, with commas",
    ),
  ),
  LOG_LEVEL: v.pipe(
    v.optional(v.picklist(logLevels, `one of ${logLevels.join(", ")}`), "info"),
    v.description(`the least that is logged: ${logLevels.join(", ")}`),
  ),
  ACCESS_LOG: v.pipe(
    v.optional(wholeNumber(0, maxAccessLines), "0"),
    v.description("requests to log, as info, in any second at most; of more, a sample"),
  ),
  ACCESS_LOG_ACCOUNTS: v.pipe(
    v.optional(accountNames),
    v.description("the accounts whose requests are logged, with commas; every one of them up to ACCESS_LOG"),
  ),
  SIGNUP: v.pipe(
    v.optional(v.picklist(signupModes, "open, email or off")),
    v.description(
      "whether people may make accounts: open, email (by a link that is mailed) or off; open unless STATE_DIR is set, else off",
    ),
  ),
  SIGNUP_DAILY: v.pipe(
    v.optional(wholeNumber(0, maxSignupDaily), "200"),
    v.description("accounts that they may make in a day, all together"),
  ),
  SMTP_URL: v.pipe(
    v.optional(v.pipe(v.string(), v.check(isSmtpUrl, "smtp://[USER:PASSWORD@]HOST[:PORT], or smtps://…"))),
    v.description("the server that takes mail; without it none is sent"),
  ),
  MAIL_FROM: v.pipe(v.optional(sender), v.description("from whom it is")),
  REDIS_URL: v.pipe(
    v.optional(
      v.pipe(
        v.string(),
        v.rawTransform<string, RedisAddress>(({ dataset, addIssue, NEVER }) => {
          try {
            return redisAddress(dataset.value);
          } catch (error) {
            if (!(error instanceof DataError)) throw error;
            addIssue({ received: error.found, message: error.expected });
            return NEVER;
          }
        }),
      ),
    ),
    v.description(
      "the Redis through which several servers share ceilings: a URL, of Sentinels and of a Cluster too",
    ),
  ),
  QUOTA_WITHOUT_REDIS: v.pipe(
    v.optional(v.picklist(["leased", "free"], "leased or free"), "leased"),
    v.description(
      "while Redis is away a server admits what it has leased of the quotas; free: all that it knows to be left",
    ),
  ),
};

const schema = v.pipe(
  v.object(entries),
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
      [["SIGNUP"], ["SMTP_URL"]],
      ({ SIGNUP, SMTP_URL }) => SIGNUP !== "email" || SMTP_URL !== undefined,
      "SMTP_URL and MAIL_FROM beside it",
    ),
    ["SIGNUP"],
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

const listenable = v.checkAsync(canListen, "a name or an address of this machine, to listen on");
/** What a server has to find on its machine; a command that shares the settings needn't. */
const machine = v.objectAsync({
  HOST: v.pipeAsync(entries.HOST, listenable),
  OPS_HOST: v.pipeAsync(entries.OPS_HOST, listenable),
  DATASETS_DIR: v.optional(v.pipe(folder, v.check(isFolder, "a folder that is there and can be read"))),
  STATE_DIR: v.optional(
    v.pipe(
      folder,
      v.check((path) => !existsSync(path) || isFolder(path), "a folder, or nothing yet"),
    ),
  ),
});

async function canListen(host: string): Promise<boolean> {
  const probe = createServer().listen({ host, port: 0, exclusive: true });
  try {
    await once(probe, "listening");
    probe.close();
    return true;
  } catch {
    return false;
  }
}

function isFolder(path: string): boolean {
  try {
    accessSync(path, constants.R_OK | constants.X_OK);
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}

type Given = Record<string, string>;

/** One that is empty counts as unset. */
function givenIn(environment: NodeJS.ProcessEnv): Given {
  const given: Given = {};
  for (const name of Object.keys(entries)) {
    const value = environment[name];
    if (value !== undefined && value !== "") given[name] = value;
  }
  return given;
}

/** A line for every setting that is wrong. */
function faultsOf(issues: readonly v.BaseIssue<unknown>[], given: Given): string[] {
  const named = issues.map((issue) => ({
    name: v.getDotPath(issue) ?? "",
    found: issue.received,
    expected: issue.message,
  }));
  return Object.entries(entries).flatMap(([name, entry]) => {
    const fault = named.find((issue) => issue.name === name);
    if (fault === undefined) return [];
    // These may hold a password.
    if (name === "REDIS_URL") return [`${name} has ${fault.found}, expected ${fault.expected}`];
    if (name === "SMTP_URL") return [`${name} is set, expected ${fault.expected}`];
    const value = given[name] ?? v.getDefault(entry);
    const inWords = name === "DATASETS_URL" ? shownAddress : shown;
    return [
      `${name} is ${value === undefined ? "unset" : inWords(String(value))}, expected ${fault.expected}`,
    ];
  });
}

/**
 * Settings from environment variables.
 *
 * @returns the settings, or a line for every one that is wrong
 */
export function readSettings(environment: NodeJS.ProcessEnv): Readonly<Settings> | string[] {
  const given = givenIn(environment);
  const parsed = v.safeParse(schema, given);
  return parsed.success ? settingsOf(parsed.output, given) : faultsOf(parsed.issues, given);
}

/** The same for a server, which also looks whether the machine has what they name. */
export async function readServerSettings(
  environment: NodeJS.ProcessEnv,
): Promise<Readonly<Settings> | string[]> {
  const given = givenIn(environment);
  const parsed = v.safeParse(schema, given);
  const found = await v.safeParseAsync(machine, given, { abortPipeEarly: true });
  if (parsed.success && found.success) return settingsOf(parsed.output, given);
  return faultsOf([...(parsed.issues ?? []), ...(found.issues ?? [])], given);
}

/** Whether a command line asks for help, wherever in it. */
export function asksForHelp(words: readonly string[]): boolean {
  return words.includes("--help") || words.includes("-h");
}

/** How a server is started and what can be set, for the operator. */
export function serverHelp(): string {
  const lines = Object.entries(entries).flatMap(([name, entry]) => {
    const about = v.getDescription(entry);
    return about === undefined ? [] : [`  ${name} (${v.getDefault(entry) ?? noDefault})\n      ${about}\n`];
  });
  return `usage: ${calledAs("start")}

Settings are environment variables, with these defaults:

${lines.join("")}`;
}

function settingsOf(values: v.InferOutput<typeof schema>, given: Given): Readonly<Settings> {
  return Object.freeze({
    host: values.HOST,
    port: values.PORT,
    opsHost: values.OPS_HOST,
    opsPort: values.OPS_PORT,
    datasetsDir: values.DATASETS_DIR,
    datasetsUrl: values.DATASETS_URL,
    isDefaultDatasetsDir: given.DATASETS_DIR === undefined,
    includeSample: values.INCLUDE_SAMPLE === "true",
    stateDir: values.STATE_DIR,
    isDefaultStateDir: given.STATE_DIR === undefined,
    threads: values.THREADS,
    webhookAllowLoopback: values.WEBHOOK_ALLOW_LOOPBACK === "true",
    portal: values.PORTAL === "on",
    portalAccount: values.PORTAL_ACCOUNT ?? (given.STATE_DIR === undefined ? trialPortalAccount : undefined),
    trustedProxies: values.TRUSTED_PROXIES,
    corsOrigins: values.CORS_ORIGINS ?? [],
    publicUrl: values.PUBLIC_URL,
    opsAllowedHosts: values.OPS_ALLOWED_HOSTS ?? [],
    logLevel: values.LOG_LEVEL,
    accessLog: values.ACCESS_LOG,
    accessLogAccounts: values.ACCESS_LOG_ACCOUNTS,
    signup: values.SIGNUP ?? (given.STATE_DIR === undefined ? "open" : "off"),
    signupDaily: values.SIGNUP_DAILY,
    mail:
      values.SMTP_URL === undefined || values.MAIL_FROM === undefined
        ? undefined
        : { smtpUrl: values.SMTP_URL, from: values.MAIL_FROM },
    redis: values.REDIS_URL,
    isFreeWithoutRedis: values.QUOTA_WITHOUT_REDIS === "free",
  });
}
