import { type ParseArgsConfig, parseArgs } from "node:util";
import * as v from "valibot";
import { DataError, reasonOf, shown } from "../../engine/query.ts";

/** Returns how to call a command, for its help: through npm if it was called so, otherwise as `hcqs`. */
export function calledAs(name: string): string {
  if (process.env.npm_lifecycle_event !== name) return `hcqs ${name}`;
  return name === "start" ? "npm start" : `npm run --silent ${name} --`;
}

/**
 * @param expected names what the command takes, for errors
 * @throws Error when the command line doesn't match the configuration, or repeats an option
 */
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
    if (twice !== undefined) throw new Error(`--${twice} is given more than once`);
    return parseArgs<Config>(config);
  } catch (error) {
    if (!(error instanceof Error && "code" in error && /^ERR_PARSE_ARGS/.test(String(error.code))))
      throw error;
    const [, option] =
      /^Option '(--[^ ']+)(?: <value>)?' argument (?:missing|is ambiguous)/.exec(error.message) ?? [];
    if (option !== undefined) {
      const next = args[args.indexOf(option) + 1];
      const isGiven = next !== undefined && !next.startsWith("--");
      throw new Error(`${option} needs a value, as ${option}=VALUE${isGiven ? `, not ${shown(next)}` : ""}`);
    }
    // The rest of the message is advice that doesn't fit here.
    const [reason] = reasonOf(error).split(/\.\s|\.$|\n/);
    throw new Error(`${command}: ${reason[0].toLowerCase()}${reason.slice(1)}; use ${expected}`);
  }
}

/** Reads `--name value` options by a schema. @throws Error when the options don't match the schema */
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
  if (given === undefined) throw new Error(`${command} needs --${name}`);
  throw wrongOption(`--${name}`, shown(given), issue.message);
}

/** Reads a command line that is one FILE. @throws Error for anything else */
export function readFileName(command: string, args: string[], expected: string): string {
  const { positionals } = parsedArguments(command, { args, options: {}, allowPositionals: true }, expected);
  const [file, ...more] = positionals;
  if (more.length > 0)
    throw new Error(`${command} takes nothing after the file, but has ${shown(more.join(" "))}`);
  if (file === undefined) throw new Error(`${command} needs ${expected}`);
  if (file === "") throw new Error(`${command} needs ${expected}, not an empty name`);
  return file;
}

/** Makes the error for a wrong value of an option, worded as for a setting. @param value safe to print */
export const wrongOption = (name: string, value: string, expected: string) =>
  new Error(`${name} is ${value}, expected ${expected}`);

/** Runs a check of an option's value. Turns a DataError of the check into a `wrongOption`. */
export function checkedOption<Result>(name: string, check: () => Result): Result {
  try {
    return check();
  } catch (error) {
    throw error instanceof DataError ? wrongOption(name, error.found, error.expected) : error;
  }
}

export function optionsNamed(names: string[]): string {
  return names.map((name) => `--${name}`).join(", ");
}
