import { type ParseArgsConfig, parseArgs } from "node:util";
import { DataError, reasonOf, shown } from "../../engine/query.ts";

/** Command lines. */

/** How a command is called, for its help: by npm in a clone of the repository, or by the package's own command. */
export function calledAs(name: string): string {
  if (process.env.npm_lifecycle_event !== name) return `hcqs ${name}`;
  return name === "start" ? "npm start" : `npm run --silent ${name} --`;
}

/** @throws DataError when a command line doesn't match the configuration, or repeats an option */
export function parsedArguments<Config extends ParseArgsConfig>(
  command: string,
  config: Config,
  expected: string,
): ReturnType<typeof parseArgs<Config>> {
  const args = withNegatives(config.args ?? []);
  try {
    const seen = new Set<string>();
    const withTokens: ParseArgsConfig & { tokens: true } = { ...config, args, tokens: true };
    for (const token of parseArgs(withTokens).tokens) {
      if (token.kind !== "option") continue;
      if (seen.has(token.name)) throw new DataError(`--${token.name}`, "it more than once", "it once");
      seen.add(token.name);
    }
    return parseArgs<Config>({ ...config, args });
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

/** Joins negative numbers to the options before them, because Node takes them for options. */
function withNegatives(args: readonly string[]): string[] {
  const joined: string[] = [];
  for (const arg of args) {
    const before = joined.at(-1);
    if (/^-\d/.test(arg) && before !== undefined && /^--[^=]+$/.test(before))
      joined.splice(-1, 1, `${before}=${arg}`);
    else joined.push(arg);
  }
  return joined;
}
