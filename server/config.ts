import { availableParallelism } from "node:os";
import { resolve } from "node:path";
import * as v from "valibot";
import { shown } from "../engine/query.ts";
import { wholeNumber } from "./query.ts";

const defaultDatasetsDir = "datasets/snapshots";
const defaultStateDir = "var";
const maxThreads = 256;

export interface Settings {
  host: string;
  port: number;
  opsHost: string;
  opsPort: number;
  datasetsDir: string;
  /** Whether the snapshots' folder is the default one, into which a first start writes the sample. */
  isDefaultDatasetsDir: boolean;
  stateDir: string;
  /** Whether the state is in the default folder, where a first start makes the demo account. */
  isDefaultStateDir: boolean;
  threads: number;
  /** Whether webhooks may go to this machine, by plain http too. */
  webhookAllowLoopback: boolean;
}

const host = v.pipe(
  v.string(),
  v.regex(/^([0-9A-Za-z_.-]+|[0-9A-Fa-f:.]+(%[0-9A-Za-z]+)?)$/, "a host name or an IP address"),
);
const folder = v.pipe(
  v.string(),
  v.transform((path) => resolve(path)),
);

const schema = v.object({
  HOST: v.optional(host, "127.0.0.1"),
  PORT: v.optional(wholeNumber(0, 65535), "8080"),
  OPS_HOST: v.optional(host, "127.0.0.1"),
  OPS_PORT: v.optional(wholeNumber(0, 65535), "9090"),
  DATASETS_DIR: v.optional(folder, defaultDatasetsDir),
  STATE_DIR: v.optional(folder, defaultStateDir),
  THREADS: v.optional(wholeNumber(1, maxThreads), String(availableParallelism())),
  WEBHOOK_ALLOW_LOOPBACK: v.optional(v.picklist(["true", "false"], "true or false"), "false"),
  REDIS_URL: v.optional(
    v.custom<never>(() => false, "nothing: sharing ceilings between machines isn't supported yet"),
  ),
});

/**
 * Settings from environment variables; one that is empty counts as unset.
 *
 * @returns the settings, or a line for every one that is wrong
 */
export function readSettings(environment: NodeJS.ProcessEnv): Readonly<Settings> | string[] {
  const given: Record<string, string> = {};
  for (const name of Object.keys(schema.entries)) {
    const value = environment[name];
    if (value !== undefined && value !== "") given[name] = value;
  }
  const parsed = v.safeParse(schema, given, { abortPipeEarly: true });
  if (!parsed.success)
    return parsed.issues.map((issue) => {
      const name = v.getDotPath(issue) ?? "";
      // The address may hold a password.
      if (name === "REDIS_URL") return `${name} is set, expected ${issue.message}`;
      return `${name} is ${shown(given[name])}, expected ${issue.message}`;
    });
  const values = parsed.output;
  if (values.PORT !== 0 && values.PORT === values.OPS_PORT && values.HOST === values.OPS_HOST)
    return [`OPS_PORT is ${values.OPS_PORT}, expected another port than PORT`];
  return Object.freeze({
    host: values.HOST,
    port: values.PORT,
    opsHost: values.OPS_HOST,
    opsPort: values.OPS_PORT,
    datasetsDir: values.DATASETS_DIR,
    isDefaultDatasetsDir: given.DATASETS_DIR === undefined,
    stateDir: values.STATE_DIR,
    isDefaultStateDir: given.STATE_DIR === undefined,
    threads: values.THREADS,
    webhookAllowLoopback: values.WEBHOOK_ALLOW_LOOPBACK === "true",
  });
}
