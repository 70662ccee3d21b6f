import { type ParseArgsConfig, parseArgs } from "node:util";
import { DataError, reasonOf, shown } from "../../engine/query.ts";

/** Command lines. */

/** How a command is called, for its help: by npm in a clone of the repository, or by the package's own command. */
export function calledAs(name: string): string {
  if (process.env.npm_lifecycle_event !== name) return `hcqs ${name}`;
  return name === "start" ? "npm start" : `npm run --silent ${name} --`;
}

/** @throws DataError when a command line doesn't match the configuration */
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
    // Only the first sentence: the rest is advice that doesn't fit here.
    const [reason] = reasonOf(error).split(/\.\s|\.$|\n/);
    throw new DataError(command, reason, expected);
  }
}
