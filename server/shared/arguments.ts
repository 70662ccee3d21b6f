import { type ParseArgsConfig, parseArgs } from "node:util";
import * as v from "valibot";
import { DataError, reasonOf, shown } from "../../engine/query.ts";

/** Reads command lines. */

/**
 * Returns how to call a command, for its help: by npm in a clone of the repository, or by the package's own command.
 */
export function calledAs(name: string): string {
  if (process.env.npm_lifecycle_event !== name) return `hcqs ${name}`;
  return name === "start" ? "npm start" : `npm run --silent ${name} --`;
}

/** Parses a command line. @throws DataError when the command line doesn't match the configuration */
export function parsedArguments<Config extends ParseArgsConfig>(
  command: string,
  config: Config,
  expected: string,
): ReturnType<typeof parseArgs<Config>> {
  const { args = [] } = config;
  try {
    return parseArgs<Config>(config);
  } catch (error) {
    if (!(error instanceof Error && "code" in error && /^ERR_PARSE_ARGS/.test(String(error.code))))
      throw error;
    const [, option] =
      /^Option '(--[^ ']+)(?: <value>)?' argument (?:missing|is ambiguous)/.exec(error.message) ?? [];
    if (option !== undefined) {
      const next = args[args.indexOf(option) + 1];
      const isGiven = next !== undefined && !next.startsWith("--");
      throw new DataError(option, isGiven ? shown(next) : "nothing", `a value, as ${option}=VALUE`);
    }
    // The rest of the message is advice that doesn't fit here.
    const [reason] = reasonOf(error).split(/\.\s|\.$|\n/);
    throw new DataError(command, reason, expected);
  }
}

/** Reads `--name value` options by a schema. @throws DataError when the options don't match the schema */
export function readOptions<Entries extends v.ObjectEntries>(
  command: string,
  schema: v.ObjectSchema<Entries, undefined>,
  args: string[],
): v.InferOutput<typeof schema> {
  const names = Object.keys(schema.entries);
  const options = Object.fromEntries(names.map((name) => [name, { type: "string" } as const]));
  const expected = `${optionsNamed(names)}, each with a value`;
  const values = { ...parsedArguments(command, { args, options }, expected).values };
  const parsed = v.safeParse(schema, values, { abortEarly: true });
  if (parsed.success) return parsed.output;
  const [issue] = parsed.issues;
  const name = v.getDotPath(issue) ?? "";
  const given = values[name];
  if (given === undefined) throw new DataError(`--${name}`, "nothing", "a value");
  throw new DataError(`--${name}`, shown(given), issue.message);
}

export function optionsNamed(names: string[]): string {
  return names.map((name) => `--${name}`).join(", ");
}
