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

/** Parses a command line. @throws DataError when the command line doesn't match the configuration, or repeats an option */
export function parsedArguments<Config extends ParseArgsConfig>(
  command: string,
  config: Config,
  expected: string,
): ReturnType<typeof parseArgs<Config>> {
  const { args = [], options = {}, allowPositionals = false } = config;
  try {
    const { tokens } = parseArgs({ args, options, allowPositionals, tokens: true });
    const names = tokens.flatMap((token) => (token.kind === "option" ? [token.name] : []));
    const twice = names.find((name, i) => names.indexOf(name) < i);
    if (twice !== undefined) throw new DataError(`--${twice}`, "it more than once", "it once");
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
  const expected = `${optionsNamed(names)}${names.length === 1 ? "" : ", each"} with a value`;
  const values = { ...parsedArguments(command, { args, options }, expected).values };
  const parsed = v.safeParse(schema, values, { abortEarly: true });
  if (parsed.success) return parsed.output;
  const [issue] = parsed.issues;
  const name = v.getDotPath(issue) ?? "";
  const given = values[name];
  if (given === undefined) throw new DataError(`--${name}`, "nothing", "a value");
  throw new DataError(`--${name}`, shown(given), issue.message);
}

/**
 * Reads a command line of a FILE and nothing else; undefined without a FILE.
 *
 * @throws DataError for an option, more than one FILE, or an empty FILE
 */
export function readFileName(command: string, args: string[], expected = "a file"): string | undefined {
  const { positionals } = parsedArguments(command, { args, options: {}, allowPositionals: true }, expected);
  const [file, ...more] = positionals;
  if (more.length > 0)
    throw new DataError(command, `${shown(more.join(" "))} after the file`, "nothing more");
  if (file === "") throw new DataError(command, "an empty name", expected);
  return file;
}

export function optionsNamed(names: string[]): string {
  return names.map((name) => `--${name}`).join(", ");
}
